"""Fixed depths in the summary: entries that are of one of them say so, and can be had depth by depth."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ASKED = "depth_asked"
"""The key: tokens. In a run without fixed depths only cells and comparisons have it, as null."""
_LISTS = (
    *("cells", "comparisons", "crossovers", "noise", "latency_comparisons", "goodput", "steps", "break_even"),
    *("scaling", "equal_memory", "why"),
)
"""The lists of a summary whose entries are of one depth."""


def asked(depth: int | None) -> dict[str, int]:
    """What marks an entry as of a fixed depth: nothing in a run without them."""
    return {} if depth is None else {ASKED: depth}


def marked(entries: Iterable[Mapping[str, Any]], depth: int | None) -> list[dict[str, Any]]:
    """Entries that are all of one depth, marked so."""
    return [{**entry, **asked(depth)} for entry in entries]


def of_depth(entries: Iterable[Mapping[str, Any]], depth: int | None) -> list[Mapping[str, Any]]:
    """The entries that are of one depth (null: of none)."""
    return [entry for entry in entries if entry.get(ASKED) == depth]


def depths_in(summary: Mapping[str, Any]) -> list[int | None]:
    """The fixed depths of a run in the order of its summary; null alone where it has none."""
    return list(dict.fromkeys(cell.get(ASKED) for cell in summary["cells"])) or [None]


def summary_at(summary: Mapping[str, Any], depth: int | None) -> dict[str, Any]:
    """A summary with what is of one depth, and what is of the whole run."""
    lists = {name: of_depth(summary[name], depth) for name in _LISTS if name in summary}
    points: Sequence[Mapping[str, Any]] = summary.get("operating_points") or []
    if not points:
        return {**summary, **lists}
    return {**summary, **lists, "operating_point": next(iter(of_depth(points, depth)), None)}


def deep(depth: int | None) -> str:
    """A fixed depth as text behind the place of a cell: `, 16,384 tokens deep`."""
    return "" if depth is None else f", {depth:,} tokens deep"
