"""Rules of calls: pays, costs, same, unresolved."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.estimators.comparison import Call, compare, log_ratios, noise_floor


def _one(*logs: float, min_effect: float = 0.05) -> Any:
    pairs = {("mtp", 4): dict(enumerate(logs, start=1))}
    return compare(pairs, baseline="off", min_effect=min_effect)[0]


def test_the_speed_up_is_the_geometric_mean_with_its_t_interval() -> None:
    """Logs 0.1, 0.2, 0.3: exp(0.2 ± 4.3027·0.1/√3), three rounds."""
    found = _one(0.1, 0.2, 0.3)
    assert found.speedup.value == pytest.approx(math.exp(0.2))
    assert found.speedup.low == pytest.approx(math.exp(0.2 - 0.248414), rel=1e-5)
    assert found.speedup.high == pytest.approx(math.exp(0.2 + 0.248414), rel=1e-5)
    assert found.speedup.n == 3


def test_below_three_rounds_there_is_no_interval_and_no_call() -> None:
    """Two rounds, however far apart from 1: unresolved, one more round is missing."""
    found = _one(1.0, 1.1)
    assert found.call is Call.UNRESOLVED
    assert (found.speedup.low, found.speedup.high, found.sim_low, found.p_value) == (None, None, None, None)
    assert found.speedup.value == pytest.approx(math.exp(1.05))
    assert found.more_rounds == 1


def test_without_a_pair_nothing_is_said() -> None:
    """No round on both sides: null, three rounds are missing."""
    found = _one()
    assert (found.speedup.value, found.speedup.n, found.call) == (None, 0, Call.UNRESOLVED)
    assert found.more_rounds == 3


@pytest.mark.parametrize(
    ("logs", "call"),
    [
        ((0.30, 0.31, 0.32), Call.PAYS),
        ((-0.30, -0.31, -0.32), Call.COSTS),
        ((0.001, 0.0, -0.001), Call.SAME),
        ((0.5, -0.4, 0.1), Call.UNRESOLVED),
    ],
)
def test_each_call_has_its_case(logs: tuple[float, ...], call: Call) -> None:
    """Far above, far below, at 1 within little, and anywhere."""
    assert _one(*logs).call is call


def test_same_goes_before_pays() -> None:
    """2 % faster, surely (p < 0.001), is less than the 5 % asked for: the same, with an interval above 1."""
    found = _one(0.0200, 0.0201, 0.0199)
    assert found.call is Call.SAME
    assert found.speedup.low is not None
    assert found.speedup.low > 1
    assert found.p_value is not None
    assert found.p_value < 0.001


def test_same_depends_on_the_smallest_effect_worth_acting_on() -> None:
    """The same rounds pay where 1 % is worth acting on."""
    assert _one(0.0200, 0.0201, 0.0199, min_effect=0.01).call is Call.PAYS


def test_a_family_needs_more_to_call() -> None:
    """Logs that pay alone (p = 0.03) don't among four comparisons, and the simultaneous interval contains 1."""
    logs = {1: 0.12, 2: 0.2, 3: 0.28, 4: 0.05}
    alone = compare({("mtp", 1): logs}, baseline="off", min_effect=0.05)[0]
    noise = {1: 0.3, 2: -0.3, 3: 0.2, 4: -0.2}
    family = compare({("mtp", n): logs if n == 1 else noise for n in (1, 2, 4, 8)}, baseline="off", min_effect=0.05)
    assert alone.call is Call.PAYS
    assert family[0].call is Call.UNRESOLVED
    assert family[0].p_adjusted == pytest.approx(4 * (alone.p_value or 0))
    assert family[0].speedup == alone.speedup
    assert family[0].sim_low is not None
    assert family[0].sim_low < 1 < (alone.speedup.low or 0)


def test_comparisons_without_an_interval_do_not_widen_the_family() -> None:
    """A level with one round is no test: the others stay as they are."""
    logs = {1: 0.3, 2: 0.31, 3: 0.32}
    found = compare({("mtp", 1): logs, ("mtp", 2): {1: 0.5}}, baseline="off", min_effect=0.05)
    assert found[0].p_adjusted == found[0].p_value
    assert found[0].sim_low == found[0].speedup.low


def test_pairs_are_rounds_with_work_done_on_both_sides() -> None:
    """Rounds missing on one side, null, or without net progress give no ratio."""
    variant = {1: 20.0, 2: 30.0, 3: None, 4: -1.0, 6: 5.0}
    baseline = {1: 10.0, 2: 0.0, 3: 10.0, 4: 10.0, 5: 10.0}
    assert log_ratios(variant, baseline) == {1: pytest.approx(math.log(2))}


def test_the_noise_floor_is_the_spread_of_the_baseline() -> None:
    """Values of ln X of 0, 0.1, 0.2 has s = 0.1: three rounds could have called exp(4.3027·√2·0.1/√3)."""
    found = noise_floor({1: 1.0, 2: math.exp(0.1), 3: math.exp(0.2)})
    assert found["s_ln"] == pytest.approx(0.1)
    assert found["smallest_speedup"] == pytest.approx(math.exp(4.302653 * math.sqrt(2) * 0.1 / math.sqrt(3)))
    assert noise_floor({1: 1.0, 2: 2.0})["s_ln"] is None


@given(
    st.lists(st.lists(st.floats(-2, 2), max_size=6), min_size=1, max_size=5),
    st.floats(0.01, 0.5),
)
def test_a_call_never_contradicts_its_interval(levels: list[list[float]], min_effect: float) -> None:
    """Pays lies above 1, costs below, same inside the band, and an unresolved simultaneous interval contains 1."""
    pairs = {("mtp", n): dict(enumerate(logs)) for n, logs in enumerate(levels, start=1)}
    for found in compare(pairs, baseline="off", min_effect=min_effect):
        low, high = found.speedup.low, found.speedup.high
        if low is None or high is None:
            assert found.call is Call.UNRESOLVED
            continue
        assert found.sim_low is not None
        assert found.sim_high is not None
        assert found.same_low is not None
        assert found.same_high is not None
        assert found.sim_low <= low * (1 + 1e-9)
        assert high <= found.sim_high * (1 + 1e-9)
        if found.call is Call.PAYS:
            assert low > 1 - 1e-9
        elif found.call is Call.COSTS:
            assert high < 1 + 1e-9
        elif found.call is Call.SAME:
            assert 1 / (1 + min_effect) <= found.same_low * (1 + 1e-9)
            assert found.same_high <= (1 + min_effect) * (1 + 1e-9)
        else:
            assert found.sim_low <= 1 + 1e-9
            assert found.sim_high >= 1 - 1e-9
