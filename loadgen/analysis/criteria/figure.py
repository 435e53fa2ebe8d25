"""One figure of a summary with its interval, as a threshold's metric names it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.criteria.threshold import Metric, Source
from loadgen.analysis.estimators.proportion import wilson
from loadgen.records.model import Outcome

_UNFAILED = (Outcome.OK.value, Outcome.CANCELLED.value)


@dataclass(frozen=True)
class Figure:
    """A value with its 95 % interval, null where there is none; `n` observations in `rounds` valid trials.

    `seen`: the value is the largest (or smallest) that was seen and no estimate, so that it needs no interval.
    `reason` says why there is no value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    rounds: int = 0
    seen: bool = False
    reason: str | None = None


def figure(summary: Mapping[str, Any], metric: Metric, variant: str, level: int | None) -> Figure:
    """The figure of a variant at a level (null for what is of the whole run).

    Intervals are the summary's own: t on the rounds for ratios, the jackknife over rounds for rates, for quantiles the
    one-sided 95 % order-statistic bounds. A share of failures has Wilson's score interval. The maximum of a latency and
    what was seen of memory are what they are.
    """
    if metric.source is Source.MEMORY:
        return _memory(summary, metric, variant)
    if variant in void(summary, against=metric.source is Source.RATIO):
        return Figure(None, reason=f"the output check failed, so nothing is said of {variant}")
    if metric.source is Source.RATIO:
        return _ratio(summary, metric, variant, level)
    cell = _one(summary["cells"], variant, level)
    if cell is None or not cell["started"]:
        return Figure(None, reason=f"nothing was measured of {variant} at {level}")
    return _failures(cell) if metric.source is Source.FAILURES else _of_cell(cell, metric, f"{variant} at {level}")


def void(summary: Mapping[str, Any], *, against: bool) -> set[str]:
    """The variants of whose speed nothing may be said, `against`: in comparison with the baseline."""
    failed = {entry["variant"] for entry in summary["output_check"] if entry["result"] == "failed"}
    if against and summary["run"]["baseline"] in failed:
        return {cell["variant"] for cell in summary["cells"]} | failed
    return failed


def _estimated(found: Mapping[str, Any], *, rounds: int, seen: bool = False, inverse: bool = False) -> Figure:
    """An estimate as a figure; `inverse`: 1 ÷ the estimate."""
    value, low, high = found["value"], found["low"], found["high"]
    if inverse:
        value, low, high = (1 / x if x else None for x in (value, high, low))
    return Figure(value, low, high, n=found["n"], rounds=rounds, seen=seen)


def _ratio(summary: Mapping[str, Any], metric: Metric, variant: str, level: int | None) -> Figure:
    """A ratio to the baseline, from whichever list of the summary has it."""
    compared = [one for one in summary["comparisons"] if one["metric"] == metric.key]
    described = [one for one in summary["latency_comparisons"] if one["metric"] == metric.key]
    baseline = summary["run"]["baseline"]
    entry = _one(compared, variant, level) or _one(described, variant, level)
    refused = "; ".join(one["text"] for one in (entry or {}).get("not_comparable", ()))
    if refused:
        return Figure(None, reason=f"{variant} and {baseline} are not comparable at {level}: {refused}")
    found = None if entry is None else entry.get("speedup") or entry.get("ratio")
    if found is None or found["value"] is None:
        return Figure(None, reason=f"no round has a valid trial of {variant} and of {baseline} at {level}")
    return _estimated(found, rounds=found["n"], inverse=metric.inverse)


def _of_cell(cell: Mapping[str, Any], metric: Metric, where: str) -> Figure:
    if not cell["valid_trials"]:
        return Figure(None, reason=f"no trial of {where} is valid")
    found = cell[metric.key][metric.quantile] if metric.quantile is not None else cell[metric.key]
    if found["value"] is None:
        return Figure(None, reason=f"{metric.name} was not measured of {where}")
    return _estimated(found, rounds=cell["valid_trials"], seen=metric.quantile == "max")


def _failures(cell: Mapping[str, Any]) -> Figure:
    """Failed ÷ started, over all trials of the cell."""
    started = cell["started"]
    failed = sum(count for outcome, count in cell["outcomes"].items() if outcome not in _UNFAILED)
    low, high = wilson(failed, started)
    return Figure(failed / started, low, high, n=started, rounds=cell["trials"])


def _memory(summary: Mapping[str, Any], metric: Metric, variant: str) -> Figure:
    entry = next((one for one in summary["memory"] if one["variant"] == variant), None)
    if entry is None or entry[metric.key] is None:
        why = entry["safety_reason"] if entry is not None else None
        return Figure(None, reason=why or "no memory was seen")
    return Figure(float(entry[metric.key]), n=1, seen=True)


def _one(entries: Iterable[Mapping[str, Any]], variant: str, level: int | None) -> Mapping[str, Any] | None:
    return next((one for one in entries if (one["variant"], one["concurrency"]) == (variant, level)), None)
