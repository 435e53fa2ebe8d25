"""Did it get worse? Criteria on a run: each passes, fails, or can't be told, by its interval and never by its value."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from statistics import fmean, stdev
from typing import Any

from loadgen.analysis.at_depth import ASKED, depths_in, summary_at
from loadgen.analysis.criteria.figure import Figure, figure, void
from loadgen.analysis.criteria.threshold import METRICS, Op, Source, Threshold, Unit
from loadgen.analysis.estimators.intervals import CONFIDENCE, MIN_ROUNDS, exp_capped, t_quantile
from loadgen.cell_key import CellKey

AT_LEAST = 0.97
"""3 % is about what two builds of one source differ by on a quiet machine (code layout, clocks): less is no regression
that anyone could act on."""

_ALPHA = 1 - CONFIDENCE
_MAX_MORE_ROUNDS = 999
"""More rounds than that are no advice to anyone."""
_PERCENT = 100


class Result(StrEnum):
    """What is known of a criterion, or of a whole gate."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """Where a criterion comes from."""

    NON_INFERIORITY = "non_inferiority"
    THRESHOLD = "threshold"


@dataclass(frozen=True)
class Criterion:
    """One criterion at one concurrency (null for what is of a whole run).

    `low` and `high` are the ends that decide. Of non-inferiority, `low` is the one-sided 95 % bound of this level and
    `high` that of all levels together. `seen`: the value is a maximum that was seen and needs no interval. `reason`
    says why nothing can be told, where it isn't the interval; `more_rounds` would settle what is unknown, null where
    that is not known or more than 999. `depth_asked` is the fixed depth, in a run that has them.
    """

    criterion: str
    kind: Kind
    variant: str
    concurrency: int | None
    metric: str
    op: Op
    limit: float
    unit: Unit
    value: float | None
    low: float | None
    high: float | None
    n: int
    seen: bool
    result: Result
    reason: str | None
    more_rounds: int | None
    depth_asked: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The form of the summary; the depth only in a run with fixed depths."""
        return {name: value for name, value in asdict(self).items() if name != ASKED or value is not None}


def gate(
    summary: Mapping[str, Any],
    *,
    at_least: float | None,
    thresholds: Sequence[Threshold] = (),
    levels: Sequence[int] = (),
) -> dict[str, Any]:
    """The entry `gate` of a summary: `{"result", "at_least", "criteria": [...]}`.

    It fails where one criterion fails, else it is unknown where one is, else it passes. Criteria hold for every variant
    but the baseline, unless they name one.

    Args:
        summary: of a finished run.
        at_least: what the tasks per hour of each variant must be, as a share of the baseline's, at every concurrency;
            null: not asked.
        thresholds: what else must hold. Each is judged alone.
        levels: concurrencies that were to be measured: what was left out of them can't be told.
    """
    names = [entry["variant"] for entry in summary["cells"]]
    baseline = summary["run"]["baseline"]
    judged = [name for name in dict.fromkeys(names) if name != baseline] or list(dict.fromkeys(names))
    wanted = sorted({*levels, *(entry["concurrency"] for entry in summary["cells"])})
    criteria = [] if at_least is None else non_inferiority(summary, at_least, judged, wanted)
    for threshold in thresholds:
        variants = [threshold.variant] if threshold.variant is not None else judged
        places: Sequence[int | None] = [threshold.agents] if threshold.agents is not None else wanted
        if threshold.metric.source is Source.MEMORY:
            places = [None]
        depths = [None] if threshold.metric.source is Source.MEMORY else depths_in(summary)
        criteria += [
            replace(_judged(summary_at(summary, depth), threshold, variant, level), depth_asked=depth)
            for depth in depths
            for variant in variants
            for level in places
        ]
    return {
        "result": _overall([one.result for one in criteria]).value,
        "at_least": at_least,
        "criteria": [one.as_json() for one in criteria],
    }


def _overall(results: Sequence[Result]) -> Result:
    if Result.FAIL in results:
        return Result.FAIL
    return Result.UNKNOWN if Result.UNKNOWN in results or not results else Result.PASS


def non_inferiority(
    summary: Mapping[str, Any], at_least: float, variants: Sequence[str], levels: Sequence[int]
) -> list[Criterion]:
    """Whether variants do at least so much of the baseline's tasks per hour, level by level.

    From dᵣ = ln(X_variant / X_baseline) of the rounds. A level passes where the one-sided 95 % t bound of their mean
    lies at or above ln(at_least). The whole passes only where all levels do, which is an intersection-union test: each
    of its tests at 5 % keeps the chance of a wrong pass at 5 %, without a correction (Berger, Technometrics 24 (1982)
    295-300). One failing level fails the whole, so that is corrected: a level fails where the bound from above lies
    below ln(at_least) with 5 % divided by the number of levels that have an interval (Bonferroni; for "any of them",
    Holm's method decides alike).
    """
    compared = {
        CellKey(one["variant"], one["concurrency"], one.get(ASKED)): list(one["rounds"])
        for one in summary["comparisons"]
        if one["metric"] == "tasks_per_hour" and not one.get("not_comparable")
    }
    without = void(summary, against=True)
    depths = depths_in(summary)
    places = [CellKey(variant, level, depth) for depth in depths for variant in variants for level in levels]
    family = sum(len(compared.get(place, ())) >= MIN_ROUNDS and place.variant not in without for place in places)
    return [
        _held(place, [] if place.variant in without else compared.get(place, []), at_least, family, summary)
        for place in places
    ]


def _held(place: CellKey, logs: Sequence[float], at_least: float, family: int, summary: Mapping[str, Any]) -> Criterion:
    bound, reason = math.log(at_least), None
    low = high = None
    result, more = Result.UNKNOWN, None
    if len(logs) >= MIN_ROUNDS:
        under, over = _bounds(fmean(logs), stdev(logs), len(logs), family)
        low, high = exp_capped(under), exp_capped(over)
        if under >= bound:
            result = Result.PASS
        elif over < bound:
            result = Result.FAIL
        else:
            more = _more_pairs(logs, bound, family)
    else:
        plain = figure(summary_at(summary, place.depth), METRICS["speedup"], place.variant, place.level)
        reason = plain.reason or f"it takes {MIN_ROUNDS} rounds with a valid trial on both sides; there are {len(logs)}"
        more = MIN_ROUNDS - len(logs) if logs else None
    return Criterion(
        criterion=f"speedup>={at_least:g}", kind=Kind.NON_INFERIORITY, variant=place.variant, concurrency=place.level,
        metric="speedup", op=Op.AT_LEAST, limit=at_least, unit=Unit.RATIO,
        value=exp_capped(fmean(logs)) if logs else None, low=low, high=high, n=len(logs), seen=False, result=result,
        reason=reason, more_rounds=more, depth_asked=place.depth,
    )  # fmt: skip


def _bounds(mean: float, spread: float, n: int, family: int) -> tuple[float, float]:
    """The bounds of a mean from below (at 95 %) and from above (at 95 % for the family together)."""
    error = spread / math.sqrt(n)
    return mean - t_quantile(CONFIDENCE, n - 1) * error, mean + t_quantile(1 - _ALPHA / family, n - 1) * error


def _more_pairs(logs: Sequence[float], bound: float, family: int) -> int | None:
    """How many more rounds would pass or fail the level if mean and spread stay; null where that is more than 999."""
    mean, spread, n = fmean(logs), stdev(logs), len(logs)
    for rounds in range(n + 1, n + 1 + _MAX_MORE_ROUNDS):
        under, over = _bounds(mean, spread, rounds, family)
        if under >= bound or over < bound:
            return rounds - n
    return None


def _judged(summary: Mapping[str, Any], threshold: Threshold, variant: str, level: int | None) -> Criterion:
    """A threshold at one place: it passes where its whole interval keeps the limit, and fails where none of it does."""
    found = figure(summary, threshold.metric, variant, level)
    result, reason, more = _decided(found, threshold), found.reason, None
    if result is Result.UNKNOWN and reason is None:
        more = _more_rounds(found, threshold)
        if _end(found, threshold) is None:
            count = "1 observation is" if found.n == 1 else f"{found.n} observations are"
            reason = f"{count} too few for this end of an interval"
    return Criterion(
        criterion=threshold.text, kind=Kind.THRESHOLD, variant=variant, concurrency=level,
        metric=threshold.metric.name, op=threshold.op, limit=threshold.limit, unit=threshold.metric.unit,
        value=found.value, low=found.low, high=found.high, n=found.n, seen=found.seen, result=result, reason=reason,
        more_rounds=more,
    )  # fmt: skip


def _decided(found: Figure, threshold: Threshold) -> Result:
    op, limit = threshold.op, threshold.limit
    if found.value is None:
        return Result.UNKNOWN
    if found.seen:
        return Result.PASS if op.holds(found.value, limit) else Result.FAIL
    worst, best = (found.low, found.high) if op.is_floor else (found.high, found.low)
    if worst is not None and op.holds(worst, limit):
        return Result.PASS
    return Result.FAIL if best is not None and not op.holds(best, limit) else Result.UNKNOWN


def _end(found: Figure, threshold: Threshold) -> float | None:
    """The end of the interval on the side of the limit."""
    if found.value is None:
        return None
    return found.low if found.value > threshold.limit else found.high


def _more_rounds(found: Figure, threshold: Threshold) -> int | None:
    """About how many more rounds would settle a threshold if the value stays; null where that is not known.

    The interval shrinks with the root of the observations, of ratios and rates also as Student's t does.
    """
    end, value, limit, rounds = _end(found, threshold), found.value, threshold.limit, found.rounds
    if value is None or not rounds:
        return None
    if end is None:
        return _to_an_end(threshold.metric.quantile, found, upper=value <= limit)
    distance, half = _apart(value, limit, end)
    by_t = threshold.metric.source in (Source.RATIO, Source.CELL) and rounds >= MIN_ROUNDS
    width = _t_width if by_t else _root_width
    for more in range(1, _MAX_MORE_ROUNDS + 1):
        if half * width(rounds + more) < distance * width(rounds):
            return more
    return None


def _to_an_end(quantile: str | None, found: Figure, *, upper: bool) -> int | None:
    """Rounds missing to the bound of a quantile, or of anything to the fewest that have an interval.

    The largest of n values is an upper 95 % bound of the q quantile where qⁿ ≤ 5 %, the smallest a lower one where
    (1 − q)ⁿ ≤ 5 % (David & Nagaraja, Order Statistics, section 7.1).
    """
    if quantile is None:
        return max(MIN_ROUNDS - found.rounds, 1)
    share = int(quantile.removeprefix("p")) / _PERCENT
    needed = math.ceil(math.log(_ALPHA) / math.log(share if upper else 1 - share))
    more = math.ceil(needed * found.rounds / found.n) - found.rounds
    return max(more, 1) if more <= _MAX_MORE_ROUNDS else None


def _apart(value: float, limit: float, end: float) -> tuple[float, float]:
    """How far the limit and an end of the interval lie from the value: as logarithms where all are above 0."""
    if min(value, limit, end) > 0:
        return abs(math.log(limit / value)), abs(math.log(end / value))
    return abs(limit - value), abs(end - value)


def _t_width(rounds: int) -> float:
    return t_quantile((1 + CONFIDENCE) / 2, rounds - 1) / math.sqrt(rounds)


def _root_width(rounds: int) -> float:
    return 1 / math.sqrt(rounds)
