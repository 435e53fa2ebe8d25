"""Reads one source while trials run, in a thread of its own, and hands every reading on as a `Sample`."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence

from loadgen.records.model import Sample
from loadgen.telemetry.source import Reading, Source, SourceError
from loadgen.units import ns_to_s

FIRST_S = 1.0
"""How long the end of a trial waits for its first reading: a trial shorter than one reading has one, too."""
RETRY_S = 5.0
"""How long until a source that could not be opened is tried again."""


class Watcher:
    """Reads a source at its period between `begin` and `pause`, and never blocks who calls it.

    Args:
        source: what to read; its methods are called by the watcher's thread alone.
        run: the run's id.
        sink: takes the samples, in the watcher's thread; calls are made under `lock`, and none after `close`.
        lock: shared by all watchers with the same sink.
        note: told once what the source says of itself, or why it can't be opened; also called under `lock`.
    """

    def __init__(
        self,
        source: Source,
        *,
        run: str,
        sink: Callable[[Sample], None],
        lock: threading.Lock,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._source = source
        self._run = run
        self._sink = sink
        self._lock = lock
        self._note = note
        self._wake = threading.Event()
        self._read = threading.Event()
        self._place: tuple[str | None, str] | None = None
        self._reading_since_ns: int | None = None
        self._seen: dict[tuple[str, str | None], None] = {}
        self._is_open = False
        self._said: set[str] = set()
        self._closed = False
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._work, name=f"watch-{source.name}", daemon=True)

    def begin(self, trial: str | None, variant: str) -> None:
        """Read from now on, for this trial (null: outside of trials)."""
        with self._lock:
            self._place = (trial, variant)
            self._read.clear()
        if self._thread.ident is None:
            self._thread.start()
        self._wake.set()

    async def pause(self, patience_s: float = FIRST_S) -> None:
        """Stop reading; waits up to `patience_s` for a first reading. Raises what the sink raised, if it did.

        A source that has not answered by then leaves a null sample that says so.
        """
        if self._place is not None and not self._read.is_set():
            await asyncio.to_thread(self._read.wait, patience_s)
        with self._lock:
            place, self._place = self._place, None
            since = self._reading_since_ns
            if not self._read.is_set() and place is not None and not self._closed:
                now = time.monotonic_ns()
                waited = ns_to_s(now - since) if since is not None else patience_s
                self._emit(place, now, self._nothing(f"{self._source.name} has not answered for {waited:.1f} s"))
        if self._failed is not None:
            raise self._failed

    def close(self) -> None:
        """End the thread; what a reading in flight still brings is dropped, and its source closed behind it."""
        with self._lock:
            self._closed = True
            self._place = None
        self._wake.set()

    def _work(self) -> None:
        try:
            while not self._closed:
                self._wake.wait()
                self._wake.clear()
                self._poll()
        finally:
            self._close_source()

    def _poll(self) -> None:
        """Read until paused or closed."""
        while (place := self._place) is not None and not self._closed:
            begin = time.monotonic_ns()
            self._reading_since_ns = begin
            readings = self._take()
            end = time.monotonic_ns()
            with self._lock:
                self._reading_since_ns = None
                if self._place == place:
                    self._emit(place, (begin + end) // 2, readings)
                    self._read.set()
            period_s = self._source.period_s if self._is_open else max(self._source.period_s, RETRY_S)
            if self._wake.wait(max(0.0, period_s - ns_to_s(end - begin))):
                self._wake.clear()

    def _take(self) -> Sequence[Reading]:
        """What the source says, opened if it isn't; null with a reason where it fails."""
        try:
            if not self._is_open:
                self._say(self._source.open())
                self._is_open = True
            readings = self._source.read()
        except Exception as error:  # noqa: BLE001 - a driver's library may raise anything; the run goes on without it
            reason = _reason(error)
            if not self._is_open:
                self._say([f"{self._source.name}: {reason}"])
                self._close_source()
            return self._nothing(reason)
        self._seen |= {(one.name, one.device): None for one in readings if one.value is not None}
        return readings

    def _say(self, notes: Sequence[str]) -> None:
        with self._lock:
            for note in notes:
                if not self._closed and note not in self._said:
                    self._said.add(note)
                    self._note(note)

    def _nothing(self, reason: str) -> list[Reading]:
        """Null for all that was read before, so that a gap is seen as one."""
        names = list(self._seen) or [("used_bytes", None)]
        return [Reading(name, None, device=device, reason=reason) for name, device in names]

    def _emit(self, place: tuple[str | None, str], at_ns: int, readings: Sequence[Reading]) -> None:
        trial, variant = place
        for one in readings:
            sample = Sample(
                run=self._run,
                trial=trial,
                variant=variant,
                at_ns=at_ns,
                source=one.source or self._source.name,
                name=one.name,
                value=one.value,
                reason=one.reason,
                device=one.device,
            )
            try:
                self._sink(sample)
            except OSError as error:  # the disk is full: the run ends where it next writes, or at `pause`
                self._failed = error
                self._place = None
                return

    def _close_source(self) -> None:
        self._is_open = False
        try:
            self._source.close()
        except Exception as error:  # noqa: BLE001 - as above; there is nothing left to lose
            self._say([f"{self._source.name}: {_reason(error)}"])


def _reason(error: Exception) -> str:
    if isinstance(error, SourceError):
        return str(error)
    said = " ".join(str(error).split())[:120]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
