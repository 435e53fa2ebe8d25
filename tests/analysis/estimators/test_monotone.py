"""Rules of the falling fit."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.estimators.monotone import falling


def test_values_in_order_stay() -> None:
    """A curve that falls is its own fit."""
    assert falling([3.0, 2.0, 2.0, -1.0], [1.0] * 4) == [3.0, 2.0, 2.0, -1.0]


def test_values_in_a_wrong_order_are_pooled_by_weight() -> None:
    """1 (three times) before 5 are 2 each."""
    assert falling([9.0, 1.0, 5.0, 0.0], [1.0, 3.0, 1.0, 1.0]) == [9.0, 2.0, 2.0, 0.0]


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 9)), min_size=1, max_size=8))
def test_the_fit_falls_and_keeps_the_weighted_mean(points: list[tuple[float, int]]) -> None:
    """It never rises, and what is taken from one value is given to its neighbours."""
    values, weights = [value for value, _ in points], [float(weight) for _, weight in points]
    fitted = falling(values, weights)
    assert all(a >= b for a, b in pairwise(fitted))
    total = sum(w * v for v, w in zip(values, weights, strict=True))
    assert sum(w * v for v, w in zip(fitted, weights, strict=True)) == pytest.approx(total, abs=1e-9)
