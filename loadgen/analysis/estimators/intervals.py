"""Estimates with their uncertainty: quantiles, ratios over rounds, paired differences.

Rounds are the unit of repetition: requests of one trial share a server and a load, so only rounds are independent.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev
from typing import Any

MIN_ROUNDS = 3
"""With 2 rounds t is 12.7 at 1 degree of freedom: such an interval says nothing."""
CONFIDENCE = 0.95
ALPHA = 0.05
"""Chance of a false call that a run is allowed, over all its comparisons together."""
PERCENTS = (50, 90, 95, 99)
_SMALLEST = 1e-9
"""A denominator below a nanosecond, or a billionth of anything counted, is a rounding error and none."""
_MAX_MORE_ROUNDS = 999
"""More rounds than that are no advice to anyone."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval and the number of observations behind it. None: not measured, or no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    estimable: bool = True

    def as_json(self) -> dict[str, Any]:
        """The form of `summary.json`; `estimable` appears only where it is false."""
        out: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high, "n": self.n}
        return out if self.estimable else {**out, "estimable": False}


def exp_capped(logarithm: float) -> float:
    """The exponential, capped at e^±300, because JSON has no infinity and no such ratio means anything."""
    return math.exp(max(-300.0, min(300.0, logarithm)))


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t distribution."""
    from scipy.special import stdtrit  # noqa: PLC0415 - the command line starts without scipy

    return float(stdtrit(freedom, probability))


@lru_cache(maxsize=4096)
def _rank_bounds(n: int, percent: int) -> tuple[int | None, int | None]:
    """Ranks (from 1) of the one-sided 95 % bounds of a quantile of n values; None where there is none.

    The number of values below the quantile is binomial (David & Nagaraja, Order Statistics, section 7.1).
    """
    from scipy.special import bdtr  # noqa: PLC0415 - the command line starts without scipy

    def below(rank: int) -> float:
        return float(bdtr(rank, n, percent / 100))

    # Both grow with the rank, so that a few of a long run's hundreds of thousands have to be tried.
    lower = bisect_left(range(n), True, key=lambda rank: 1 - below(rank) < CONFIDENCE)
    upper = bisect_left(range(n), True, key=lambda rank: below(rank) >= CONFIDENCE)
    return (lower or None), (upper + 1 if upper < n else None)


def quantile(values: Sequence[float], percent: int) -> Estimate:
    """The value of rank ⌈percent/100 · n⌉ of *sorted* values, with one-sided 95 % order-statistic bounds.

    Never above the maximum, never interpolated. Without an upper bound it is not estimable.
    """
    n = len(values)
    if n == 0:
        return Estimate(None, estimable=False)
    low, high = _rank_bounds(n, percent)
    return Estimate(
        value=values[max(-(-percent * n // 100), 1) - 1],
        low=None if low is None else values[low - 1],
        high=None if high is None else values[high - 1],
        n=n,
        estimable=high is not None,
    )


def quantiles(values: Sequence[float]) -> dict[str, Estimate]:
    """`p50`, `p90`, `p95`, `p99` and `max` of values in any order."""
    return quantiles_of_sorted(sorted(values))


def quantiles_of_sorted(values: Sequence[float]) -> dict[str, Estimate]:
    """The same of values in ascending order."""
    out = {f"p{percent}": quantile(values, percent) for percent in PERCENTS}
    return {**out, "max": Estimate(values[-1] if values else None, n=len(values), estimable=bool(values))}


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Two-sided t interval of the mean; None below 3 values."""
    n = len(values)
    if n < MIN_ROUNDS:
        return None
    half = t_quantile((1 + confidence) / 2, n - 1) * stdev(values) / math.sqrt(n)
    mean = fmean(values)
    return mean - half, mean + half


def t_p_value(values: Sequence[float]) -> float | None:
    """Two-sided p value of a mean of 0; None below 3 values."""
    from scipy.special import stdtr  # noqa: PLC0415 - the command line starts without scipy

    n = len(values)
    if n < MIN_ROUNDS:
        return None
    mean, spread = fmean(values), stdev(values)
    if spread == 0:
        return 1.0 if mean == 0 else 0.0
    return min(1.0, 2 * float(stdtr(n - 1, -abs(mean) * math.sqrt(n) / spread)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values in the order given (Holm 1979): the chance of any wrong call stays below the level."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for done, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - done) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def equivalent(values: Sequence[float], bound: float, *, alpha: float = ALPHA) -> bool:
    """Two one-sided tests (Schuirmann 1987) at `alpha` each: the 1 − 2·alpha interval of the mean lies inside ±`bound`.

    At 5 % that is the 90 % interval.
    """
    interval = t_interval(values, confidence=1 - 2 * alpha)
    return interval is not None and -bound <= interval[0] and interval[1] <= bound


def rounds_to_settle(values: Sequence[float], *, bound: float, alpha: float, same_alpha: float = ALPHA) -> int | None:
    """How many more rounds would settle it, if mean and spread stay as they are.

    Settled: the mean differs from 0 at level `alpha`, or two one-sided tests at `same_alpha` put it inside ±`bound`.
    Below 3 values: the rounds missing to 3. None: more than 999.
    """
    n = len(values)
    if n < MIN_ROUNDS:
        return MIN_ROUNDS - n
    mean, spread = abs(fmean(values)), stdev(values)
    for rounds in range(n + 1, n + 1 + _MAX_MORE_ROUNDS):
        error = spread / math.sqrt(rounds)
        differs = mean > t_quantile(1 - alpha / 2, rounds - 1) * error
        if differs or mean + t_quantile(1 - same_alpha, rounds - 1) * error < bound:
            return rounds - n
    return None


def ratio_over_rounds(
    numerators: Sequence[float], denominators: Sequence[float], *, ceiling: float | None = None, n: int | None = None
) -> Estimate:
    """Σ numerators ÷ Σ denominators, one pair a round, with a delete-one jackknife interval over the rounds.

    The interval is taken on the logarithm where all ratios are positive, so that a rate stays above 0. `ceiling` caps
    its upper end (1 for shares), `n` is the count to show (default: the rounds). Null where the denominator is 0; no
    interval below 3 rounds.
    """
    count = len(numerators) if n is None else n
    total = sum(denominators)
    if total < _SMALLEST:
        return Estimate(None, n=count, estimable=False)
    value = sum(numerators) / total
    # Subtracting from the totals would let rounding errors stand for spread where the rounds are equal.
    rest = [
        (sum(numerators[:i]) + sum(numerators[i + 1 :]), sum(denominators[:i]) + sum(denominators[i + 1 :]))
        for i in range(len(numerators))
    ]
    if len(rest) < MIN_ROUNDS or any(bottom < _SMALLEST for _, bottom in rest):
        return Estimate(value, n=count, estimable=False)
    low, high = _jackknife(value, [top / bottom for top, bottom in rest])
    return Estimate(value, low, high if ceiling is None else min(high, ceiling), count)


def _jackknife(value: float, without_one: Sequence[float]) -> tuple[float, float]:
    """95 % interval from the estimates without one round each, on their logarithms where all are positive."""
    logarithmic = value > 0 and min(without_one) > 0
    half = jackknife_half_width([math.log(point) for point in without_one] if logarithmic else without_one)
    if logarithmic:
        return value * exp_capped(-half), value * exp_capped(half)
    return value - half, value + half


def jackknife_half_width(without_one: Sequence[float]) -> float:
    """Half the 95 % interval of a statistic, from its values without one round each, at least two of them.

    Efron & Tibshirani 1993, chapter 11: the standard error is √((n − 1)/n · Σ(θᵢ − θ̄)²).
    """
    rounds = len(without_one)
    mean = fmean(without_one)
    error = math.sqrt((rounds - 1) / rounds * sum((point - mean) ** 2 for point in without_one))
    return t_quantile((1 + CONFIDENCE) / 2, rounds - 1) * error
