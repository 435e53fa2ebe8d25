"""The machine's own memory, for devices that have none of their own."""

import re
from collections.abc import Sequence
from pathlib import Path

from loadgen.telemetry.source import Reading
from loadgen.units import kib_to_bytes

UNIFIED = "unified system memory"
_LINE = re.compile(r"^(\w+):\s+(\d+) kB", re.MULTILINE)


def meminfo(root: Path) -> dict[str, int]:
    """What `/proc/meminfo` tells, in bytes by name; empty where it can't be read."""
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return {}
    return {name: kib_to_bytes(int(kib)) for name, kib in _LINE.findall(text)}


def unified_readings(root: Path) -> Sequence[Reading]:
    """Used (total without available) and total bytes of the whole machine, named for what they are."""
    told = meminfo(root)
    total, available = told.get("MemTotal"), told.get("MemAvailable")
    if total is None or available is None:
        return [Reading("used_bytes", None, UNIFIED, "/proc/meminfo does not tell it", source=UNIFIED)]
    return [
        Reading("used_bytes", total - available, UNIFIED, source=UNIFIED),
        Reading("total_bytes", total, UNIFIED, source=UNIFIED),
    ]
