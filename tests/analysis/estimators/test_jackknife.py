"""Rules of intervals from rounds left out."""

import math
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.estimators.intervals import t_interval
from loadgen.analysis.estimators.jackknife import jackknife_interval

_NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=12)


@given(_NUMBERS)
def test_of_a_mean_it_is_the_t_interval(values: list[float]) -> None:
    """The jackknife of a mean is exact: its error is s ÷ √n."""
    without = [fmean(values[:index] + values[index + 1 :]) for index in range(len(values))]
    found = jackknife_interval(fmean(values), without)
    assert found == pytest.approx(t_interval(values), rel=1e-6, abs=1e-6)


def test_fewer_than_three_rounds_or_one_that_nothing_can_be_told_without_have_none() -> None:
    """Two rounds say nothing, and a null among the parts leaves the spread unknown."""
    assert jackknife_interval(1.0, [1.0, 1.0]) is None
    assert jackknife_interval(1.0, [1.0, 1.0, None, 1.0]) is None
    assert jackknife_interval(1.0, []) is None


def test_equal_rounds_have_an_interval_without_width() -> None:
    """No spread is no spread."""
    found = jackknife_interval(2.0, [2.0] * 4)
    assert found == (2.0, 2.0)
    assert not any(math.isnan(end) for end in found)
