"""What a variant's memory did while it was watched: peak, margin, growth, and what nobody explains."""

from collections.abc import Sequence
from typing import Any

from loadgen.report.numbers import mebibytes, seconds


def use_lines(entry: dict[str, Any]) -> list[str]:
    """One line on the use, one on the growth; nothing where no memory was seen."""
    if entry["peak_bytes"] is None:
        return []
    return [f"{entry['variant']}: {text}" for text in (_use(entry), _growth(entry)) if text is not None]


def host_text(ledger: Sequence[dict[str, Any]]) -> str | None:
    """Prompt cache and checkpoints at their peak, with what bounds them; null where no log tells."""
    parts = []
    for line in ledger:
        if line["component"] == "prompt_cache":
            limit = f" of {mebibytes(line['limit_bytes'])}" if line["limit_bytes"] is not None else ""
            parts.append(f"the prompt cache held {mebibytes(line['bytes'])}{limit}")
        elif line["component"] == "checkpoints":
            each = f" of {mebibytes(line['each_bytes'])}" if line["each_bytes"] is not None else ""
            taken = f" ({line['taken']} taken{each} at most)" if line["taken"] is not None else ""
            parts.append(f"context checkpoints {mebibytes(line['bytes'])}{taken}")
    return ", ".join(parts) or None


def _use(entry: dict[str, Any]) -> str:
    parts = [f"at most {mebibytes(entry['peak_bytes'])} by {entry['source']}, {mebibytes(entry['p95_bytes'])} at p95"]
    if entry["before_bytes"] is not None:
        before = f"{mebibytes(entry['before_bytes'])} before its load, {_signed(entry['delta_bytes'])} since"
        parts.append(before)
    if entry["unexplained_bytes"] is not None:
        ledger = "prediction" if entry["ledger_source"] == "predicted" else "ledger"
        parts.append(f"{_signed(entry['unexplained_bytes'])} beyond the {ledger}")
    if entry["foreign_growth_bytes"]:
        parts.append(f"other processes grew by {mebibytes(entry['foreign_growth_bytes'])} meanwhile")
    parts += [
        f"llama.cpp itself found {mebibytes(one['bytes'])} on {one['device']} used by the driver and others at its end"
        for one in entry["unaccounted"]
    ]
    parts += [
        f"{one['device']} at most {mebibytes(one['peak_bytes'])}{_of(one['total_bytes'])}"
        for one in entry["devices"]
        if len(entry["devices"]) > 1
    ]
    return "; ".join([*parts, _margin(entry)])


def _of(total: int | None) -> str:
    return "" if total is None else f" of {mebibytes(total)}"


def _margin(entry: dict[str, Any]) -> str:
    if entry["margin_bytes"] is None:
        return f"{entry['safety']}: {entry['safety_reason']}"
    left = f"{_signed(entry['margin_bytes'], plus='')} of {mebibytes(entry['budget_bytes'])} left"
    reason = f" ({entry['safety_reason']})" if entry["safety_reason"] is not None else ""
    return f"{left}, {mebibytes(entry['margin_asked_bytes'])} asked for: {entry['safety']}{reason}"


def _growth(entry: dict[str, Any]) -> str | None:
    """Nothing where growth can't be told: a rate an hour taken from seconds would frighten, and says nothing."""
    if entry["leak"] is None:
        return None
    rate = entry["growth_bytes_per_hour"]
    less = f" less {entry['growth_less']}" if entry["growth_less"] is not None else ""
    bounds = f"95 % interval {_signed(rate['low'])} to {_signed(rate['high'])}"
    judged = "it leaks" if entry["leak"] else "steady"
    watched = seconds(entry["watched_s"])
    return f"{_signed(rate['value'])} an hour{less} over {watched} of one server ({bounds}): {judged}"


def _signed(size: float, plus: str = "+") -> str:
    return f"{plus if size >= 0 else '−'}{mebibytes(abs(size))}"
