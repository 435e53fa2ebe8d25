"""Whose answers went back into prompts, how many were as the recorded ones, and what caches held of it."""

from typing import Any

from loadgen.report.numbers import seconds, share


def history_text(summary: dict[str, Any]) -> str | None:
    """The mode, and by variant over all concurrencies: answers, cached tokens a turn, flagged turns; null without any.

    Such as `frozen; off: 97.0 % of 64 answers equal the recording, 990 of 1,000 tokens a turn found in the cache (99.0
    %), less than 90 % in 2 of 60 turns, 1.20 s lost`. Of live history, where nothing can be equal to, it is told how
    many answers went back whole.
    """
    if not summary["history"]:
        return None
    mode = summary["setup"]["workload"]["history"]
    return "; ".join([mode, *(f"{entry['variant']}: {_variant(entry)}" for entry in summary["history"])])


def _variant(entry: dict[str, Any]) -> str:
    return ", ".join(part for part in (_answers(entry), _cached(entry)) if part is not None)


def _answers(entry: dict[str, Any]) -> str | None:
    if entry["equal_share"] is not None:
        return f"{share(entry['equal_share'])} of {entry['answers_compared']} answers equal the recording"
    if entry["kept_share"] is not None:
        return f"{share(entry['kept_share'])} of {entry['answers_known']} answers went back whole"
    return None


def _cached(entry: dict[str, Any]) -> str | None:
    if entry["cached_share"] is None:
        return None
    found, expected = entry["cached_tokens_per_turn"], entry["expected_tokens_per_turn"]
    text = f"{found:,.0f} of {expected:,.0f} tokens a turn found in the cache ({share(entry['cached_share'])})"
    if not entry["flagged"]:
        return text
    lost = "" if entry["lost_s"] is None else f", {seconds(entry['lost_s'])} lost"
    return f"{text}, less than 90 % in {entry['flagged']} of {entry['turns']} turns{lost}"
