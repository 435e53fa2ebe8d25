"""Where a variant stops (or starts) paying: the concurrency at which its speed-up crosses 1."""

import math
from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from statistics import fmean
from typing import Any

from loadgen.analysis.intervals import t_interval

_STEPS = 256
"""Points between two neighbouring levels where the interval is tried: its ends are exact to 0.3 % of a doubling."""


class Kind(StrEnum):
    """What is known of a crossover."""

    AT = "at"
    NONE_UP_TO = "none_up_to"
    BELOW = "below"
    SEVERAL = "several"


def crossover(variant: str, by_level: Mapping[int, Mapping[int, float]]) -> dict[str, Any] | None:
    """The crossover of one variant from dᵣ by level and round; None where no level has a pair of trials.

    The mean d is linear in log₂ N between levels. `at`: it crosses 1 once, at `concurrency.value`. `none_up_to`: it
    stays at or above 1 up to the largest level (the value). `below`: it is below 1 already at the smallest level (the
    value). `several`: it crosses more than once (`crossings`), no value. The interval holds every N whose interpolated
    dᵣ have a 95 % t interval that contains 0; an end is null and marked `open` where that set reaches the end of the
    measured levels. Nothing is extrapolated.
    """
    levels = sorted(level for level, rounds in by_level.items() if rounds)
    if not levels:
        return None
    means = {level: fmean(by_level[level].values()) for level in levels}
    crossings = [_zero(a, b, means[a], means[b]) for a, b in pairwise(levels) if (means[a] < 0) != (means[b] < 0)]
    if len(crossings) > 1:
        kind, value = Kind.SEVERAL, None
    elif crossings:
        kind, value = Kind.AT, crossings[0]
    elif means[levels[0]] < 0:
        kind, value = Kind.BELOW, float(levels[0])
    else:
        kind, value = Kind.NONE_UP_TO, float(levels[-1])
    low, high, open_low, open_high = _interval(levels, by_level)
    return {
        "variant": variant,
        "kind": kind.value,
        "concurrency": {"value": value, "low": low, "high": high, "n": min(len(by_level[level]) for level in levels)},
        "open_low": open_low,
        "open_high": open_high,
        "rises": bool(crossings) and len(crossings) == 1 and means[levels[0]] < 0,
        "crossings": crossings,
    }


def _zero(a: int, b: int, at_a: float, at_b: float) -> float:
    """N where the line through (log₂ a, d) and (log₂ b, d) is 0."""
    position = at_a / (at_a - at_b)
    return float(2 ** (math.log2(a) + position * (math.log2(b) - math.log2(a))))


def _interval(
    levels: list[int], by_level: Mapping[int, Mapping[int, float]]
) -> tuple[float | None, float | None, bool, bool]:
    """(low, high, open below, open above) of the set of N that the rounds can't tell from a crossover."""
    points = [float(levels[0])] if _contains_zero(by_level[levels[0]].values()) else []
    for a, b in pairwise(levels):
        common = sorted(set(by_level[a]) & set(by_level[b]))
        for step in range(1, _STEPS + 1):
            share = step / _STEPS
            if _contains_zero([(1 - share) * by_level[a][r] + share * by_level[b][r] for r in common]):
                points.append(float(2 ** (math.log2(a) + share * (math.log2(b) - math.log2(a)))))
    if not points:
        return None, None, False, False
    low, high = min(points), max(points)
    open_low, open_high = math.isclose(low, levels[0]), math.isclose(high, levels[-1])
    return None if open_low else low, None if open_high else high, open_low, open_high


def _contains_zero(values: Any) -> bool:
    interval = t_interval(list(values))
    return interval is not None and interval[0] <= 0 <= interval[1]
