"""What a slot that is too small leaves of a workload, and how that is told."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from loadgen.records.manifest import Clipped
from loadgen.workload.profile import ContextFull
from loadgen.workload.session import Session, Workload

__all__ = ["clipped_to", "reuse_share"]


def clipped_to(whole: Workload, made: Workload, *, context: int, how: ContextFull) -> Workload:
    """The workload `made` for a slot of `context` tokens, with what it lacks of the whole one in its facts and notes.

    `how` says what became of sessions that don't fit. Where it is the whole workload all the same, nothing is said.
    """
    if made.sessions == whole.sessions:
        return made
    pairs = list(zip(made.sessions, whole.sessions, strict=True))
    clipped = Clipped(
        context=context,
        sessions_cut=sum(len(ours.turns) < len(theirs.turns) and not _fails(ours, context) for ours, theirs in pairs),
        sessions_left_out=0,
        turns_left_out=max(0, whole.facts.turns - made.facts.turns),
        turns=whole.facts.turns,
        how=how,
        sessions_compacted=sum(_sums_up(ours) and not _sums_up(theirs) for ours, theirs in pairs),
        sessions_failing=sum(_fails(ours, context) for ours in made.sessions),
        reuse=reuse_share(made.sessions),
        whole_reuse=reuse_share(whole.sessions),
    )
    needed = whole.facts.min_context
    note = _told(clipped, len(made.sessions), needed, made.redrawn) + _reuse_told(clipped)
    # Of the whole workload's notes on itself, what it says of sessions that end early is overtaken.
    kept = tuple(note for note in made.notes if note in whole.notes)
    facts = msgspec.structs.replace(made.facts, clipped=clipped)
    return replace(made, facts=facts, notes=(*kept, note))


def reuse_share(sessions: Sequence[Session]) -> float | None:
    """Σ prompt tokens that stood in the prompt of the turn before ÷ Σ prompt tokens, of root sessions; null for none.

    What a server could find in its cache if it kept every session's own.
    """
    again = total = 0
    for session in sessions:
        for number, turn in enumerate(session.turns):
            total += turn.depth
            if number and not turn.begins_anew:
                again += min(session.turns[number - 1].depth, turn.depth)
    return again / total if total else None


def _told(clipped: Clipped, sessions: int, needed: int, redrawn: int) -> str:
    why = f"because a slot holds {clipped.context} tokens and the workload needs {needed}"
    afresh = f"{redrawn} were drawn afresh"
    if clipped.how == "compact":
        early = f", {clipped.sessions_cut} end early" if clipped.sessions_cut else ""
        return f"{clipped.sessions_compacted} of {sessions} sessions go on from a summary{early}, {why}; {afresh}"
    if clipped.how == "fail":
        return (
            f"{clipped.sessions_failing} of {sessions} sessions end with a turn whose prompt, by the estimate, doesn't "
            f"fit, which is sent all the same, {why}; {afresh}"
        )
    return f"{clipped.sessions_cut} of {sessions} sessions end early, {why}; {afresh}"


def _reuse_told(clipped: Clipped) -> str:
    if clipped.reuse is None or clipped.whole_reuse is None:
        return ""
    return f"; {clipped.reuse:.1%} of prompt tokens stood in the prompt before, {clipped.whole_reuse:.1%} otherwise"


def _sums_up(session: Session) -> bool:
    return any(turn.begins_anew for turn in session.turns)


def _fails(session: Session, context: int) -> bool:
    return session.turns[-1].depth > context
