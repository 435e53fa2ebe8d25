"""Rules of comparing two samples that have nothing to do with each other."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.estimators.welch import welch


def test_error_and_freedom_are_welchs() -> None:
    """Variances 1 and 4 of 3 and 5 values: error √(1/3 + 4/5), freedom (17/15)² ÷ ((1/3)²/2 + (4/5)²/4) = 5.9648."""
    found = welch([0.0, 1.0, 2.0], [3.0, 3.0, 5.0, 5.0, 9.0 - 1.0])
    assert found is not None
    second = [3.0, 3.0, 5.0, 5.0, 8.0]
    mean = sum(second) / 5
    variance = sum((x - mean) ** 2 for x in second) / 4
    total = 1 / 3 + variance / 5
    assert found.difference == pytest.approx(mean - 1)
    assert found.error == pytest.approx(math.sqrt(total))
    assert found.freedom == pytest.approx(total**2 / ((1 / 3) ** 2 / 2 + (variance / 5) ** 2 / 4))


def test_equal_sizes_and_variances_are_students_test() -> None:
    """Three and three values with s = 1: 4 degrees of freedom, half width 2.776445·√(2/3)."""
    found = welch([0.0, 1.0, 2.0], [10.0, 11.0, 12.0])
    assert found is not None
    assert found.freedom == pytest.approx(4)
    low, high = found.interval()
    assert (low, high) == pytest.approx((10 - 2.776445 * math.sqrt(2 / 3), 10 + 2.776445 * math.sqrt(2 / 3)), rel=1e-6)
    assert found.p_value == pytest.approx(0.000255, abs=2e-6)


def test_below_three_values_on_a_side_there_is_none() -> None:
    """Two values have no variance to speak of."""
    assert welch([1.0, 2.0], [1.0, 2.0, 3.0]) is None
    assert welch([], []) is None


@pytest.mark.parametrize(("second", "p"), [([1.0] * 3, 1.0), ([2.0] * 4, 0.0)])
def test_samples_without_spread_are_equal_or_surely_not(second: list[float], p: float) -> None:
    """No variance at all: the interval is a point."""
    found = welch([1.0] * 3, second)
    assert found is not None
    assert found.p_value == p
    assert found.interval() == (second[0] - 1, second[0] - 1)


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=8), st.lists(st.floats(-5, 5), min_size=3, max_size=8))
def test_order_turns_the_sign_and_nothing_else(first: list[float], second: list[float]) -> None:
    """The other way round the difference has the other sign, and the interval its mirror image; nothing is NaN."""
    there, back = welch(first, second), welch(second, first)
    assert there is not None
    assert back is not None
    assert there.difference == -back.difference
    low, high = there.interval()
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert (-high, -low) == pytest.approx(back.interval())
    assert 0 <= there.p_value <= 1
