"""A sum of ratios over rounds."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.estimators.intervals import jackknife_half_width, ratio_over_rounds
from loadgen.analysis.estimators.rate_sum import sum_of_ratios


def test_one_part_is_a_ratio_over_rounds() -> None:
    """The same estimate, interval included."""
    part = ([1.0, 2.0, 3.0], [2.0, 2.0, 3.0])
    assert sum_of_ratios([part], n=7) == ratio_over_rounds(*part, n=7)


def test_parts_are_added_with_the_interval_of_their_sum() -> None:
    """6/10 and 30/5 make 6.6; each round left out in turn, in both parts."""
    parts = [([1.0, 2.0, 3.0], [3.0, 3.0, 4.0]), ([9.0, 10.0, 11.0], [1.0, 2.0, 2.0])]
    found = sum_of_ratios(parts, n=6)
    without = [5 / 7 + 21 / 4, 4 / 7 + 20 / 3, 3 / 6 + 19 / 3]
    half = jackknife_half_width([math.log(point) for point in without])
    assert found.value == pytest.approx(6.6)
    assert (found.low, found.high) == pytest.approx((6.6 * math.exp(-half), 6.6 * math.exp(half)))
    assert found.n == 6


def test_without_a_positive_sum_the_interval_is_on_the_plain_scale() -> None:
    """More was lost than earned: a logarithm has no room for that."""
    parts = [([-1.0, -2.0, -3.0], [1.0, 1.0, 1.0]), ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])]
    found = sum_of_ratios(parts, n=3)
    half = jackknife_half_width([-2.5 + 1, -2 + 1, -1.5 + 1])
    assert (found.value, found.low, found.high) == pytest.approx((-1, -1 - half, -1 + half))


def test_too_little_has_no_interval_and_nothing_no_value() -> None:
    """Below 3 rounds; without time in one of the parts, whatever the others did."""
    two = sum_of_ratios([([1.0, 1.0], [1.0, 1.0]), ([2.0, 2.0], [1.0, 1.0])], n=2)
    assert (two.value, two.low, two.estimable) == (3.0, None, False)
    idle = sum_of_ratios([([1.0], [1.0]), ([0.0], [0.0])], n=1)
    assert (idle.value, idle.estimable) == (None, False)
    assert sum_of_ratios([], n=0).value is None


@given(st.lists(st.tuples(*[st.floats(0.01, 1e3)] * 4), min_size=3, max_size=8))
def test_a_sum_lies_in_its_interval(rounds: list[tuple[float, float, float, float]]) -> None:
    """Whatever the rounds hold."""
    a, b, c, d = ([one[i] for one in rounds] for i in range(4))
    found = sum_of_ratios([(a, b), (c, d)], n=len(rounds))
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value * (1 + 1e-9)
    assert found.value <= found.high * (1 + 1e-9)
