"""Waits of a workload, shortened on request: tool waits capped, then all of them scaled."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from loadgen.workload.session import Session, Turn, Workload, digest

__all__ = ["Pace", "paced"]


@dataclass(frozen=True)
class Pace:
    """What is done to waits: `tool_time_cap_s` is the longest wait for a tool (null: any); then `scale` multiplies."""

    tool_time_cap_s: float | None = None
    scale: float = 1.0

    def wait_s(self, turn: Turn) -> float:
        """The wait before a turn."""
        wait = turn.wait_s
        if turn.wait_kind == "tool" and self.tool_time_cap_s is not None:
            wait = min(wait, self.tool_time_cap_s)
        # Whole microseconds, as the waits of profiles are.
        return wait if self.scale == 1 else round(wait * self.scale, 6)


def paced(workload: Workload, pace: Pace) -> Workload:
    """The workload at another pace: the same one where that changes no wait.

    Its notes say what the cap and the factor do.
    """
    sessions = tuple(_paced(session, pace) for session in workload.sessions)
    if sessions == workload.sessions:
        return workload
    notes = list(workload.notes)
    if pace.tool_time_cap_s is not None:
        waits = [turn.wait_s for turn in _turns(workload.sessions) if turn.wait_kind == "tool"]
        capped = sum(wait > pace.tool_time_cap_s for wait in waits)
        notes.append(f"waits for tools are capped at {pace.tool_time_cap_s:g} s: {capped} of {len(waits)} were longer")
    if pace.scale != 1:
        notes.append(f"waits are multiplied by {pace.scale:g}")
    facts = msgspec.structs.replace(workload.facts, digest=digest(sessions))
    return replace(workload, sessions=sessions, facts=facts, notes=tuple(notes))


def _paced(session: Session, pace: Pace) -> Session:
    turns = tuple(
        replace(turn, wait_s=pace.wait_s(turn), spawn=tuple(_paced(child, pace) for child in turn.spawn))
        for turn in session.turns
    )
    return replace(session, turns=turns)


def _turns(sessions: Iterable[Session]) -> Iterator[Turn]:
    for session in sessions:
        for turn in session.turns:
            yield turn
            yield from _turns(turn.spawn)
