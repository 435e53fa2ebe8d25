"""The findings of a run in plain sentences: what it says, and what it does not answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.comparison import Call, Comparison
from loadgen.analysis.intervals import MIN_ROUNDS

_WHOLE_FROM = 100
"""From here on three digits leave none behind the point."""


def verdict(
    *,
    baseline: str,
    variants: Sequence[str],
    comparisons: Sequence[Comparison],
    crossovers: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    memory: Sequence[Mapping[str, Any]],
    random_weights: bool,
) -> dict[str, Any]:
    """`says` and `does_not_answer`, two lists of sentences, and both as one `text`.

    `agents` and `keep` are null: no operating concurrency was asked for.
    """
    says = [_settled(c) for c in comparisons if c.call is not Call.UNRESOLVED]
    says += [text for entry in crossovers if (text := _crossover(entry, baseline, comparisons)) is not None]
    open_questions = [_unresolved(c, len(_tested(comparisons))) for c in comparisons if c.call is Call.UNRESOLVED]
    if len(variants) == 1:
        says += _alone(variants[0], cells)
        open_questions.append(f"Whether another configuration is faster: one server, {variants[0]}, is one variant.")
    says += _not_counted(cells)
    open_questions += _never_answered(cells, memory, random_weights=random_weights)
    return {
        "agents": None,
        "keep": None,
        "says": says,
        "does_not_answer": open_questions,
        "text": " ".join(says + open_questions),
    }


def factor(x: float) -> str:
    """A ratio with 2 decimals, more where it would otherwise read 1 (to 4): text must not hide a side of 1."""
    for digits in (2, 3, 4):
        text = f"{x:.{digits}f}"
        if float(text) != 1 or x == 1:
            return text
    return "just above 1" if x > 1 else "just below 1"


def agents(level: float) -> str:
    """`1 agent`, `4 agents`, `5.7 agents`."""
    return "1 agent" if level == 1 else f"{level:.3g} agents"


def count(x: float) -> str:
    """A rate with three digits and no exponent: `0.123`, `12.3`, `1,230`."""
    return f"{x:,.0f}" if abs(x) >= _WHOLE_FROM else f"{x:.3g}"


def _tested(comparisons: Sequence[Comparison]) -> list[Comparison]:
    return [c for c in comparisons if c.p_value is not None]


def _range(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{factor(low)} to {factor(high)}"


def _settled(c: Comparison) -> str:
    value = factor(c.speedup.value) if c.speedup.value is not None else "n/a"
    where = f"{c.variant} at {agents(c.level)}: {value} times the tasks per hour of {c.baseline}"
    if c.call is Call.SAME:
        side = ""
        if c.speedup.low is not None and c.speedup.low > 1:
            side = ", above 1, but by less than you asked for"
        elif c.speedup.high is not None and c.speedup.high < 1:
            side = ", below 1, but by less than you asked for"
        interval = _range(c.same_low, c.same_high)
        return f"{where} (90 % interval {interval}), the same within {c.min_effect:.0%}{side}."
    interval = _range(c.speedup.low, c.speedup.high)
    return f"{where} (95 % interval {interval}, {c.speedup.n} rounds): it {c.call.value}."


def _unresolved(c: Comparison, family: int) -> str:
    where = f"Whether {c.variant} pays at {agents(c.level)}"
    if c.speedup.low is None or c.speedup.high is None:
        return f"{where}: it takes {MIN_ROUNDS} rounds with a valid trial on both sides; there are {c.speedup.n}."
    interval = f"95 % interval {_range(c.speedup.low, c.speedup.high)}"
    if c.speedup.low > 1 or c.speedup.high < 1:
        # The pointwise interval would contradict the call, which weighs all comparisons at once.
        interval = f"interval {_range(c.sim_low, c.sim_high)} with all {family} comparisons at 95 % together"
    count = "more than 999" if c.more_rounds is None else f"about {c.more_rounds}"
    more = f"{count} more round{'' if c.more_rounds == 1 else 's'}"
    value = factor(c.speedup.value) if c.speedup.value is not None else "n/a"
    return f"{where}: {value} times {c.baseline} ({interval}) is unresolved; {more} would settle it."


def _crossover(entry: Mapping[str, Any], baseline: str, comparisons: Sequence[Comparison]) -> str | None:
    """Only where a settled call on each side (or on the one side that it names) bears it out."""
    calls = {c.call for c in comparisons if c.variant == entry["variant"]}
    value, kind = entry["concurrency"]["value"], entry["kind"]
    if kind == "at" and calls & {Call.PAYS, Call.COSTS}:
        verb = "starts" if entry["rises"] else "stops"
        return f"{entry['variant']} {verb} paying near {agents(value)} ({_crossover_range(entry)})."
    if kind == "none_up_to" and calls == {Call.PAYS}:
        return f"{entry['variant']} shows no crossover up to {agents(value)}."
    if kind == "below" and calls == {Call.COSTS}:
        return f"{entry['variant']} is behind {baseline} from {agents(value)} on."
    return None


def _crossover_range(entry: Mapping[str, Any]) -> str:
    low, high = entry["concurrency"]["low"], entry["concurrency"]["high"]
    if low is not None and high is not None:
        return f"95 % interval {low:.3g} to {high:.3g}"
    if low is not None:
        return f"95 % interval from {low:.3g} on, open above"
    if high is not None:
        return f"95 % interval up to {high:.3g}, open below"
    return "the interval is open on both sides" if entry["open_low"] else "without an interval"


def _alone(variant: str, cells: Sequence[Mapping[str, Any]]) -> list[str]:
    out = []
    for entry in cells:
        rate = entry["tasks_per_hour"]
        if rate["value"] is None:
            continue
        interval = ""
        if rate["low"] is not None:
            interval = f" (95 % interval {count(rate['low'])} to {count(rate['high'])})"
        out.append(f"{variant} at {agents(entry['concurrency'])}: {count(rate['value'])} tasks per hour{interval}.")
    return [*out, "There is one variant, so nothing was compared."]


def _not_counted(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    total = sum(entry["trials"] for entry in cells)
    valid = sum(entry["valid_trials"] for entry in cells)
    if total == 0:
        return ["No trial was measured."]
    return [] if valid == total else [f"{total - valid} of {total} trials do not count; the reasons are listed."]


def _never_answered(
    cells: Sequence[Mapping[str, Any]], memory: Sequence[Mapping[str, Any]], *, random_weights: bool
) -> list[str]:
    out = []
    if cells:
        out.append(f"More than {agents(max(entry['concurrency'] for entry in cells))}: nothing was extrapolated.")
    out.append("Whether the answers are as good: their quality was not measured.")
    if any(entry["safety"] == "unknown" for entry in memory):
        out.append("Whether memory suffices: no budget was given to hold it against.")
    if random_weights:
        out.append("How a real model does: these weights are random and acceptance was set.")
    return out
