"""Concurrency levels as text."""

import re

MAX_LEVEL = 4096
"""Far above what one llama-server serves; a typing error such as 1..100000 would plan for days."""

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def parse_levels(text: str) -> tuple[int, ...]:
    """Concurrency levels in `1,2,4`, `1..8` or `1..4,8`, ascending and each once.

    Raises `ValueError` where the text holds anything else, or a level below 1.
    """
    levels: set[int] = set()
    for part in text.replace(" ", "").split(","):
        span = _RANGE.fullmatch(part)
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if first > last:
                raise ValueError(f"the range {part} runs backwards")
            if last > MAX_LEVEL:
                raise ValueError(f"more than {MAX_LEVEL} agents can't be run")
            levels.update(range(first, last + 1))
        elif part.isdecimal():
            levels.add(int(part))
        else:
            raise ValueError(f"{part!r} is no number; write a list or range such as 1,2,4")
    if min(levels) < 1:
        raise ValueError("concurrency counts agents and starts at 1")
    if max(levels) > MAX_LEVEL:
        raise ValueError(f"more than {MAX_LEVEL} agents can't be run")
    return tuple(sorted(levels))
