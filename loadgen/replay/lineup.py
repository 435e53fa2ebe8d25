"""The servers of a run: brought up when their turn comes, kept where they run anyway, restarted once when they die."""

import asyncio
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from loadgen.errors import RunInterruptedError, TargetError
from loadgen.experiment.arrangement import stays_open
from loadgen.experiment.model import Experiment
from loadgen.experiment.variant import LaunchVariant, SwitchVariant, Variant
from loadgen.records.manifest import JournalEntry
from loadgen.records.model import ServerStart
from loadgen.records.run_folder import RunWriter
from loadgen.replay.observer import Observer
from loadgen.servers.launch import check_launchable
from loadgen.servers.switch import check_switchable
from loadgen.servers.target import Target, open_target

MAX_DEATHS = 2
"""A server that dies once may have met a stray fault and is started again; one that dies twice would go on dying."""

IDLE_S = 2.0
"""A trial ends when its server is idle, so this only meets requests that were abandoned, and those of others."""

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
        self._up: dict[str, Target] = {}
        self._probed: set[str] = set()
        self._deaths: dict[str, int] = {}
        self._lost: dict[str, str] = {}
        self._said: set[str] = set()

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
        if name in self._up:
            return self._up[name]
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
        self._up[name] = target
        start = target.describe(run=self._writer.path.name, round_=round_)
        self._writer.start(start)
        self._observer.server(start)
        self._say_unread(start)
        return target

    async def release(self, name: str) -> None:
        """The block of a variant is over: close its server unless it stays open."""
        if not stays_open(self.variant(name), self._experiment):
            await self._close(name)

    async def idle(self, target: Target, *, trial: str, round_: int) -> Target | None:
        """The target up and without anybody's request on it, before a trial; null where it can't be had.

        A server that died since the last trial is a death like any other. A request that was given up may still be
        computed: a server of ours is then started anew; one that ran already is waited for, as long as a request may
        take.
        """
        if await target.control.wait_idle(IDLE_S) and target.alive():
            return target
        if not await target.is_up():
            return await self.revive(target, when=f"before {trial}", round_=round_)
        name = target.variant.name
        if isinstance(target.variant, LaunchVariant):
            await self._close(name)
            return await self.open(name, round_=round_)
        self._observer.waiting(f"{name}: waiting until the requests on its server have ended")
        if await self._unless_interrupted(target.control.wait_idle(self._experiment.deadlines.total_s)):
            return target
        self._lost[name] = "its server stays busy with requests that aren't ours"
        return None

    async def revive(self, target: Target, *, when: str, round_: int) -> Target | None:
        """Say that a server died and bring it up again; null when it has died too often or doesn't come up."""
        name = target.variant.name
        self._report_death(target, when)
        await self._close(name)
        self._deaths[name] = self._deaths.get(name, 0) + 1
        if self._deaths[name] >= MAX_DEATHS:
            self._lost[name] = "its server died more than once"
            return None
        try:
            return await self.open(name, round_=round_, patient=True)
        except TargetError as error:
            self._lost[name] = f"its server died and does not come up again: {error}"
            return None

    def _report_death(self, target: Target, when: str) -> None:
        tail = target.log_tail(8)
        said = f"; its log ends with:\n{tail}" if tail else ""
        detail = f"the server of {target.variant.name} died {when}{said}"
        self._writer.journal(JournalEntry(at_ns=time.monotonic_ns(), what="server_lost", detail=detail))
        self._observer.note(detail)

    def why_lost(self, name: str) -> str:
        """Why the server of a variant can't be had any more."""
        return self._lost[name]

    async def close(self) -> None:
        """Close everything that is still open."""
        for name in list(self._up):
            await self._close(name)

    async def _close(self, name: str) -> None:
        target = self._up.pop(name, None)
        if target is not None:
            await target.close()
            for sample in await asyncio.to_thread(target.host_samples, run=self._writer.path.name):
                self._writer.sample(sample)

    def _say_unread(self, start: ServerStart) -> None:
        """Once: why the log that somebody named for a server tells nothing of its memory."""
        note = f"{start.variant}: no memory ledger from a log: {start.ledger_missing}"
        named = getattr(self.variant(start.variant), "server_log", None)
        if named is not None and start.ledger_missing is not None and note not in self._said:
            self._said.add(note)
            self._observer.note(note)

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
