"""A sum of ratios over rounds: what several classes of agents do together."""

import math
from collections.abc import Sequence

from loadgen.analysis.estimators.intervals import Estimate, exp_capped, ratio_over_rounds
from loadgen.analysis.estimators.jackknife import jackknife_interval

Parts = Sequence[tuple[Sequence[float], Sequence[float]]]
"""Of each part numerators and denominators, one pair a round, alike for all parts."""


def sum_of_ratios(parts: Parts, *, n: int) -> Estimate:
    """Σ over the parts of (Σ numerators ÷ Σ denominators), with a delete-one jackknife interval over the rounds.

    One part is a ratio over rounds. The interval is taken on the logarithm where all sums are positive. `n` is the
    count to show. Null where a denominator is 0; no interval below 3 rounds.
    """
    if len(parts) == 1:
        return ratio_over_rounds(*parts[0], n=n)
    value = _sum(parts)
    if value is None:
        return Estimate(None, n=n, estimable=False)
    rounds = min((len(tops) for tops, _ in parts), default=0)
    without = [_sum([(_but(tops, i), _but(bottoms, i)) for tops, bottoms in parts]) for i in range(rounds)]
    if value > 0 and all(point is not None and point > 0 for point in without):
        logs = jackknife_interval(math.log(value), [math.log(point) for point in without if point is not None])
        interval = None if logs is None else (exp_capped(logs[0]), exp_capped(logs[1]))
    else:
        interval = jackknife_interval(value, without)
    if interval is None:
        return Estimate(value, n=n, estimable=False)
    return Estimate(value, *interval, n)


def _sum(parts: Parts) -> float | None:
    """Null where one of the ratios is."""
    ratios = [ratio_over_rounds(tops, bottoms).value for tops, bottoms in parts]
    known = [ratio for ratio in ratios if ratio is not None]
    return sum(known) if ratios and len(known) == len(ratios) else None


def _but(values: Sequence[float], index: int) -> list[float]:
    return [*values[:index], *values[index + 1 :]]
