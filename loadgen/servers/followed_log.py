"""The log file of a server that loadgen did not start, from now on: what its host memory held meanwhile."""

import io
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from loadgen.records.model import Sample
from loadgen.servers.host_use import log_seconds, read_host_use, samples_of
from loadgen.servers.loadlog import lines_of
from loadgen.units import s_to_ns

_LOOKED_BACK_BYTES = 1 << 16
"""For the last line that tells its time: a server that was just asked something has printed some."""


class FollowedLog:
    """Remembers where a log ends, and reads later what came after.

    Times in a log count from the beginning of its process, which nobody tells: it is taken to be as long ago as the
    last line that is there now says, or the last one at the end, whichever is earlier. A server that has just answered
    makes that right to a second.

    Args:
        path: the file.
        port: of a router's log, only the lines of the server on this port.

    Raises `OSError`.
    """

    def __init__(self, path: Path, port: int | None = None) -> None:
        self._path = path
        self._port = port
        with path.open("rb") as log:
            self._file = _identity(log)
            self._end = log.seek(0, os.SEEK_END)
            log.seek(max(0, self._end - _LOOKED_BACK_BYTES))
            clock = _Clock(port)
            for _ in clock.seen(_text(log)):
                pass
        self._began_ns = clock.began_ns

    def samples(self, *, run: str, variant: str) -> list[Sample]:
        """What was printed since, as samples; none where the file is gone.

        Of a file that another has taken the place of, or that was cut, all that is there. Reads all of it: call it in
        a thread.
        """
        clock = _Clock(self._port)
        try:
            with self._path.open("rb") as log:
                is_same = _identity(log) == self._file and log.seek(0, os.SEEK_END) >= self._end
                log.seek(self._end if is_same else 0)
                use = read_host_use(clock.seen(_text(log)), self._port)
        except OSError:
            return []
        now_ns = time.monotonic_ns()
        known = [began for began in (self._began_ns, clock.began_ns) if began is not None]
        return samples_of(use, run=run, variant=variant, began_ns=min(known, default=now_ns), now_ns=now_ns)


class _Clock:
    """Notes the time that the last dated line tells."""

    def __init__(self, port: int | None) -> None:
        self._port = port
        self._last: str | None = None

    def seen(self, lines: Iterable[str]) -> Iterator[str]:
        """Hands the lines on."""
        for line in lines:
            if line[:1] in "0123456789[\x1b":
                self._last = line
            yield line

    @property
    def began_ns(self) -> int | None:
        """When the process began, if the line was printed just now; null where none tells its time."""
        told = [log_seconds(line) for line in lines_of((self._last,), self._port)] if self._last is not None else []
        return time.monotonic_ns() - s_to_ns(told[0]) if told and told[0] is not None else None


def _text(log: io.BufferedReader) -> Iterator[str]:
    return (line.decode("utf-8", errors="replace") for line in log)


def _identity(log: io.BufferedReader) -> tuple[int, int]:
    status = os.fstat(log.fileno())
    return status.st_dev, status.st_ino
