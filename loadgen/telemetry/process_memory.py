"""Memory of a local server: its process and all of its children."""

import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

from loadgen.telemetry.source import Reading
from loadgen.units import kib_to_bytes

LOOK_AGAIN = 20
"""Readings between two looks for new children: that scans every process of the machine and takes milliseconds, in
which arrivals wait to be read; a llama-server has none."""
PSS_SHARE = 200
"""The proportional size is read so seldom that it takes at most a 200th of the time: for it the kernel walks all
pages of the server, milliseconds a GiB, and the server may wait meanwhile."""
_PSS = re.compile(rb"^Pss:\s+(\d+) kB", re.MULTILINE)


class ProcessMemory:
    """Reads the resident and the proportional size of a process and its descendants.

    Args:
        pid: the server's process.
        proc: where `/proc` lies.
        clock: seconds, for how long a reading takes.
    """

    name = "process"
    period_s = 0.5
    """Memory of a server moves when prompts grow, over seconds; a reading takes 0.1 ms."""

    def __init__(self, pid: int, *, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> None:
        self._pid = pid
        self._proc = proc
        self._clock = clock
        self._family: list[psutil.Process] = []
        self._readings = 0
        self._next_pss = -float("inf")

    def open(self) -> Sequence[str]:
        """Nothing is needed to look at a process."""
        return ()

    def read(self) -> Sequence[Reading]:
        """`rss_bytes` each time, and now and then `pss_bytes`, which counts pages shared with others in parts."""
        rss, why = self.resident_bytes()
        readings = [Reading("rss_bytes", rss, reason=why)]
        if rss is not None and self._clock() >= self._next_pss:
            pss, why = self.proportional_bytes()
            readings.append(Reading("pss_bytes", pss, reason=why))
        return readings

    def close(self) -> None:
        """Nothing was opened."""

    def resident_bytes(self) -> tuple[int | None, str | None]:
        """Bytes, or null with a reason.

        Pages that several of the processes share count once a process: an upper bound for a server with children.
        """
        try:
            if self._readings % LOOK_AGAIN == 0:
                process = psutil.Process(self._pid)
                self._family = [process, *process.children(recursive=True)]
            self._readings += 1
            return self._sum(), None
        except psutil.NoSuchProcess:
            return None, "the process has ended"
        except psutil.AccessDenied:
            return None, "not permitted to look at the process"

    def _sum(self) -> int:
        server, *children = self._family
        total: int = server.memory_info().rss
        for child in children:
            try:
                total += child.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total

    def proportional_bytes(self) -> tuple[int | None, str | None]:
        """Bytes, or null with a reason. Call it after `resident_bytes`, which finds the processes."""
        begin = self._clock()
        total = 0
        for process in self._family:
            try:
                found = _PSS.search((self._proc / str(process.pid) / "smaps_rollup").read_bytes())
            except (FileNotFoundError, ProcessLookupError):
                if process.pid == self._pid:
                    return None, self._given_up("the kernel does not tell it, or the process has ended")
                continue
            except OSError:
                return None, self._given_up("not permitted to look at the server's pages")
            if found is None:
                return None, self._given_up("the kernel does not tell it")
            total += kib_to_bytes(int(found.group(1)))
        end = self._clock()
        self._next_pss = end + PSS_SHARE * (end - begin)
        return total, None

    def _given_up(self, reason: str) -> str:
        self._next_pss = float("inf")
        return reason
