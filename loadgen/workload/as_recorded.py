"""Sessions that were drawn, as a file keeps recorded ones."""

from typing import cast

from loadgen.workload.recorded import RecordedSession, RecordedTurn, TurnKind
from loadgen.workload.session import Session, Turn, Workload

__all__ = ["as_recorded", "recorded_turn"]


def as_recorded(session: Session, workload: Workload, parent: str | None = None) -> list[RecordedSession]:
    """A session and its sub-agents, parents first: what is new in each turn, and the answer that recorded history has.

    Args:
        session: of the workload.
        workload: that it is of.
        parent: the id of the session that spawns it.
    """
    own = RecordedSession(
        session_id=session.id,
        parent_session_id=parent,
        source={"name": workload.name, "digest": workload.facts.digest},
        turns=[recorded_turn(turn) for turn in session.turns],
        tools=[dict(tool) for tool in session.tools] or None,
    )
    below = [one for turn in session.turns for child in turn.spawn for one in as_recorded(child, workload, session.id)]
    return [own, *below]


def recorded_turn(turn: Turn) -> RecordedTurn:
    """One turn: what is new in it, its recorded answer, its wait and its cap."""
    return RecordedTurn(
        messages=[dict(message) for message in turn.messages],
        assistant=turn.recorded,
        delay_s=turn.wait_s,
        delay_kind=turn.wait_kind or "arrival",
        kind=cast("TurnKind", turn.kind),
        max_tokens=turn.output_tokens,
        history_reset="compact" if turn.begins_anew else None,
        spawn=[child.id for child in turn.spawn],
        join=list(turn.join) or None,
        cancel=turn.cancel,
    )
