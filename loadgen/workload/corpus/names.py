"""Names that stand in a text, by how often they do."""

import keyword
import re
from collections import Counter

__all__ = ["frequent_names", "renamed"]

_NAMES = re.compile(r"\b[A-Za-z_]\w{2,}\b")
_NO_NAMES = frozenset(keyword.kwlist) | {"self", "the", "and", "that", "this"}


def frequent_names(text: str, most: int = 1) -> list[str]:
    """The most frequent names, the first of equals first; `text` alone where the text has no name."""
    counts = Counter(name for name in _NAMES.findall(text) if name not in _NO_NAMES)
    return [name for name, _ in counts.most_common(most)] or ["text"]


def renamed(text: str, old: str, new: str) -> str:
    """The text with every whole word `old` in place of which `new` stands."""
    return re.sub(rf"\b{re.escape(old)}\b", lambda _match: new, text)
