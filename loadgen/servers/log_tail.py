"""The last lines of a log."""

import os
from pathlib import Path

from loadgen.servers.supervisor import TAIL_BYTES


def tail(path: Path, lines: int) -> list[str]:
    """The last `lines` lines of a file; none where it can't be read."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = log.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-lines:] if lines > 0 else []
