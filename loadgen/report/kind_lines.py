"""Acceptance by what turns ask for."""

from collections.abc import Collection
from typing import Any

from loadgen.report.numbers import agents, of, share


def kinds_text(summary: dict[str, Any], *, void: Collection[str] = ()) -> str | None:
    """The share of drafted tokens that was accepted in each kind of turn, by variant and concurrency; null without any.

    Such as `ngram: edit 81.0 % of 420, prose 12.5 % of 96 (1 agent); edit 79.0 % of 800 (2 agents)`. Nothing of `void`
    variants, whose answers are wrong.
    """
    by_variant: dict[str, list[str]] = {}
    for entry in summary["why"]:
        kinds = entry["acceptance"]["by_turn_kind"] if entry["acceptance"] else []
        told = ", ".join(_kind(kind) for kind in kinds if kind["drafted"])
        if told and entry["variant"] not in void:
            by_variant.setdefault(entry["variant"], []).append(f"{told} ({agents(entry['concurrency'])})")
    return "; ".join(f"{name}: {'; '.join(cells)}" for name, cells in by_variant.items()) or None


def _kind(kind: dict[str, Any]) -> str:
    return f"{kind['turn_kind']} {share(of(kind['rate']))} of {kind['drafted']:,}"
