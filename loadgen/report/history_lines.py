"""Whose answers went back into prompts, how many were as the recorded ones, and what caches held of it."""

from typing import Any

from loadgen.report.numbers import seconds, share


def history_text(summary: dict[str, Any]) -> str | None:
    """The mode, and by variant over all concurrencies: answers, cached tokens a turn, flagged turns; null without any.

    Such as `frozen; off: 97.0 % of 64 answers equal the recording, 990 of 1,000 tokens a turn found in the cache (99.0
    %), less than 90 % in 2 of 60 turns, 1.20 s lost`. Of live history, where nothing can be equal to, it is told how
    many answers went back whole.
    """
    by_variant: dict[str, list[dict[str, Any]]] = {}
    for entry in summary["why"]:
        if entry["cache"] is not None:
            by_variant.setdefault(entry["variant"], []).append(entry["cache"])
    if not by_variant:
        return None
    mode = summary["setup"]["workload"]["history"]
    return "; ".join([mode, *(f"{name}: {_variant(cells)}" for name, cells in by_variant.items())])


def _variant(cells: list[dict[str, Any]]) -> str:
    return ", ".join(part for part in (_answers(cells), _cached(cells)) if part is not None)


def _answers(cells: list[dict[str, Any]]) -> str | None:
    equal, compared = _sum(cells, "answers_equal"), _sum(cells, "answers_compared")
    if compared:
        return f"{share(equal / compared)} of {compared} answers equal the recording"
    kept, known = _sum(cells, "answers_kept"), _sum(cells, "answers_known")
    return f"{share(kept / known)} of {known} answers went back whole" if known else None


def _cached(cells: list[dict[str, Any]]) -> str | None:
    turns, expected, found = _sum(cells, "turns"), _sum(cells, "expected_tokens"), _sum(cells, "cached_tokens")
    if not expected:
        return None
    text = f"{found / turns:,.0f} of {expected / turns:,.0f} tokens a turn found in the cache"
    text = f"{text} ({share(found / expected)})"
    flagged = [cell["flagged"] for cell in cells]
    count, took = _sum(flagged, "turns"), [one["seconds"] for one in flagged]
    lost = "" if None in took else f", {seconds(sum(took))} lost"
    return f"{text}, less than 90 % in {count} of {turns} turns{lost}" if count else text


def _sum(parts: list[dict[str, Any]], name: str) -> int:
    return sum(part[name] or 0 for part in parts)
