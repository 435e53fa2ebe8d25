"""From the monotonic clock of the records to the time of day: only to show when something was, never to measure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from loadgen.records.manifest import JournalEntry, Manifest
from loadgen.units import ns_to_s

_SITTINGS = ("started", "resumed")


def epoch_s(iso: str) -> float:
    """Seconds since the epoch of a time in ISO 8601; one without a zone is taken to be UTC."""
    at = datetime.fromisoformat(iso)
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


class WallClock:
    """The time of day of readings of the monotonic clock, to the second as the run wrote it down.

    Each sitting of a run (it started, it was resumed) noted both clocks. The monotonic one may begin anew between two
    sittings, where the machine was restarted: records are therefore told in the order in which they were written.
    """

    def __init__(self, manifest: Manifest, journal: Iterable[JournalEntry]) -> None:
        known = [(one.at_ns, one.detail) for one in journal if one.what in _SITTINGS and one.detail is not None]
        self._sittings = [(ns, epoch_s(iso)) for ns, iso in known if _is_time(iso)]
        if not self._sittings:
            self._sittings = [(manifest.started_ns, epoch_s(manifest.started_at))]

    def tell(self, readings_ns: Sequence[int]) -> list[float]:
        """The time of day of each reading, in seconds since the epoch. Readings are in the order of their records."""
        out, sitting, before = [], 0, None
        for ns in readings_ns:
            while self._is_next(sitting, ns, before):
                sitting, before = sitting + 1, None
            at_ns, wall_s = self._sittings[sitting]
            out.append(wall_s + ns_to_s(ns - at_ns))
            before = ns
        return out

    def _is_next(self, sitting: int, ns: int, before: int | None) -> bool:
        """Whether a reading is of the next sitting: it lies behind its begin, or the clock has begun anew."""
        if sitting + 1 == len(self._sittings):
            return False
        after_ns = self._sittings[sitting + 1][0]
        if after_ns >= self._sittings[sitting][0]:
            return ns >= after_ns
        return ns < self._sittings[sitting][0] if before is None else ns < before


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
