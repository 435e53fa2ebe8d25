"""Frozen history: the model's own answers, recorded once, as sessions that every variant then plays alike.

What is frozen is a recording like any other (`agent-session/1`): the messages, waits and caps of the workload, with the
answers that the model gave in place of the workload's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from loadgen.records.manifest import WorkloadFacts
from loadgen.workload.as_recorded import recorded_turn
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.replayed import replay
from loadgen.workload.session import Message, Session, Turn, Workload, digest
from loadgen.workload.waits import Pace, paced

__all__ = ["Heard", "HeardTurns", "frozen_sessions", "frozen_workload"]

LEAST_TURNS = 2
"""A session that was not recorded to its end is played as far as it was, from two turns on: one turn has no history."""


@dataclass(frozen=True)
class Heard:
    """One answer as it was recorded, with the server's counts.

    `message` is what goes back into later prompts; null where that is the workload's own, or nothing.
    """

    message: Message | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    finish_reason: str | None


HeardTurns = Mapping[str, Mapping[int, Heard]]
"""By session of a tree and turn."""


def frozen_sessions(session: Session, heard: HeardTurns, source: Mapping[str, Any]) -> list[RecordedSession]:
    """A root session and its sub-agents as far as they were recorded, parents first.

    Empty where not even two turns of the root were (of a session of one turn: that one).
    """
    if len(heard.get(session.id, {})) < min(LEAST_TURNS, len(session.turns)):
        return []
    return _recorded(session, heard, dict(source), None)


def _recorded(session: Session, heard: HeardTurns, source: dict[str, Any], parent: str | None) -> list[RecordedSession]:
    """Empty where no turn was recorded."""
    answers = heard.get(session.id, {})
    turns: list[RecordedTurn] = []
    children: list[RecordedSession] = []
    spawned: set[str] = set()
    for number, turn in enumerate(session.turns):
        if number not in answers:
            break
        begun = [found for child in turn.spawn if (found := _recorded(child, heard, source, session.id))]
        children += [one for found in begun for one in found]
        turns.append(_turn(turn, answers[number], [found[0].session_id for found in begun], spawned))
        spawned |= {found[0].session_id for found in begun}
    if not turns:
        return []
    own = RecordedSession(
        session_id=session.id,
        turns=turns,
        parent_session_id=parent,
        source=source,
        tools=[dict(tool) for tool in session.tools] or None,
    )
    return [own, *children]


def _turn(turn: Turn, heard: Heard, spawn: list[str], spawned: set[str]) -> RecordedTurn:
    """`spawned`: the sub-agents of earlier turns that were recorded: there is nobody else to wait for."""
    return msgspec.structs.replace(
        recorded_turn(turn),
        assistant=heard.message or turn.recorded,
        input_tokens=heard.input_tokens,
        output_tokens=heard.output_tokens,
        cached_tokens=heard.cached_tokens,
        finish_reason=heard.finish_reason,
        spawn=spawn,
        join=[name for name in turn.join if name in spawned] or None,
    )


def frozen_workload(
    sessions: Sequence[RecordedSession], facts: WorkloadFacts, *, file_digest: str, pace: Pace
) -> Workload:
    """The pool of recorded sessions, to be played with recorded history.

    Args:
        sessions: of the file, sub-agents included.
        facts: of the workload that was recorded, or of this very pool.
        file_digest: SHA-256 of the file.
        pace: what is done to waits, which the file has as the workload states them.
    """
    made = replay(sessions, name=facts.name, chars_per_token=facts.chars_per_token)
    by_name = {session.session_id: session for session in sessions}
    pool = tuple(_with_depths(session, by_name) for session in made.sessions)
    workload = paced(replace(made, sessions=pool, exact_length=facts.exact_length), pace)
    return replace(
        workload,
        facts=msgspec.structs.replace(
            facts,
            digest=digest(workload.sessions),
            sessions=len(pool),
            turns=made.facts.turns,
            max_depth=max(map(_reach, pool)),
            history="frozen",
            frozen=file_digest,
        ),
        assumed=tuple(facts.assumed),
        notes=(),
    )


def _with_depths(session: Session, recorded: Mapping[str, RecordedSession]) -> Session:
    """The session with prompt lengths as the server counted them, salt included."""
    turns = tuple(
        replace(
            turn,
            depth=turn.depth if was.input_tokens is None else was.input_tokens,
            spawn=tuple(_with_depths(child, recorded) for child in turn.spawn),
        )
        for turn, was in zip(session.turns, recorded[session.id].turns, strict=True)
    )
    return replace(session, turns=turns)


def _reach(session: Session) -> int:
    """Tokens of prompt and answer of the deepest turn, sub-agents' included, at most."""
    own = (turn.depth + turn.output_tokens for turn in session.turns)
    return max([*own, *(_reach(child) for turn in session.turns for child in turn.spawn)])
