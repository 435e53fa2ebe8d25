"""Numbers as drivers and their tools tell them: among texts, objects and markers of absence."""

import math
from collections.abc import Mapping
from typing import Any

_ABSENT = frozenset({(1 << 32) - 1, (1 << 64) - 1})
"""All bits set: what C interfaces write where they have no value."""


def number(value: Any) -> float | None:
    """A number, or that in an object with `value`; null for `N/A`, other texts, all-ones, and what is not finite."""
    if isinstance(value, Mapping):
        value = value.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if value in _ABSENT or not math.isfinite(value) or value < 0 else value


def identity(value: Any) -> str | None:
    """A device's UUID or serial number as text; null where it is missing, `N/A` or all zeros."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        return None
    text = text.strip()
    return text if text.upper() != "N/A" and text.lower().removeprefix("gpu-").strip("0x-:. ") else None


def keys(*candidates: list[str | None]) -> list[str]:
    """One key a device: the first of its candidates that no other device has too.

    Each list holds one candidate a device; the last must tell all of them apart.
    """
    out = []
    for position in range(len(candidates[0])):
        for names in candidates:
            name = names[position]
            if name is not None and names.count(name) == 1:
                out.append(name)
                break
        else:
            out.append(f"device {position}")
    return out
