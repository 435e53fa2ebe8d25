"""Comparisons and crossovers as sentences: they never disagree with the calls."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Call, Comparison
from loadgen.analysis.estimators.intervals import MIN_ROUNDS
from loadgen.analysis.wording import agents, change, factor, interval

_SET = "at the acceptance that was set"


def settled(c: Comparison, diagnostic: Diagnostic | None = None) -> str:
    """A comparison that is called."""
    value = factor(c.speedup.value) if c.speedup.value is not None else "n/a"
    where = f"{c.variant} at {agents(c.level)}{deep(c.depth)}: {value} times the tasks per hour of {c.baseline}"
    note = f" {_SET} (diagnostic)" if diagnostic is Diagnostic.SYNTHETIC else ""
    if c.call is Call.SAME:
        level = _percent(c.strictness.same_confidence)
        bounds = interval(c.same_low, c.same_high)
        return f"{where} ({level} interval {bounds}), the same within {c.min_effect:.0%}{_side(c)}{note}."
    bounds = interval(c.speedup.low, c.speedup.high)
    call = "" if c.call is None else c.call.value
    return f"{where} (95 % interval {bounds}, {c.speedup.n} rounds): it {call}{note}."


def _side(c: Comparison) -> str:
    """On which side of 1 what is the same surely lies: where the interval shown and the 95 % one both say so."""
    lows, highs = (c.speedup.low, c.same_low), (c.speedup.high, c.same_high)
    if all(low is not None and low > 1 for low in lows):
        return ", above 1, but by less than you asked for"
    if all(high is not None and high < 1 for high in highs):
        return ", below 1, but by less than you asked for"
    return ""


def unresolved(c: Comparison, family: int, diagnostic: Diagnostic | None = None) -> str:
    """A comparison without a call, and what would settle it; `family`: how many comparisons have an interval."""
    note = f" {_SET}" if diagnostic is Diagnostic.SYNTHETIC else ""
    where = f"Whether {c.variant} pays at {agents(c.level)}{deep(c.depth)}{note}"
    if c.speedup.low is None or c.speedup.high is None:
        return f"{where}: it takes {MIN_ROUNDS} rounds with a valid trial on both sides; there are {c.speedup.n}."
    bounds = f"95 % interval {interval(c.speedup.low, c.speedup.high)}"
    if c.speedup.low > 1 or c.speedup.high < 1:
        # The pointwise interval would contradict the call, which weighs all comparisons at once.
        level = _percent(1 - c.strictness.alpha)
        bounds = f"interval {interval(c.sim_low, c.sim_high)} with all {family} comparisons at {level} together"
        if family == 1:
            bounds = f"{level} interval {interval(c.sim_low, c.sim_high)}"
    value = factor(c.speedup.value) if c.speedup.value is not None else "n/a"
    count = "more than 999" if c.more_rounds is None else f"about {c.more_rounds}"
    next_ = f"{count} more round{'' if c.more_rounds == 1 else 's'} would settle it"
    if c.closed_after is not None:
        next_ = f"it was measured no further after round {c.closed_after}"
    return f"{where}: {value} times {c.baseline} ({bounds}) is unresolved; {next_}."


def refused(c: Comparison) -> str:
    """A comparison that can't be made, and why."""
    why = "; ".join(one.text for one in c.refusals)
    return f"Whether {c.variant} pays at {agents(c.level)}{deep(c.depth)}: not comparable with {c.baseline}: {why}."


def overhead(c: Comparison) -> str:
    """What speculation costs where nothing is drafted: measured, not called."""
    where = f"Overhead of speculation loaded but idle at {agents(c.level)}{deep(c.depth)} ({c.variant}, diagnostic)"
    if c.speedup.value is None:
        return f"{where}: n/a, no round has a valid trial on both sides."
    if c.speedup.low is None or c.speedup.high is None:
        rounds = f"{c.speedup.n} round{'' if c.speedup.n == 1 else 's'}"
        return f"{where}: {change(c.speedup.value)} tasks per hour ({rounds}, without an interval)."
    bounds = f"95 % interval {change(c.speedup.low)} to {change(c.speedup.high)}, {c.speedup.n} rounds"
    return f"{where}: {change(c.speedup.value)} tasks per hour ({bounds})."


def crossing(
    entry: Mapping[str, Any],
    baseline: str,
    comparisons: Sequence[Comparison],
    diagnostic: Diagnostic | None = None,
) -> str | None:
    """A crossover, only where a settled call on each side (or on the one side that it names) bears it out."""
    depth = entry.get(ASKED)
    here = [c for c in comparisons if (c.variant, c.depth) == (entry["variant"], depth)]
    own = sorted((c for c in here if not c.refusals), key=lambda c: c.level)
    calls = {c.call for c in own}
    value, kind = entry["concurrency"]["value"], entry["kind"]
    note = f"{deep(depth)}{f' {_SET}' if diagnostic is Diagnostic.SYNTHETIC else ''}"
    if kind == "at" and calls & {Call.PAYS, Call.COSTS}:
        verb = "starts" if entry["rises"] else "stops"
        return f"{entry['variant']} {verb} paying near {agents(value)} ({_bounds(entry)}){note}."
    if kind == "none_up_to" and calls == {Call.PAYS}:
        return f"{entry['variant']} shows no crossover up to {agents(value)}{note}."
    if kind == "below" and calls == {Call.COSTS}:
        return f"{entry['variant']} is behind {baseline} from {agents(value)} on{note}."
    if kind == "step" and calls & {Call.PAYS, Call.COSTS}:
        return f"{_step(entry, baseline)}{note}."
    if kind == "several" and _turns(own) > 1:
        near = " and ".join(f"{crossed:.3g}" for crossed in entry["crossings"])
        return f"{entry['variant']} crosses 1 more than once, near {near} agents{note}."
    return None


def _step(entry: Mapping[str, Any], baseline: str) -> str:
    step, verb = entry["step"], "rises" if entry["rises"] else "drops"
    return (
        f"{entry['variant']} {verb} in a step between {step['from']} and {agents(step['to'])}, from "
        f"{factor(step['before'])} to {factor(step['after'])} times the tasks per hour of {baseline}"
    )


def _turns(own: Sequence[Comparison]) -> int:
    """How often calls change between `pays` and `costs` from level to level."""
    settled_calls = [c.call for c in own if c.call in (Call.PAYS, Call.COSTS)]
    return sum(a is not b for a, b in pairwise(settled_calls))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _bounds(entry: Mapping[str, Any]) -> str:
    low, high = entry["concurrency"]["low"], entry["concurrency"]["high"]
    if low is not None and high is not None:
        return f"95 % interval {low:.3g} to {high:.3g}"
    if low is not None:
        return f"95 % interval from {low:.3g} on, open above"
    if high is not None:
        return f"95 % interval up to {high:.3g}, open below"
    return "the interval is open on both sides" if entry["open_low"] else "without an interval"
