"""Polls telemetry sources while a trial runs, and hands every reading on as a `Sample`."""

import asyncio
import time
from collections.abc import Callable

from loadgen.records.model import Sample
from loadgen.telemetry.process_memory import ProcessMemory

PERIOD_S = 0.5
"""Memory of a server moves when prompts grow, over seconds; a reading takes 0.1 ms."""


class MemorySampler:
    """Reads the memory of one local server process at a fixed period, as a task of the running loop."""

    def __init__(self, pid: int, *, run: str, variant: str, sink: Callable[[Sample], None]) -> None:
        self._memory = ProcessMemory(pid)
        self._run = run
        self._variant = variant
        self._sink = sink
        self._task: asyncio.Task[None] | None = None

    def start(self, trial: str) -> None:
        """Begin sampling for `trial`."""
        self._task = asyncio.create_task(self._poll(trial))

    async def _poll(self, trial: str) -> None:
        while True:
            self._read(trial)
            await asyncio.sleep(PERIOD_S)

    def _read(self, trial: str) -> None:
        value, reason = self._memory.resident_bytes()
        self._sink(
            Sample(
                run=self._run,
                trial=trial,
                variant=self._variant,
                at_ns=time.monotonic_ns(),
                source="process",
                name="rss_bytes",
                value=value,
                reason=reason,
            )
        )

    async def stop(self) -> None:
        """Stop sampling."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
