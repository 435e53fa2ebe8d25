"""Rules of a line of the table of truth."""

import math

import pytest

from benchmarks.row import Row, clustered_mean, median_with_error


def test_a_row_is_judged_by_its_bounds() -> None:
    """Inside is good, outside isn't, and slack widens the bounds by standard errors."""
    row = Row("coverage", 0.92, 0.005, 0.93, 0.97)
    assert (row.good(0), row.verdict(0)) == (False, "OUT")
    assert (row.good(3), row.verdict(3)) == (True, "ok")
    assert Row("coverage", 0.95, 0.005, 0.93, 0.97).good(0)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.0, 0.06, "≤ 6%"), (0.8, 1.0, "≥ 80%"), (0.93, 0.97, "93% to 97%"), (-0.02, 0.02, "-2% to +2%")],
)
def test_a_row_shows_its_bounds(low: float, high: float, shown: str) -> None:
    """One-sided ones as such."""
    assert str(Row("x", 0.01, 0.001, low, high)).strip().endswith(shown)


def test_the_error_of_a_mean_knows_that_a_group_shares_its_run() -> None:
    """Four values in two groups of equals are two observations: ½ ± ½; on their own the same four are ½ ± 0.29."""
    values = [0.0, 0.0, 1.0, 1.0]
    assert clustered_mean(values, [1, 1, 2, 2]) == pytest.approx((0.5, 0.5))
    assert clustered_mean(values, [1, 2, 3, 4]) == pytest.approx((0.5, math.sqrt(1 / 12)))
    assert clustered_mean(values, [1, 1, 1, 1]) == clustered_mean(values, [1, 2, 3, 4])


def test_the_median_has_an_error_by_rank_and_infinity_is_a_value() -> None:
    """Of 0 to 99 it is 50, and ranks 45 and 55 are one standard deviation away; what has no number is far off."""
    assert median_with_error(list(range(100))) == (50, 5)
    assert median_with_error([0.1, 0.1, 0.1, math.inf])[0] == 0.1
