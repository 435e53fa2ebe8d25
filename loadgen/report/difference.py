"""How a server differs from the baseline's, in a few words."""

from pathlib import PurePath
from typing import Any

_SHOWN = 24
"""Characters of a word, such as a digest, that are enough to tell two apart."""
_HASHES = ("chat_template",)
"""Known by their digest only: that they differ is all there is to show."""


def difference_text(entry: dict[str, Any]) -> str | None:
    """Such as `differs from off in: threads 8 → 4, slots 4 → 6 (allowed)`; null where nothing differs."""
    if not entry["differences"]:
        return None
    parts = [_field(one) for one in entry["differences"]]
    return f"differs from {entry['baseline']} in: {', '.join(parts)}"


def _field(one: dict[str, Any]) -> str:
    name = one["field"].replace("_", " ")
    meant = " (allowed)" if one["allowed"] else ""
    base, variant = one["baseline"], one["variant"]
    if one["field"] in _HASHES:
        return f"{name}{meant}"
    if isinstance(base, dict) and isinstance(variant, dict):
        inner = (_change(key.replace("_", " "), base.get(key), variant.get(key)) for key in sorted({*base, *variant}))
        # The settings of a group mostly bear its name already: `threads 8 → 4`, `threads batch 8 → 4`.
        return f"{', '.join(inner)}{meant}"
    return f"{_change(name, base, variant)}{meant}"


def _change(name: str, base: Any, variant: Any) -> str:
    before, after = _value(base), _value(variant)
    if before == after:
        before, after = str(base), str(variant)
    return f"{name} {before} → {after}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return PurePath(value).name if "/" in value else value[:_SHOWN]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
