"""Values of a profile."""

import math
import re
from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.distribution import Bin, Bins, Choice, Fixed, Lognormal, Uniform, parse
from loadgen.workload.draws import rng

POSITIVE = st.floats(min_value=1e-3, max_value=1e6)


def draws(value: object, count: int = 4000) -> list[float]:
    """So many values from a seeded stream."""
    source = rng(7)
    distribution = parse(value)
    return [distribution.draw(source) for _ in range(count)]


@given(st.floats(min_value=0, max_value=1e9) | st.integers(0, 10**9))
def test_a_number_is_always_itself(value: float) -> None:
    """A number is fixed, whatever the source gives."""
    assert set(draws(value, 5)) == {value}


@given(POSITIVE, POSITIVE)
def test_a_range_is_uniform(one: float, other: float) -> None:
    """The share u of `[lo, hi]` lies below lo + u·(hi - lo)."""
    low, high = sorted((one, other))
    uniform = parse([low, high])
    assert uniform.quantile(0.0) == low
    assert uniform.quantile(0.25) == pytest.approx(low + (high - low) / 4)
    assert all(low <= value <= high for value in draws([low, high], 50))


@given(POSITIVE, st.floats(min_value=1, max_value=1000))
def test_a_lognormal_has_the_quantiles_that_it_states(p50: float, ratio: float) -> None:
    """Half of all draws lie below p50 and 90 % below p90."""
    lognormal = parse({"p50": p50, "p90": p50 * ratio})
    assert lognormal.quantile(0.5) == pytest.approx(p50)
    assert lognormal.quantile(0.9) == pytest.approx(p50 * ratio, rel=1e-3)


def test_sigma_is_the_log_ratio_over_1_2816() -> None:
    """The formula of the profile's documentation, by hand: ln(560/122)/1.2816 = 1.18906."""
    lognormal = parse({"p50": 122, "p90": 560})
    assert isinstance(lognormal, Lognormal)
    assert lognormal.sigma == pytest.approx(1.18906, abs=5e-5)
    assert parse({"p50": 122, "sigma": 0.5}) == Lognormal(122, 0.5)


def test_draws_have_the_stated_quantiles() -> None:
    """4,000 draws reproduce p50 and p90 within 10 % (about 4 standard errors; the stream is seeded)."""
    deciles = quantiles(draws({"p50": 122, "p90": 560}), n=10)
    assert deciles[4] == pytest.approx(122, rel=0.1)
    assert deciles[8] == pytest.approx(560, rel=0.1)


def test_clipping_redraws_and_does_not_pile_up_at_the_bounds() -> None:
    """`min` and `max` keep the shape in between: no value stands exactly at a bound."""
    values = draws({"p50": 100, "p90": 400, "min": 50, "max": 200})
    assert all(50 < value < 200 for value in values)
    # Of the part inside, half lies below the quantile in the middle between the shares at both bounds.
    assert quantiles(values, n=2)[0] == pytest.approx(Lognormal(100, math.log(4) / 1.2816).quantile(0.5), rel=0.05)


@pytest.mark.parametrize(
    ("bounds", "value"), [({"min": 5, "max": 6}, 5.0), ({"min": 0.1, "max": 0.2}, 0.2), ({"min": 1, "max": 1}, 1.0)]
)
def test_bounds_that_no_draw_meets_clamp(bounds: dict[str, float], value: float) -> None:
    """Redrawing ends: after 64 misses the value at the nearer bound is taken."""
    assert set(draws({"p50": 1, "sigma": 0.0 if value != 1 else 1.0, **bounds}, 5)) == {value}


def test_a_choice_has_its_weights() -> None:
    """Shares are weights over their sum, in the order of the file."""
    choice = parse({3: 1, 4: 1, 5: 2})
    assert [choice.quantile(u) for u in (0.0, 0.2499, 0.25, 0.4999, 0.5, 0.9999)] == [3, 3, 4, 4, 5, 5]


def test_bins_are_log_uniform_inside_and_have_their_shares() -> None:
    """Of [0.6 in 1 to 100, 0.4 in 100 to 400] 30 % lie below 10, 60 % below 100, 80 % below 200, and none outside."""
    bins = parse({"bins": [[0.6, [1, 100]], [0.4, [100, 400]]]})
    assert [bins.quantile(u) for u in (0.0, 0.3, 0.6, 0.8)] == [pytest.approx(value) for value in (1, 10, 100, 200)]
    values = draws({"bins": [[0.6, [1, 100]], [0.4, [100, 400]]]})
    assert 1 <= min(values) <= max(values) <= 400
    assert sum(value < 100 for value in values) == pytest.approx(2400, abs=124)


def test_a_bin_of_one_value_is_that_value() -> None:
    """A cap is a bin: 25 % of all draws are exactly 60, and 0 may be one value too."""
    values = draws({"bins": [[3, [0, 0]], [1, [60, 60]]]})
    assert set(values) == {0.0, 60.0}
    assert values.count(60.0) == pytest.approx(1000, abs=110)


def test_bins_are_redrawn_outside_min_and_max() -> None:
    """What lies outside is drawn again, and a bin without a share is out."""
    assert set(draws({"bins": [[1, [1, 1]], [1, [5, 5]], [1, [9, 9]]], "min": 2, "max": 6}, 40)) == {5.0}
    assert parse({"bins": [[0, [1, 2]], [2, [2, 3]]]}) == Bins((Bin(2, 2, 3),))


def test_a_choice_is_redrawn_outside_min_and_max() -> None:
    """Its other values keep their weights among themselves."""
    assert parse({1: 5, 2: 3, 3: 1, 4: 9, "min": 2, "max": 3}) == Choice((2.0, 3.0), (3.0, 1.0))


def test_a_weight_of_0_is_never_drawn() -> None:
    """A value with no weight is out, also at the end of the list."""
    assert parse({1: 0, 2: 3, 3: 0}) == Choice((2.0,), (3.0,))


@given(st.integers(0, 2**53 - 1))
def test_every_float_of_the_source_gives_a_finite_value(step: int) -> None:
    """No u in [0, 1) is out of a lognormal's range, not even 0."""
    assert 0 < parse({"p50": 1e9, "sigma": 10}).quantile(step / 2**53) < math.inf


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "value must be a number from 0 to 1,000,000,000, not -1"),
        (math.nan, "value must be a number from 0 to 1,000,000,000, not nan"),
        (math.inf, "value must be a number from 0 to 1,000,000,000, not inf"),
        (10**400, "value must be a number from 0 to 1,000,000,000, not inf"),
        (True, "value must be a number, not bool"),
        ("12", "value must be a number, not str"),
        (None, "value must be a number, not NoneType"),
        ([1], "a range is [lo, hi], not a list of 1"),
        ([1, 2, 3], "a range is [lo, hi], not a list of 3"),
        ([2, 1], "the range [2, 1] ends before it begins"),
        ([0, math.inf], "hi must be a number from 0 to 1,"),
        ({}, "the weights of a choice must not all be 0"),
        ({1: 0}, "the weights of a choice must not all be 0"),
        ({1: -1}, "the weight of 1 must be a number from 0"),
        ({-1: 1}, "a value must be a number from 0"),
        ({"p50": 1}, "a lognormal needs p50 and one of p90 and sigma"),
        ({"p90": 1}, "a lognormal needs p50 and one of p90 and sigma"),
        ({"p50": 1, "p90": 2, "sigma": 1}, "a lognormal needs p50 and one of p90 and sigma"),
        ({"p50": 0, "p90": 2}, "p50 of a lognormal must be above 0"),
        ({"p50": 3, "p90": 2}, "p90 (2) is below p50 (3)"),
        ({"p50": 1, "p99": 2}, "unknown p99"),
        ({"p50": 1, "p90": 2, 3: 1}, "unknown 3"),
        ({"p50": 1, "p90": 2, "min": 5, "max": 4}, "min (5) is above max (4)"),
        ({"p50": 1, "sigma": 11}, "sigma (11) is above 10"),
        ({"p50": math.nan, "p90": 2}, "p50 must be a number from 0"),
        ({"bins": []}, "bins are a list of [share, [lo, hi]]"),
        ({"bins": 3}, "bins are a list of [share, [lo, hi]]"),
        ({"bins": [[1, 2]]}, "a bin is [share, [lo, hi]]"),
        ({"bins": [[1, [2]]]}, "a range is [lo, hi], not a list of 1"),
        ({"bins": [[-1, [2, 3]]]}, "the share of a bin must be a number from 0"),
        ({"bins": [[1, [2, math.inf]]]}, "hi must be a number from 0"),
        ({"bins": [[0, [2, 3]]]}, "the shares of bins must not all be 0"),
        ({"bins": [[1, [0, 3]]]}, "a bin that begins at 0 has no logarithm"),
        ({"bins": [[1, [2, 5]], [1, [4, 6]]]}, "the bin [4, 6] begins before the one in front of it ends"),
        ({"bins": [[1, [2, 5]]], "min": 6}, "min and max leave nothing of the bins"),
        ({"bins": [[1, [2, 5]]], "p50": 6}, "unknown p50: beside bins there are min and max"),
        ({1: 1, "min": 2}, "the weights of a choice must not all be 0 between min and max"),
        ({1: 1, "max": -2}, "max must be a number from 0"),
    ],
)
def test_what_is_no_distribution_is_refused(value: object, message: str) -> None:
    """Negative, NaN, infinite, out of order, unknown: each is refused with its reason."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["p50", "p90", "sigma", "bins", "min", "max", "x"]) | st.integers(), inner, max_size=4
        )
    ),
    max_leaves=6,
)


@given(JSON)
def test_any_value_is_a_distribution_or_a_value_error(value: object) -> None:
    """Nothing that YAML can hold raises anything else, and what is accepted gives finite values of 0 or more."""
    try:
        distribution = parse(value)
    except ValueError:
        return
    assert isinstance(distribution, Fixed | Uniform | Lognormal | Bins | Choice)
    source = rng(1)
    assert all(0 <= distribution.draw(source) < math.inf for _ in range(5))
