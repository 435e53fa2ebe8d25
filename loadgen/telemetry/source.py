"""What a source of telemetry is: something that is opened, read again and again, and closed.

Names of readings: `used_bytes`, `total_bytes`, `reserved_bytes` of a device; `process_bytes` and `foreign_bytes`, the
server's and everybody else's part of what is used there; `vram_used_bytes` and `gtt_used_bytes`, the two parts of a
device that shares the machine's memory; `parent_used_bytes` of a device that is split into instances;
`pss_bytes` and `rss_bytes` of the server's processes; `power_watts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class SourceError(Exception):
    """A source can't be read. The message is one half-sentence without keys: why."""


@dataclass(frozen=True)
class Reading:
    """One value; null with a reason where it couldn't be read, never 0.

    `source` overrides the name of the source it comes from, where a fallback gave the value.
    """

    name: str
    value: float | None
    device: str | None = None
    reason: str | None = None
    source: str | None = None


class Source(Protocol):
    """One way to read memory or power. All three methods are called by one thread, which they may block."""

    @property
    def name(self) -> str:
        """What samples and the report call it."""

    @property
    def period_s(self) -> float:
        """Seconds between two readings."""

    def open(self) -> Sequence[str]:
        """Get ready. Returns sentences on what is read and what to mind. Raises `SourceError`."""

    def read(self) -> Sequence[Reading]:
        """Everything that it has to say now. Raises `SourceError` where that is nothing."""

    def close(self) -> None:
        """Give back what was opened; may be called twice, or without `open`."""
