"""Levels that nobody asked for: which, and why they were measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.records.manifest import Plan


def added_levels(plan: Plan | None) -> list[dict[str, Any]]:
    """What a plan added, in the form of `summary.json`: `width`, tokens `drafted` at once, and `levels`."""
    if plan is None:
        return []
    return [{"width": one.width, "drafted": one.drafted, "levels": list(one.levels)} for one in plan.added_levels]


def added_text(entry: Mapping[str, Any]) -> str:
    """One entry in words: `added: 3 and 4 agents, on both sides of the width 16 at which kernels switch (…)`."""
    levels: Sequence[int] = entry["levels"]
    named = f"{' and '.join(map(str, levels))} agent{'' if list(levels) == [1] else 's'}"
    where = "on both sides of" if len(levels) > 1 else "next to"
    return f"added: {named}, {where} the width {entry['width']} at which kernels switch ({entry['drafted']} drafted)"
