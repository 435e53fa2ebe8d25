"""The interval of anything that whole rounds give: compute it again without each of them."""

import math
from collections.abc import Sequence
from statistics import fmean

from loadgen.analysis.estimators.intervals import CONFIDENCE, MIN_ROUNDS, t_quantile


def jackknife_interval(value: float, without_one: Sequence[float | None]) -> tuple[float, float] | None:
    """95 % interval of `value` from the same statistic without one round each (Efron & Tibshirani 1993, chapter 11).

    It lies on the scale of the statistic: choose one on which the statistic is about linear in the rounds. None below 3
    rounds, and where it can't be computed without one of them.
    """
    points = [point for point in without_one if point is not None]
    rounds = len(points)
    if rounds < MIN_ROUNDS or rounds < len(without_one):
        return None
    mean = fmean(points)
    error = math.sqrt((rounds - 1) / rounds * sum((point - mean) ** 2 for point in points))
    half = t_quantile((1 + CONFIDENCE) / 2, rounds - 1) * error
    return value - half, value + half
