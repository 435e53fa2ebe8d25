"""The servers of a run: brought up when their turn comes, kept where they run anyway, restarted once when they die."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from loadgen.errors import RunInterruptedError, TargetError
from loadgen.experiment.arrangement import stays_open
from loadgen.experiment.model import Experiment, LaunchVariant, SwitchVariant, Variant
from loadgen.records.run_folder import RunWriter
from loadgen.replay.observer import Observer
from loadgen.servers.launch import check_launchable
from loadgen.servers.switch import check_switchable
from loadgen.servers.target import Target, open_target

MAX_DEATHS = 2
"""A server that dies once may have met a stray fault and is started again; one that dies twice would go on dying."""

_T = TypeVar("_T")


class Lineup:
    """Opens and closes the variants' servers. One place owns their lifetimes: `close` ends all that is still open."""

    def __init__(
        self, experiment: Experiment, writer: RunWriter, observer: Observer, interrupted: asyncio.Event
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._interrupted = interrupted
        self._kept: dict[str, Target] = {}
        self._probed: set[str] = set()
        self._deaths: dict[str, int] = {}

    def variant(self, name: str) -> Variant:
        """The variant of a name."""
        return next(variant for variant in self._experiment.variants if variant.name == name)

    def check(self) -> None:
        """Raises `LaunchError` or `UsageError` for what isn't there (programs, models) before anything starts."""
        for variant in self._experiment.variants:
            if isinstance(variant, LaunchVariant):
                check_launchable(variant)
            elif isinstance(variant, SwitchVariant):
                check_switchable(variant)

    async def open(self, name: str, *, round_: int, patient: bool = False) -> Target:
        """The server of a variant, ready. One that stays open is brought up once and kept.

        `patient`: one that ran already may be started again by others; wait for it.
        """
        if name in self._kept:
            return self._kept[name]
        variant = self.variant(name)
        target = await self._unless_interrupted(
            open_target(
                variant,
                self._experiment,
                log_path=self._log_path(name),
                on_wait=self._observer.waiting,
                probe=name not in self._probed,
                patient=patient,
            )
        )
        self._probed.add(name)
        if stays_open(variant, self._experiment):
            self._kept[name] = target
        start = target.describe(run=self._writer.path.name, round_=round_)
        self._writer.start(start)
        self._observer.server(start)
        return target

    async def release(self, target: Target) -> None:
        """The block is over: close the server unless it stays open."""
        if target.variant.name not in self._kept:
            await target.close()

    async def revive(self, target: Target, *, round_: int) -> Target | None:
        """Bring a dead server up again; null when it has died too often or doesn't come up."""
        name = target.variant.name
        self._kept.pop(name, None)
        await target.close()
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] >= MAX_DEATHS:
            return None
        try:
            return await self.open(name, round_=round_, patient=True)
        except TargetError as error:
            self._observer.note(f"{name} does not come up again: {error}")
            return None

    async def close(self) -> None:
        """Close everything that is still open."""
        while self._kept:
            _, target = self._kept.popitem()
            await target.close()

    def _log_path(self, name: str) -> Path:
        """Where the next log of a variant goes; a resumed run keeps the earlier ones."""
        number = 0
        while (path := self._writer.log_path(f"{name}-{number}")).exists():
            number += 1
        return path

    async def _unless_interrupted(self, awaitable: Awaitable[_T]) -> _T:
        """Await, but stop at Ctrl-C."""
        task = asyncio.ensure_future(awaitable)
        stop = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise RunInterruptedError("interrupted while a server was starting")
            return task.result()
        finally:
            stop.cancel()
