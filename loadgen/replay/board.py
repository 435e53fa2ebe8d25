"""What the agents of one trial share: who is warm, who is done, and when to stop."""

import asyncio
import time
from collections.abc import Callable

from loadgen.records.model import Phase, RequestRecord, Segment
from loadgen.units import s_to_ns

FAILURES_IN_A_ROW = 5
"""At least so many failed turns in a row, over all agents, end a trial: three in a row happen to a healthy server."""


class Board:
    """What the agents of one trial share: who is warm, who is done, what is in flight, and whether to stop."""

    def __init__(self, agents: int, *, warmup_s: float, alive: Callable[[], bool]) -> None:
        self.agents = agents
        self.in_flight = 0
        self.stopped = asyncio.Event()
        self.aborted: str | None = None
        self.segments: dict[int, Segment] = {}
        self.measured_ns: int | None = None
        self._alive = alive
        self._warm: set[int] = set()
        self._measured: dict[int, int] = {}
        self._failures = 0
        self._warm_from_ns = time.monotonic_ns() + s_to_ns(warmup_s)
        self.on_measured: Callable[[], None] = lambda: None
        self.on_segments_done: Callable[[], None] = lambda: None

    @property
    def phase(self) -> Phase:
        """What the trial as a whole does: it measures from the begin of the last segment to the end of the last one."""
        if self.measured_ns is None:
            return Phase.WARMUP
        return Phase.SEGMENT if len(self.segments) < self.agents else Phase.DRAIN

    def turn_ended(self, agent: int, record: RequestRecord) -> None:
        """An agent's turn ended, whatever its outcome."""
        self._warm.add(agent)
        if not record.outcome.failed:
            self._failures = 0
            return
        self._failures += 1
        if not self._alive():
            self.abort("the server died")
        elif self._failures >= max(FAILURES_IN_A_ROW, 2 * self.agents):
            what = record.outcome.value if record.status is None else f"{record.outcome.value} {record.status}"
            self.abort(f"{self._failures} turns failed in a row, the last with {what}")

    def warm(self) -> bool:
        """Whether the segments may begin."""
        return len(self._warm) == self.agents and time.monotonic_ns() >= self._warm_from_ns

    def segment_started(self, agent: int, at_ns: int) -> None:
        """An agent begins its segment."""
        self._measured[agent] = at_ns
        if len(self._measured) == self.agents:
            self.measured_ns = at_ns
            self.on_measured()

    def segment_ended(self, agent: int, at_ns: int, *, turns: int, work_class: str | None) -> None:
        """An agent, of a class of work where there are several, has done its k turns."""
        self.segments[agent] = Segment(
            agent=agent, start_ns=self._measured[agent], end_ns=at_ns, turns=turns, work_class=work_class
        )
        if len(self.segments) == self.agents:
            self.on_segments_done()
            self.stopped.set()

    def abort(self, reason: str) -> None:
        """Stop the trial early. The first reason stays."""
        if self.aborted is None and not self.stopped.is_set():
            self.aborted = reason
        self.stopped.set()
