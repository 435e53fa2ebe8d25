"""Where a variant stops (or starts) paying: the concurrency at which its speed-up crosses 1."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from statistics import fmean, variance
from typing import Any

from loadgen.analysis.estimators.intervals import CONFIDENCE, MIN_ROUNDS, exp_capped, t_quantile
from loadgen.analysis.estimators.monotone import falling
from loadgen.analysis.estimators.step_curve import Step, side, step_through_one

_STEPS = 256
"""Points between two neighbouring levels where the interval is tried: its ends are exact to 0.3 % of a doubling."""

Rounds = Mapping[int, float]
"""dᵣ of one level by round."""


class Kind(StrEnum):
    """What is known of a crossover."""

    AT = "at"
    NONE_UP_TO = "none_up_to"
    BELOW = "below"
    SEVERAL = "several"
    STEP = "step"


def crossover(variant: str, by_level: Mapping[int, Rounds]) -> dict[str, Any] | None:
    """The crossover of one variant from dᵣ by level and round; None where no level has a pair of trials.

    The mean d is linear in log₂ N between levels. `at`: it crosses 1 once, at `concurrency.value`. `none_up_to`: it
    stays at or above 1 up to the largest level (the value). `below`: it is below 1 already at the smallest level (the
    value). `several`: it crosses more than once (`crossings`), no value. `step`: it falls or rises through 1 in one
    step (see `step_curve`), no value; `low` and `high` are the two levels beside it, and `step` has them with the
    speed-ups before and after. Otherwise the interval holds every N whose interpolated dᵣ have a 95 % t interval that
    contains 0; an end is null and marked `open` where that set reaches the end of the measured levels. Nothing is
    extrapolated.

    More than one crossing is an answer only where levels are surely (95 % each) above, below and above 1 again, or the
    other way round. Means that wiggle around 1 beyond that are noise around a curve that falls or rises: they are
    replaced by the monotone fit to them, which crosses 1 once at most.
    """
    levels = sorted(level for level, rounds in by_level.items() if rounds)
    if not levels:
        return None
    n = min(len(by_level[level]) for level in levels)
    step = step_through_one(by_level)
    if step is not None:
        return _entry(variant, Kind.STEP, None, (float(step.below), float(step.above)), n=n, step=step)
    curve = [fmean(by_level[level].values()) for level in levels]
    starts_below, crossings = curve[0] < 0, _crossings(levels, curve)
    if len(crossings) > 1:
        starts_below, crossings = _supported(levels, curve, by_level)
    low, high, open_low, open_high = _interval(levels, by_level)
    kind, value = _kind(levels, crossings, starts_below=starts_below)
    return _entry(
        variant,
        kind,
        value,
        (low, high),
        n=n,
        open_ends=(open_low, open_high),
        rises=len(crossings) == 1 and starts_below,
        crossings=crossings,
    )


def _entry(
    variant: str,
    kind: Kind,
    value: float | None,
    bounds: tuple[float | None, float | None],
    *,
    n: int,
    open_ends: tuple[bool, bool] = (False, False),
    rises: bool = False,
    crossings: Sequence[float] = (),
    step: Step | None = None,
) -> dict[str, Any]:
    """The form of `summary.json`."""
    shown = None
    if step is not None:
        rises = step.before < 0
        before, after = exp_capped(step.before), exp_capped(step.after)
        shown = {"from": step.below, "to": step.above, "before": before, "after": after}
    return {
        "variant": variant,
        "kind": kind.value,
        "concurrency": {"value": value, "low": bounds[0], "high": bounds[1], "n": n},
        "open_low": open_ends[0],
        "open_high": open_ends[1],
        "rises": rises,
        "crossings": list(crossings),
        "step": shown,
    }


def _kind(levels: Sequence[int], crossings: Sequence[float], *, starts_below: bool) -> tuple[Kind, float | None]:
    if len(crossings) > 1:
        return Kind.SEVERAL, None
    if crossings:
        return Kind.AT, crossings[0]
    return (Kind.BELOW, float(levels[0])) if starts_below else (Kind.NONE_UP_TO, float(levels[-1]))


def _crossings(levels: Sequence[int], curve: Sequence[float]) -> list[float]:
    """Every N at which the curve changes its side, linear in log₂ N between levels."""
    points = pairwise(zip(levels, curve, strict=True))
    return [_zero(a, b, at_a, at_b) for (a, at_a), (b, at_b) in points if (at_a < 0) != (at_b < 0)]


def _zero(a: int, b: int, at_a: float, at_b: float) -> float:
    """N where the line through (log₂ a, d) and (log₂ b, d) is 0."""
    position = at_a / (at_a - at_b)
    return float(2 ** (math.log2(a) + position * (math.log2(b) - math.log2(a))))


def _supported(
    levels: Sequence[int], curve: Sequence[float], by_level: Mapping[int, Rounds]
) -> tuple[bool, list[float]]:
    """Whether the curve begins below 1, and its crossings without those that are only noise.

    One between any two neighbours, of the levels that are surely on a side, that lie on different ones: where the means
    between them wiggle, they are taken to be monotone. Where no such two are, the whole curve is.
    """
    weights = [float(len(by_level[level])) for level in levels]
    sides = [side(list(by_level[level].values())) for level in levels]
    sure = [at for at, on in enumerate(sides) if on]
    turns = [(a, b) for a, b in pairwise(sure) if sides[a] != sides[b]]
    if not turns:
        fitted = _monotone(curve, weights)
        return fitted[0] < 0, _crossings(levels, fitted)
    found = []
    for a, b in turns:
        part = slice(a, b + 1)
        found += _crossings(levels[part], _monotone(curve[part], weights[part], falls=sides[a] > 0))
    return sides[turns[0][0]] < 0, found


def _monotone(curve: Sequence[float], weights: Sequence[float], *, falls: bool | None = None) -> list[float]:
    """The monotone fit in a direction; without one, in the better of the two."""
    down = falling(curve, weights)
    up = [-value for value in falling([-value for value in curve], weights)]
    if falls is None:
        falls = _misfit(curve, down, weights) <= _misfit(curve, up, weights)
    return down if falls else up


def _misfit(curve: Sequence[float], fitted: Sequence[float], weights: Sequence[float]) -> float:
    return sum(w * (a - b) ** 2 for a, b, w in zip(curve, fitted, weights, strict=True))


def _interval(levels: Sequence[int], by_level: Mapping[int, Rounds]) -> tuple[float | None, float | None, bool, bool]:
    """(low, high, open below, open above) of the set of N that the rounds can't tell from a crossover."""
    points = [float(levels[0])] if _side_unknown(by_level[levels[0]]) else []
    for a, b in pairwise(levels):
        points += [
            float(2 ** (math.log2(a) + share * (math.log2(b) - math.log2(a))))
            for share in _shares_at_zero(by_level[a], by_level[b])
        ]
    if not points:
        return None, None, False, False
    low, high = min(points), max(points)
    open_low, open_high = math.isclose(low, levels[0]), math.isclose(high, levels[-1])
    return None if open_low else low, None if open_high else high, open_low, open_high


def _side_unknown(rounds: Rounds) -> bool:
    """Whether the 95 % t interval of a level contains 0; not where it has none."""
    return len(rounds) >= MIN_ROUNDS and side(list(rounds.values())) == 0


def _shares_at_zero(a: Rounds, b: Rounds) -> list[float]:
    """Where between two levels, as a share of the way, the interpolated d has a 95 % t interval that contains 0.

    Where both levels have the same rounds, that is the t interval of the interpolated dᵣ. Where looks closed one of
    them earlier, the mean of each is of all its rounds, their covariance of those that they share, and the degrees of
    freedom are those of the shorter one.
    """
    if min(len(a), len(b)) < MIN_ROUNDS:
        return []
    mean_a, mean_b = fmean(a.values()), fmean(b.values())
    error_a, error_b = variance(a.values()) / len(a), variance(b.values()) / len(b)
    both = _covariance(a, b)
    quantile = {n: t_quantile((1 + CONFIDENCE) / 2, n - 1) for n in {len(b), min(len(a), len(b))}}
    found = []
    for step in range(1, _STEPS + 1):
        share = step / _STEPS
        mean = (1 - share) * mean_a + share * mean_b
        error = (1 - share) ** 2 * error_a + share**2 * error_b + 2 * share * (1 - share) * both
        n = len(b) if step == _STEPS else min(len(a), len(b))
        if abs(mean) <= quantile[n] * math.sqrt(max(error, 0.0)):
            found.append(share)
    return found


def _covariance(a: Rounds, b: Rounds) -> float:
    """Of the means of two levels, from the rounds that both have."""
    common = sorted(set(a) & set(b))
    if len(common) <= 1:
        return 0.0
    middle_a, middle_b = fmean(a[r] for r in common), fmean(b[r] for r in common)
    products = sum((a[r] - middle_a) * (b[r] - middle_b) for r in common)
    return products / (len(common) - 1) * len(common) / (len(a) * len(b))
