"""What the GPU of an Apple machine may take of the memory that it shares with everything else."""

import subprocess
from collections.abc import Callable, Sequence

from loadgen.telemetry.source import Reading, SourceError
from loadgen.telemetry.unified_memory import UNIFIED
from loadgen.units import mib_to_bytes

_LIMIT = "iogpu.wired_limit_mb"
_MEMORY = "hw.memsize"


def sysctl(name: str) -> str | None:
    """What the system's `sysctl` tells; null where it doesn't."""
    try:
        done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


class AppleMemory:
    """The limit on what the GPU may wire. What is used is read from the server's process; both share one memory."""

    name = "apple"
    period_s = 10.0
    """The limit changes when somebody sets it."""

    def __init__(self, ask: Callable[[str], str | None] = sysctl) -> None:
        self._ask = ask

    def open(self) -> Sequence[str]:
        """Says that the memory is shared."""
        if self._ask(_MEMORY) is None:
            raise SourceError("this is no Apple machine")
        return ["the GPU shares the machine's memory; its budget is the limit on wired memory, where one is set"]

    def read(self) -> Sequence[Reading]:
        """The limit as the device's total. The default limit (0) can't be read: null, not all of the memory."""
        told = self._ask(_LIMIT) or ""
        limit = int(told) if told.isascii() and told.isdecimal() else 0
        if not limit:
            why = f"the system sets the GPU's limit and does not tell it ({_LIMIT} is 0)"
            return [Reading("total_bytes", None, UNIFIED, why)]
        return [Reading("total_bytes", mib_to_bytes(limit), UNIFIED)]

    def close(self) -> None:
        """Nothing was opened."""
