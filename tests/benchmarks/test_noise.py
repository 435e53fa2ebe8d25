"""Rules of the modelled noise."""

import math
import random
from statistics import fmean, stdev

import pytest

from benchmarks.noise import Noise


def _many(spread: float, trials: int) -> list[list[float]]:
    chance = random.Random(1)  # noqa: S311 - a model, no secret
    return [Noise(spread).factors(trials, chance) for _ in range(20_000)]


def test_the_two_trials_of_a_round_differ_by_the_spread() -> None:
    """A block of four trials apart, ln of their ratio has √2 times the spread, drift and outliers included."""
    ratios = [math.log(factors[4] / factors[0]) for factors in _many(0.05, 5)]
    assert stdev(ratios) == pytest.approx(0.05 * math.sqrt(2), rel=0.02)
    assert fmean(ratios) == pytest.approx(0, abs=0.001)


def test_a_factor_is_1_on_average() -> None:
    """Noise does not slow the machine down in the long run."""
    assert fmean(factors[0] for factors in _many(0.1, 1)) == pytest.approx(1, abs=0.004)


def test_neighbours_in_time_are_alike() -> None:
    """The drift is wider than what tells two trials of a round apart: over all of time a factor spreads more."""
    logs = [math.log(factors[0]) for factors in _many(0.05, 1)]
    assert stdev(logs) > 1.5 * 0.05


def test_no_noise_leaves_everything_as_it_is() -> None:
    """All factors are 1."""
    assert Noise(0.0).factors(3, random.Random(1)) == [1.0, 1.0, 1.0]  # noqa: S311 - a model, no secret
