"""Fixed depths as text."""

import re

TOKENS_PER_K = 1024
"""As context sizes are counted: 16k tokens of context are 16,384."""
MAX_DEPTH = 10_000_000
"""Ten times the longest context that is served; more is a typing error."""
BAND = 0.2
"""How far a prompt may lie from a depth that was asked for, as a share of it. Turns of agents add hundreds to thousands
of tokens: a narrower band would hold no turn of most sessions."""

_DEPTH = re.compile(r"(\d{1,8})(k?)", re.IGNORECASE)


def parse_depths(text: str) -> tuple[int, ...]:
    """Depths in tokens in a list such as `2k,16k,48k` or `500,2000`, ascending and each once; k stands for 1,024.

    Raises `ValueError` where the text holds anything else, or a depth that no prompt can have.
    """
    depths: set[int] = set()
    for part in text.replace(" ", "").split(","):
        found = _DEPTH.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is no number of tokens; write a list such as 2k,16k,48k")
        depth = int(found[1]) * (TOKENS_PER_K if found[2] else 1)
        if not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"{part} is no depth: a prompt has 1 to {MAX_DEPTH:,} tokens")
        depths.add(depth)
    return tuple(sorted(depths))


def band(depth: int) -> tuple[float, float]:
    """The shortest and the longest prompt, in tokens, that count as of this depth."""
    return depth * (1 - BAND), depth * (1 + BAND)
