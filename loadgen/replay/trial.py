"""One trial: N agents work through sessions, warm up, are measured for k turns each, and stop together.

warm-up   until every agent has ended one whole turn and 3 s have passed
segment   of each agent: its next k turns, from the end of its last warm-up turn to the end of the k-th
drain     an agent that has done its k turns keeps working, unmeasured, until the last segment has ended, so that
          the load stays what it was; then everything in flight is cancelled
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loadgen.client.control import Health
from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import ClientReading, CounterReading, TrialRecord
from loadgen.replay.agent import Agent
from loadgen.replay.bench import Bench
from loadgen.replay.board import Board
from loadgen.replay.casting import cast
from loadgen.replay.script import Script
from loadgen.telemetry.client_lag import LagProbe

IDLE_WAIT_S = 30.0
"""How long abandoned requests may keep the server busy before the next trial starts all the same (and says so)."""


@dataclass
class Trial:
    """Runs one planned trial on a server that is ready and idle."""

    run_id: str
    planned: PlannedTrial
    script: Script
    starts: Sequence[tuple[int, int]]
    """Session and turn with which each agent's segment begins."""
    bench: Bench
    interrupted: asyncio.Event
    on_load: Callable[[Board], None] = lambda _: None
    """Told of the board before agents begin: what the trial does at any time can be read there."""
    _probe: LagProbe = field(default_factory=LagProbe)

    async def run(self) -> TrialRecord:
        """Play the trial; always returns its record, also when it is aborted or interrupted."""
        planned = self.planned
        before = await self._counters()
        start_ns = time.monotonic_ns()
        board = Board(planned.level, warmup_s=self.bench.warmup_s, alive=self.bench.alive)
        self.on_load(board)
        client: ClientReading | None = None

        def measured() -> None:
            self.bench.take_lags_ns()
            self._probe.start()

        def segments_done() -> None:
            nonlocal client
            client = self._probe.stop(stamps=self.bench.stamps, receive_lags_ns=self.bench.take_lags_ns())

        board.on_measured, board.on_segments_done = measured, segments_done
        await self._play(board)
        self._probe.cancel()
        alive = self.bench.alive() and await self.bench.control.health() is not Health.ABSENT
        idle = await self.bench.control.wait_idle(IDLE_WAIT_S) if alive else True
        after = await self._counters()
        if not idle and board.aborted is None:
            board.aborted = f"requests still ran on the server {IDLE_WAIT_S:.0f} s after the trial had ended"
        return TrialRecord(
            run=self.run_id,
            trial=planned.trial,
            round=planned.round,
            variant=planned.variant,
            level=planned.level,
            order=planned.order,
            turns_per_agent=planned.turns_per_agent,
            short=planned.short,
            start_ns=start_ns,
            measured_ns=board.measured_ns,
            end_ns=time.monotonic_ns(),
            complete=len(board.segments) == planned.level,
            aborted=board.aborted,
            server_alive=alive,
            segments=[board.segments[agent] for agent in sorted(board.segments)],
            counters_before=before,
            counters_after=after,
            client=client,
            attempt=planned.attempt,
            drift=planned.drift,
            depth=planned.depth,
        )

    async def _play(self, board: Board) -> None:
        agents = [
            asyncio.create_task(
                Agent(
                    number,
                    start=self.starts[number],
                    part=part,
                    board=board,
                    bench=self.bench,
                    run_id=self.run_id,
                    planned=self.planned,
                ).work()
            )
            for number, part in enumerate(cast(self.script, self.planned.level))
        ]
        stop = asyncio.create_task(board.stopped.wait())
        interrupt = asyncio.create_task(self.interrupted.wait())
        try:
            done, _ = await asyncio.wait([stop, interrupt, *agents], return_when=asyncio.FIRST_COMPLETED)
            if interrupt in done:
                board.abort("interrupted")
        finally:
            for task in (stop, interrupt, *agents):
                task.cancel()
            results = await asyncio.gather(*agents, return_exceptions=True)
            await asyncio.gather(stop, interrupt, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _counters(self) -> CounterReading | None:
        values = await self.bench.control.metrics()
        return None if values is None else CounterReading(at_ns=time.monotonic_ns(), values=values)
