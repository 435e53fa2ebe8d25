"""Rows on the 95 % intervals of the speed-up: how often they hold the truth."""

import random
from collections.abc import Mapping

from benchmarks.library import Library
from benchmarks.noise import Noise
from benchmarks.row import Row, clustered_mean
from loadgen.analysis.estimators.comparison import Comparison


def coverage_row(library: Library, noise: Noise, truths: Mapping[int, float], *, sweeps: int, seed: int) -> Row:
    """How often the interval of the second variant's speed-up holds the truth, over all levels of all sweeps.

    `truths`: the true speed-up by level.
    """
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    values, runs = [], []
    for _ in range(sweeps):
        sweep = library.sweep(noise, chance)
        compared = sweep.compared(library.variants[0])
        values += [float(_holds(comparison, truths[comparison.level])) for comparison in compared]
        runs += [sweep.run] * len(compared)
    name = f"coverage of the 95 % interval, noise {noise.spread:.0%}, {library.rounds} rounds"
    return Row(name, *clustered_mean(values, runs), 0.93, 0.97)


def _holds(comparison: Comparison, truth: float) -> bool:
    low, high = comparison.speedup.low, comparison.speedup.high
    return low is not None and high is not None and low <= truth <= high
