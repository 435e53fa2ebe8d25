"""Whether speed-ups over the levels lie on a line or make one step: kernels switch at certain widths of a batch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from loadgen.analysis.estimators.intervals import ALPHA, CONFIDENCE, MIN_ROUNDS, t_interval, t_quantile

MIN_LEVELS = 4
"""With 3 levels a step always fits: it has three parameters."""
_NO_NOISE = 1e-20
"""A variance of logarithms below it is a rounding error: rounds that are equal to the last digit."""
_LINE, _STEP, _HEIGHTS = 2, 3, 2
"""Parameters: intercept and slope; two heights and where it falls. A clear step is where it is in nearly every sample:
of the freedom to miss the means it takes that of its heights only."""


@dataclass(frozen=True)
class Step:
    """One step: the neighbouring levels on its two sides, and the mean d (a logarithm) before and after it."""

    below: int
    above: int
    before: float
    after: float


def step_through_one(by_level: Mapping[int, Mapping[int, float]]) -> Step | None:
    """The step in dᵣ by level and round, where one fits and a line in log₂ N doesn't; None otherwise.

    Both are fitted to the levels' means by least squares, each level weighted by its rounds. How well they fit is told
    by the spread of the rounds around their own level's mean, pooled over the levels, because 4 rounds of one level
    know it to some 40 % only: F test of lack of fit against pure error (Draper & Smith 1998, section 2.1). A step it
    is where the line is rejected (p < 5 %), the step isn't, the step is better by BIC (Schwarz 1978), and it crosses 1:
    the two levels next to it lie on different sides, each surely (95 %), and so do the two means. Below 4 levels with
    3 rounds each nothing is said.
    """
    used = {level: list(rounds.values()) for level, rounds in sorted(by_level.items()) if len(rounds) >= MIN_ROUNDS}
    if len(used) < MIN_LEVELS:
        return None
    levels = list(used)
    weights = [float(len(used[level])) for level in levels]
    means = [fmean(used[level]) for level in levels]
    free = sum(len(values) - 1 for values in used.values())
    noise = max(sum((len(values) - 1) * variance(values) for values in used.values()) / free, _NO_NOISE)
    line = _line_misfit([math.log2(level) for level in levels], means, weights) / noise
    split, misfit = _best_split(means, weights)
    step = misfit / noise
    count = math.log(sum(weights))
    if not (
        _fit_p(line, len(levels) - _LINE, free) < ALPHA <= _fit_p(step, len(levels) - _HEIGHTS, free)
        and step + _STEP * count < line + _LINE * count
    ):
        return None
    found = Step(
        below=levels[split - 1],
        above=levels[split],
        before=_mean(means[:split], weights[:split]),
        after=_mean(means[split:], weights[split:]),
    )
    sides = (
        side(used[found.below]),
        side(used[found.above]),
        _told_from_one(found.before, noise, sum(weights[:split]), free),
        _told_from_one(found.after, noise, sum(weights[split:]), free),
    )
    return found if sides in ((1, -1, 1, -1), (-1, 1, -1, 1)) else None


def side(values: Sequence[float]) -> int:
    """On which side of 0 values surely lie: 1 above, -1 below, 0 where their 95 % t interval holds 0 or is missing."""
    interval = t_interval(values)
    if interval is None:
        return 0
    return 1 if interval[0] > 0 else -1 if interval[1] < 0 else 0


def _told_from_one(mean: float, noise: float, rounds: float, free: int) -> int:
    """The same of a mean over several levels, by the pooled variance."""
    half = t_quantile((1 + CONFIDENCE) / 2, free) * math.sqrt(noise / rounds)
    return 1 if mean > half else -1 if mean < -half else 0


def _line_misfit(x: Sequence[float], y: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted sum of squares around the best line."""
    middle, height = _mean(x, weights), _mean(y, weights)
    across = sum(w * (a - middle) ** 2 for w, a in zip(weights, x, strict=True))
    slope = sum(w * (a - middle) * b for w, a, b in zip(weights, x, y, strict=True)) / across
    return sum(w * (b - height - slope * (a - middle)) ** 2 for w, a, b in zip(weights, x, y, strict=True))


def _best_split(y: Sequence[float], weights: Sequence[float]) -> tuple[int, float]:
    """Where to split into two constants, and the weighted sum of squares around them."""

    def misfit(split: int) -> float:
        return _spread(y[:split], weights[:split]) + _spread(y[split:], weights[split:])

    best = min(range(1, len(y)), key=misfit)
    return best, misfit(best)


def _spread(y: Sequence[float], weights: Sequence[float]) -> float:
    mean = _mean(y, weights)
    return sum(w * (value - mean) ** 2 for w, value in zip(weights, y, strict=True))


def _mean(y: Sequence[float], weights: Sequence[float]) -> float:
    return sum(w * value for w, value in zip(weights, y, strict=True)) / sum(weights)


def _fit_p(misfit: float, left: int, free: int) -> float:
    """How often chance alone misfits so much: `left` degrees of freedom of the means, `free` ones of the noise."""
    from scipy.special import fdtrc  # noqa: PLC0415 - the command line starts without scipy

    return float(fdtrc(left, free, misfit / left))
