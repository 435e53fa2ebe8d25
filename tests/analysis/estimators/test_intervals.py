"""Rules of quantiles, ratios and paired differences."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.estimators.intervals import (
    Estimate,
    equivalent,
    holm,
    quantile,
    quantiles,
    ratio_over_rounds,
    rounds_to_settle,
    t_interval,
    t_p_value,
)

_FINITE = st.floats(-1e9, 1e9)


def test_c50_a_quantile_is_a_value_that_was_measured() -> None:
    """Of 1 to 8 s the median is 4 s (rank 4), and p99 is the maximum, marked as not estimable."""
    found = quantiles([8, 7, 6, 5, 4, 3, 2, 1])
    assert found["p50"].value == 4
    assert found["p99"] == Estimate(8, low=7, high=None, n=8, estimable=False)
    assert found["max"].value == 8


def test_c50_one_value_is_every_quantile_and_none_is_null() -> None:
    """With n = 1: all equal, no bounds. n = 0: null."""
    assert {estimate.value for estimate in quantiles([3.5]).values()} == {3.5}
    assert {(estimate.value, estimate.n) for estimate in quantiles([]).values()} == {(None, 0)}


@pytest.mark.parametrize(("percent", "enough"), [(90, 29), (95, 59), (99, 299)])
def test_an_upper_bound_exists_from_a_fixed_number_of_values(percent: int, enough: int) -> None:
    """p90 needs 29 values, p95 59 and p99 299; the bound is then the maximum."""
    assert quantile(range(enough - 1), percent).high is None
    assert quantile(range(enough - 1), percent).estimable is False
    assert quantile(range(enough), percent).high == enough - 1
    assert quantile(range(enough), percent).estimable is True


def test_ranks_are_rounded_up_without_rounding_errors() -> None:
    """Rank ⌈q·n⌉: p95 of 20 is the 19th value, p90 of 11 the 10th, p99 of 100 the 99th."""
    assert quantile(range(1, 21), 95).value == 19
    assert quantile(range(1, 12), 90).value == 10
    assert quantile(range(1, 101), 99).value == 99


def test_median_bounds_are_the_binomial_ranks() -> None:
    """Of 100 values the one-sided 95 % bounds of the median are the 42nd and the 59th."""
    found = quantile(range(1, 101), 50)
    assert (found.low, found.high) == (42, 59)


@given(st.lists(_FINITE, min_size=1, max_size=400))
def test_quantiles_are_ordered_and_below_the_maximum(values: list[float]) -> None:
    """p50 ≤ p90 ≤ p95 ≤ p99 ≤ max, each a measured value inside its bounds."""
    found = quantiles(values)
    points = [found[key].value for key in ("p50", "p90", "p95", "p99", "max")]
    assert points == sorted(points)  # type: ignore[type-var]
    for estimate in found.values():
        assert estimate.value in values
        assert estimate.low is None or estimate.low <= estimate.value
        assert estimate.high is None or estimate.high >= estimate.value


def test_the_t_interval_has_its_textbook_value() -> None:
    """Mean 2, s = 1, n = 3: 2 ± 4.3027/√3. Two values have no interval."""
    assert t_interval([1, 2, 3]) == pytest.approx((2 - 2.48414, 2 + 2.48414), abs=1e-5)
    assert t_interval([1, 2]) is None


def test_the_p_value_agrees_with_its_interval() -> None:
    """Here t = 2/(1/√3) at 2 degrees of freedom: 0.0742; without spread it is 0, or 1 where the mean is 0."""
    assert t_p_value([1, 2, 3]) == pytest.approx(0.07418, abs=1e-5)
    assert t_p_value([0.1, 0.1, 0.1]) == 0
    assert t_p_value([0.0, 0.0, 0.0]) == 1
    assert t_p_value([1, 2]) is None


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=9))
def test_a_p_value_below_5_percent_means_that_the_interval_excludes_zero(values: list[float]) -> None:
    """Interval and p value never contradict each other (but for rounding at the edge)."""
    p, interval = t_p_value(values), t_interval(values)
    assert p is not None
    assert interval is not None
    assert 0 <= p <= 1
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (interval[0] > 0 or interval[1] < 0)


def test_holm_adjusts_in_order_of_the_p_values() -> None:
    """0.01, 0.04, 0.03 become 0.03, 0.06, 0.06: never falling along the order."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_value_and_never_passes_bonferroni(p_values: list[float]) -> None:
    """It holds: p ≤ adjusted ≤ min(1, m·p)."""
    for p, adjusted in zip(p_values, holm(p_values), strict=True):
        assert p <= adjusted <= min(1.0, len(p_values) * p) + 1e-12


def test_equivalence_takes_the_90_percent_interval() -> None:
    """Mean 0, s = 0.02, n = 3: ±2.91999·0.02/√3 = ±0.03372 lies inside ±0.034, not inside ±0.033."""
    values = [-0.02, 0.0, 0.02]
    assert equivalent(values, 0.034)
    assert not equivalent(values, 0.033)
    assert not equivalent([0.0, 0.0], 1.0)


def test_rounds_to_settle_counts_the_rounds_that_are_missing() -> None:
    """Here d = 0.1 with s = 0.1 excludes 0 from 7 rounds on (2.447/√7 < 1 < 2.571/√6): 4 more than 3."""
    assert rounds_to_settle([0.0, 0.1, 0.2], bound=math.log(1.05), alpha=0.05) == 4
    assert rounds_to_settle([0.1], bound=0.05, alpha=0.05) == 2
    # Exactly on the bound: neither different from 0 in time, nor ever inside it.
    assert rounds_to_settle([-1.0, 0.0, 1.003], bound=0.001, alpha=0.05) is None


def test_a_ratio_over_rounds_is_one_of_sums_not_a_mean_of_ratios() -> None:
    """(1 + 9) ÷ (1 + 3) = 2.5, where the mean of 1 and 3 would be 2."""
    assert ratio_over_rounds([1, 9], [1, 3]) == Estimate(2.5, n=2, estimable=False)


def test_the_jackknife_has_its_textbook_value() -> None:
    """Rounds 1, 2, 4 over equal time: ln of 3, 2.5, 1.5 without one each; half = t·√(2/3·Σ(x - x̄)²)."""
    found = ratio_over_rounds([1, 2, 4], [1, 1, 1])
    points = [math.log(3), math.log(2.5), math.log(1.5)]
    mean = sum(points) / 3
    half = 4.302653 * math.sqrt(2 / 3 * sum((x - mean) ** 2 for x in points))
    assert found.value == pytest.approx(7 / 3)
    assert found.low == pytest.approx(7 / 3 * math.exp(-half), rel=1e-6)
    assert found.high == pytest.approx(7 / 3 * math.exp(half), rel=1e-6)


def test_equal_rounds_have_an_interval_without_width_and_no_time_has_no_rate() -> None:
    """No spread, no width; a denominator of 0 is null, never infinity."""
    assert ratio_over_rounds([5, 5, 5], [2, 2, 2]) == Estimate(2.5, 2.5, 2.5, 3)
    assert ratio_over_rounds([5, 5, 5], [0, 0, 0]).value is None
    assert ratio_over_rounds([], []) == Estimate(None, n=0, estimable=False)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e6), st.floats(0, 1e6)), max_size=8),
    st.one_of(st.none(), st.floats(1, 10)),
)
def test_a_ratio_is_finite_or_null_and_inside_its_interval(
    rounds: list[tuple[float, float]], ceiling: float | None
) -> None:
    """Never NaN or infinity, whatever the rounds are."""
    found = ratio_over_rounds([top for top, _ in rounds], [bottom for _, bottom in rounds], ceiling=ceiling)
    for number in (found.value, found.low, found.high):
        assert number is None or math.isfinite(number)
    if found.value is not None and found.low is not None:
        assert found.low <= found.value
