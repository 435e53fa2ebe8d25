"""CPUs by number, as `taskset -c` writes them."""

import re

_PART = re.compile(r"(\d+)(?:-(\d+))?")
_MOST = 1 << 16
"""No machine has more, and a typing error would fill the memory."""


def cpu_set(text: str) -> frozenset[int]:
    """The CPUs in a text such as `0-6` or `0,2,4-7`. Raises `ValueError` where it is none."""
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        span = _PART.fullmatch(part)
        if span is None or int(span[2] or span[1]) < int(span[1]) or int(span[2] or span[1]) > _MOST:
            raise ValueError(f"{text!r} is no list of CPUs; write it as 0-6 or 0,2,4-7")
        found.update(range(int(span[1]), int(span[2] or span[1]) + 1))
    return frozenset(found)
