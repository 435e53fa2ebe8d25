"""Memory and power of the servers of a run: which sources are read for which server, and when."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import psutil

from loadgen.records.model import Sample
from loadgen.telemetry.choice import Machine, device_sources, reads_process
from loadgen.telemetry.process_memory import ProcessMemory
from loadgen.telemetry.source import Source
from loadgen.telemetry.watcher import FIRST_S, Watcher

BEFORE_S = 10.0
"""How long the reading before a load may take: opening NVIDIA's driver takes seconds where it was not loaded."""
FAMILY_S = 10.0
"""Between two looks for children of the server: each scans every process of the machine."""


@dataclass(frozen=True)
class Watched:
    """A server, as far as watching needs to know it.

    Attributes:
        variant: whose server it is.
        local: whether it runs on this machine.
        variables: those of `loadgen.telemetry.choice.CHOOSING` that it has; empty where they aren't known.
    """

    variant: str
    local: bool
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


class MemoryWatch:
    """Reads devices before a server is loaded and while its trials run, and its processes while they run.

    Args:
        asked: the source as the experiment has it; null: automatically.
        run: the run's id.
        sink: takes the samples, from other threads than the caller's, one at a time.
        note: told once what is read and what can't be.
        withheld: the environment variable of the API key, which no command may see.
        machine: this machine.
    """

    def __init__(
        self,
        asked: str | None,
        *,
        run: str,
        sink: Callable[[Sample], None],
        note: Callable[[str], None],
        withheld: str | None = None,
        machine: Machine | None = None,
    ) -> None:
        self._asked = asked
        self._run = run
        self._sink = sink
        self._note = note
        self._withheld = withheld
        self._machine = machine if machine is not None else Machine()
        self._lock = threading.Lock()
        self._devices: dict[tuple[bool, frozenset[tuple[str, str]]], list[Watcher]] = {}
        self._process: Watcher | None = None
        self._pid: int | None = None
        self._active: list[Watcher] = []
        self._notes: dict[str, bool] = {}
        self._family: tuple[int | None, float, list[int]] = (None, 0.0, [])

    async def before(self, server: Watched) -> None:
        """One reading of the devices before the server is brought up: what is used without it, and idle power."""
        self._active = list(self._watchers(server))
        for watcher in self._active:
            watcher.begin(None, server.variant)
        await self.pause(BEFORE_S)

    def begin(self, trial: str, server: Watched, pid: int | None) -> None:
        """Read devices, and the processes below `pid` where it is known, until `pause`."""
        self._active = [*self._watchers(server), *self._of_process(pid)]
        if not self._active and reads_process(self._asked):
            self._keep("memory can't be seen from here: name a source with --memory-source")
        for watcher in self._active:
            watcher.begin(trial, server.variant)

    async def pause(self, patience_s: float = FIRST_S) -> None:
        """Stop reading; see `Watcher.pause`."""
        active, self._active = self._active, []
        try:
            await asyncio.gather(*(watcher.pause(patience_s) for watcher in active))
        finally:
            self._say()

    def close(self) -> None:
        """End all reading; the sink is not called any more."""
        self._say()
        for watcher in (*(one for each in self._devices.values() for one in each), *self._of_process(None)):
            watcher.close()
        self._devices = {}

    def _watchers(self, server: Watched) -> Sequence[Watcher]:
        """Those of devices: the same for servers that may use the same ones."""
        variables = server.variables
        key = (server.local, frozenset(variables.items()))
        if key not in self._devices:
            sources = device_sources(
                self._asked,
                machine=self._machine,
                local=server.local,
                variables=variables,
                pids=self._pids,
                withheld=self._withheld,
            )
            self._devices[key] = [self._watcher(source) for source in sources]
        return self._devices[key]

    def _of_process(self, pid: int | None) -> list[Watcher]:
        if pid != self._pid:
            if self._process is not None:
                self._process.close()
            self._pid, self._process = pid, None
            if pid is not None and reads_process(self._asked):
                self._process = self._watcher(ProcessMemory(pid))
        return [self._process] if self._process is not None else []

    def _watcher(self, source: Source) -> Watcher:
        return Watcher(source, run=self._run, sink=self._sink, lock=self._lock, note=self._keep)

    def _pids(self) -> list[int]:
        """The server's process and its descendants; called by the thread of a source."""
        pid, (known, at, family) = self._pid, self._family
        if pid is None:
            return []
        if pid != known or time.monotonic() - at > FAMILY_S:
            try:
                family = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
            except psutil.Error:
                family = [pid]
            self._family = (pid, time.monotonic(), family)
        return family

    def _keep(self, note: str) -> None:
        """May be called by any thread; it is said by the caller's own."""
        self._notes.setdefault(note, False)

    def _say(self) -> None:
        for note in [note for note, said in list(self._notes.items()) if not said]:
            self._notes[note] = True
            self._note(note)
