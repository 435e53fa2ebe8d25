"""Whose answers went back into prompts, by variant: how many were as recorded, and what caches held of them."""

from collections.abc import Mapping, Sequence
from typing import Any

_COUNTS = ("answers_equal", "answers_compared", "answers_kept", "answers_known")


def history(why: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The entries `history` of a summary: `cache` of the entries `why`, summed over a variant's concurrencies.

    `equal_share` is of the answers that were compared with a recording, `kept_share` of those that went back with live
    history, null where there is none. `cached_tokens_per_turn` and `expected_tokens_per_turn` are means over the turns
    that follow another, `cached_share` is their ratio; null where nothing was expected. `flagged` are turns that found
    less than 90 %, `lost_s` the seconds that they took, null where a cell doesn't tell.
    """
    by_variant: dict[str, list[Mapping[str, Any]]] = {}
    for entry in why:
        if entry["cache"] is not None:
            by_variant.setdefault(entry["variant"], []).append(entry["cache"])
    return [{"variant": variant, **_together(cells)} for variant, cells in by_variant.items()]


def _together(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    equal, compared, kept, known = (_sum(cells, name) for name in _COUNTS)
    turns, expected, cached = (_sum(cells, name) for name in ("turns", "expected_tokens", "cached_tokens"))
    took = [cell["flagged"]["seconds"] for cell in cells]
    return {
        "answers_compared": compared,
        "equal_share": equal / compared if compared else None,
        "answers_known": known,
        "kept_share": kept / known if known else None,
        "turns": turns,
        "expected_tokens_per_turn": expected / turns if expected else None,
        "cached_tokens_per_turn": cached / turns if expected else None,
        "cached_share": cached / expected if expected else None,
        "flagged": sum(cell["flagged"]["turns"] for cell in cells),
        "lost_s": None if None in took else sum(took),
    }


def _sum(cells: Sequence[Mapping[str, Any]], name: str) -> int:
    """Over the cells that tell: one in which nothing was compared adds nothing."""
    return sum(cell[name] for cell in cells if cell[name] is not None)
