"""File descriptors of our own process: an agent takes one, its connection."""

import os
import resource
from dataclasses import dataclass

from loadgen.errors import UsageError

SPARE = 64
"""Beside the agents: files, event loop, control connections, and connections that are closing behind a stream."""
_OPEN = "/proc/self/fd"


@dataclass(frozen=True)
class Descriptors:
    """Descriptors in use, the limit that holds (soft), and how far it may be raised (hard); null: without limit."""

    used: int
    soft: int | None
    hard: int | None

    def agents(self, limit: int | None) -> int | None:
        """How many agents a limit has room for; null: without limit."""
        return None if limit is None else max(0, limit - self.used - SPARE)


def descriptors() -> Descriptors:
    """Our own process's, now. Where the system doesn't list what is open, none counts as used."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir(_OPEN)) if os.path.isdir(_OPEN) else 0  # noqa: PTH112, PTH208 - no Path needed
    return Descriptors(used=used, soft=_finite(soft), hard=_finite(hard))


def make_room(agents: int) -> None:
    """Raise our soft limit as far as `agents` connections need, up to the hard one.

    Raises `UsageError` where the hard limit is below that.
    """
    now = descriptors()
    needed = agents + now.used + SPARE
    if now.soft is None or now.soft >= needed:
        return
    if now.hard is not None and now.hard < needed:
        raise UsageError(
            f"{agents} agents need about {needed} file descriptors, and the limit is {now.hard}: raise it "
            "(ulimit -Hn, LimitNOFILE= of a service, --ulimit nofile= of a container), or use fewer agents."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, now.hard if now.hard is not None else resource.RLIM_INFINITY))


def _finite(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit
