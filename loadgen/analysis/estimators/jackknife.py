"""The interval of anything that whole rounds give: compute it again without each of them."""

from collections.abc import Sequence

from loadgen.analysis.estimators.intervals import MIN_ROUNDS, jackknife_half_width


def jackknife_interval(value: float, without_one: Sequence[float | None]) -> tuple[float, float] | None:
    """95 % interval of `value` from the same statistic without one round each.

    It lies on the scale of the statistic: choose one on which the statistic is about linear in the rounds. None below 3
    rounds, and where it can't be computed without one of them.
    """
    points = [point for point in without_one if point is not None]
    if len(points) < MIN_ROUNDS or len(points) < len(without_one):
        return None
    half = jackknife_half_width(points)
    return value - half, value + half
