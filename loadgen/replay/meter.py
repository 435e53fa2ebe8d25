"""Whoever wants more of a run than progress: the tokens of requests, the load of trials, and what servers say of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Protocol

from loadgen.records.manifest import Manifest
from loadgen.records.model import RequestRecord, Sample, ServerStart, TokenEvent
from loadgen.replay.board import Board

PERIOD_S = 2.0
"""Between two looks at a server's metrics: it answers between two decode steps, in well under a millisecond."""


class Server(Protocol):
    """A server under test that may tell its metrics; `loadgen.client.control` is one."""

    async def metrics(self) -> dict[str, float] | None:
        """By name, or null where it doesn't tell."""


class Meter(Protocol):
    """Called from the event loop like an observer, and for samples from other threads; must return at once."""

    def begun(self, manifest: Manifest, starts: Iterable[ServerStart]) -> None:
        """The run is known; `starts` are those of a run that is taken up again."""

    def load(self, load: Board) -> None:
        """A trial plays: what it does at any time can be read there."""

    def answered(self, record: RequestRecord, events: Iterable[TokenEvent]) -> None:
        """A request ended, with its token events."""

    def server_said(self, values: Mapping[str, float]) -> None:
        """The metrics of the server under test, every few seconds of a trial."""

    def sample(self, sample: Sample) -> None:
        """Memory or power was read: one at a time, from any thread."""


@contextlib.asynccontextmanager
async def listening(meter: Meter | None, server: Server) -> AsyncIterator[None]:
    """Tells the meter what the server says of its slots, until the block ends. Without a meter nothing is asked."""
    if meter is None:
        yield
        return
    task = asyncio.create_task(_listen(meter, server))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _listen(meter: Meter, server: Server) -> None:
    while True:
        values = await server.metrics()
        if values is not None:
            meter.server_said(values)
        await asyncio.sleep(PERIOD_S)


def sampled(sink: Callable[[Sample], None], meter: Meter | None) -> Callable[[Sample], None]:
    """Where samples go: into the run folder, and to the meter where there is one."""
    if meter is None:
        return sink

    def both(sample: Sample) -> None:
        sink(sample)
        meter.sample(sample)

    return both
