"""Rules of what is a step and what is a line."""

import random

import pytest

from loadgen.analysis.estimators.step_curve import side, step_through_one

NOISE = (0.02, -0.02, 0.01, -0.01)
LEVELS = (1, 2, 4, 8, 16)


def _levels(*means: float, noise: tuple[float, ...] = NOISE) -> dict[int, dict[int, float]]:
    return {
        level: {r: mean + e for r, e in enumerate(noise, start=1)}
        for level, mean in zip(LEVELS[: len(means)], means, strict=True)
    }


def test_a_step_is_found_where_it_is() -> None:
    """The neighbouring levels, and the means on both sides."""
    down, up = step_through_one(_levels(0.2, 0.2, -0.1, -0.1)), step_through_one(_levels(-0.1, 0.2, 0.2, 0.2, 0.2))
    assert down is not None
    assert up is not None
    assert (down.below, down.above, up.below, up.above) == (2, 4, 1, 2)
    assert (down.before, down.after, up.before, up.after) == pytest.approx((0.2, -0.1, -0.1, 0.2))


def test_a_step_needs_four_levels_with_three_rounds() -> None:
    """With three levels any curve is a step; with two rounds nothing is known of the noise."""
    assert step_through_one(_levels(0.2, 0.2, -0.1)) is None
    assert step_through_one(_levels(0.2, 0.2, -0.1, -0.1, noise=(0.01, -0.01))) is None


def test_a_step_that_stays_on_one_side_is_no_crossover() -> None:
    """From 1.6 to 1.2 is a cliff, and no end of paying."""
    assert step_through_one(_levels(0.5, 0.5, 0.2, 0.2)) is None


def test_a_line_is_no_step() -> None:
    """Nor is a curve that fits neither: both are rejected."""
    assert step_through_one(_levels(0.3, 0.15, 0.0, -0.15, -0.3)) is None
    assert step_through_one(_levels(0.4, 0.25, -0.1, -0.5, -0.55)) is None


def test_noise_that_hides_the_line_leaves_it_a_line() -> None:
    """A step within the noise is none: a line isn't rejected by it."""
    assert step_through_one(_levels(0.02, 0.02, -0.02, -0.02, noise=(0.1, -0.1, 0.05, -0.05))) is None


def test_rounds_without_any_noise_are_told_too() -> None:
    """Zero variance is no division by zero: an exact step is one, an exact line is not."""
    assert step_through_one(_levels(0.2, 0.2, -0.1, -0.1, noise=(0.0, 0.0, 0.0))) is not None
    assert step_through_one(_levels(0.3, 0.1, -0.1, -0.3, noise=(0.0, 0.0, 0.0))) is None


def test_lines_are_seldom_taken_for_steps() -> None:
    """Of 200 lines with 5 % noise a side (7 % in d) and 8 rounds, 1 % at most: both tests have to err."""
    chance = random.Random(11)  # noqa: S311 - noise, no secret
    found = 0
    for _ in range(200):
        rounds = {n: {r: 0.3 - 0.15 * k + chance.gauss(0, 0.07) for r in range(8)} for k, n in enumerate(LEVELS)}
        found += step_through_one(rounds) is not None
    assert found <= 2


def test_a_side_is_told_by_the_t_interval() -> None:
    """Above, below, and not told."""
    assert (side([0.1, 0.11, 0.12]), side([-0.1, -0.11, -0.12])) == (1, -1)
    assert (side([0.1, -0.1, 0.0]), side([0.1, 0.1])) == (0, 0)
