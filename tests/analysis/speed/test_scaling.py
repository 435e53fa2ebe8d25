"""Rules of the Universal Scalability Law: what is fitted, what isn't, and what is said of it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.speed.scaling import Law, relative_error, scaling
from loadgen.analysis.speed.scaling_text import scaling_sentences
from tests.analysis.timed import MAKE, paced

_LEVELS = (1, 2, 4, 8, 12, 16)
_NOISE = (0.98, 1.0, 1.02)


def _found(rates: Mapping[int, Sequence[float]], slots: int | None = 16) -> dict[str, Any]:
    (entry,) = MAKE.strict_json(scaling(paced("off", rates), ["off"], {"off": slots}))
    assert isinstance(entry, dict)
    return entry


def _law(
    gamma: float, alpha: float, beta: float, levels: Sequence[int] = _LEVELS, noise: Sequence[float] = _NOISE
) -> dict[int, list[float]]:
    """Rounds of a law, slower and faster by so much at all levels alike."""
    return {level: [Law(gamma, alpha, beta).rate(level) * one for one in noise] for level in levels}


def test_the_law_is_the_published_one() -> None:
    """With 100, 0.05 and 0.002 at 8 agents: 800 ÷ (1 + 0.05 · 7 + 0.002 · 56)."""
    assert Law(100, 0.05, 0.002).rate(8) == pytest.approx(800 / 1.462)
    assert Law(100, 0.05, 0.002).rate(1) == 100


def test_what_follows_the_law_gives_its_coefficients_and_its_peak() -> None:
    """100, 0.05 and 0.01: most at √(0.95 ÷ 0.01) = 9.75 agents, within what was measured."""
    found = _found(_law(100, 0.05, 0.01))
    assert (found["fit"], found["reason"], found["levels"]) == ("good", None, list(_LEVELS))
    assert found["gamma"]["value"] == pytest.approx(100, rel=1e-4)
    assert found["alpha"]["value"] == pytest.approx(0.05, rel=1e-3)
    assert found["beta"]["value"] == pytest.approx(0.01, rel=1e-3)
    assert found["peak"]["value"] == pytest.approx(math.sqrt(0.95 / 0.01), rel=1e-3)
    assert (found["peak"]["n"], found["at_bound"], found["peak_reason"]) == (3, [], None)


def test_noise_that_a_round_shares_moves_its_height_alone() -> None:
    """Gamma has the spread of the rounds, ± 4.3027 · 2 ÷ √3; contention, coherency and peak none."""
    found = _found(_law(100, 0.05, 0.01))
    assert found["gamma"]["high"] - found["gamma"]["low"] == pytest.approx(2 * 4.3027 * 2 / 3**0.5, rel=1e-2)
    assert found["peak"]["high"] - found["peak"]["low"] < 0.01


def test_a_peak_beyond_what_was_measured_is_no_number() -> None:
    """√(0.95 ÷ 0.001) = 31 agents, and 16 were measured: nothing is extrapolated."""
    found = _found(_law(100, 0.05, 0.001))
    assert (found["fit"], found["peak"], found["peak_reason"]) == ("good", None, "beyond what was measured")
    assert scaling_sentences([{**found, "variant": "off"}]) == []


def test_a_peak_before_what_was_measured_is_none_either() -> None:
    """√(0.5 ÷ 0.1) = 2.2 agents, and the levels begin at 4."""
    found = _found(_law(100, 0.5, 0.1, levels=(4, 6, 8, 10, 12, 16)))
    assert (found["peak"], found["peak_reason"]) == (None, "before what was measured")


@pytest.mark.parametrize(
    ("alpha", "beta", "names"), [(0.0, 0.0, ["alpha", "beta"]), (0.0, 0.01, ["alpha"]), (0.1, 0.0, ["beta"])]
)
def test_coefficients_at_their_bound_are_named(alpha: float, beta: float, names: list[str]) -> None:
    """What would rather be negative, or is nothing, comes out at 0 and says so."""
    found = _found(_law(100, alpha, beta))
    assert (found["fit"], found["at_bound"]) == ("good", names)
    assert all(found[name]["value"] == 0 for name in names)


def test_growth_faster_than_agents_has_no_negative_coefficient() -> None:
    """Throughput that rises by N^1.01 would have a negative contention: both are 0, and named."""
    found = _found({level: [100 * level**1.01 * one for one in (0.95, 1.0, 1.05)] for level in _LEVELS})
    assert found["fit"] == "good"
    assert found["at_bound"] == ["alpha", "beta"]
    assert found["peak_reason"] == "beyond what was measured"


def test_rates_that_jump_are_a_poor_fit_without_coefficients() -> None:
    """A cliff to half the rate between 4 and 8 agents is no law, at 2 % of noise."""
    rates = {level: [(100 * level if level <= 4 else 50 * level) * one for one in _NOISE] for level in _LEVELS}
    found = _found(rates)
    assert found["fit"] == "poor"
    assert found["p_value"] < 1e-6
    assert (found["gamma"], found["alpha"], found["beta"], found["peak"]) == (None, None, None, None)
    assert "farther from the law" in found["reason"]


def test_the_same_jump_within_wide_noise_is_not_told_from_the_law() -> None:
    """What a few noisy rounds can't contradict stands."""
    rates = {level: [100 * level * one * (1.1 if level == 4 else 1.0) for one in (0.6, 1.0, 1.4)] for level in _LEVELS}
    assert _found(rates)["fit"] == "good"


def test_levels_beyond_the_slots_do_not_count() -> None:
    """Eight slots leave four of six levels, too few; without known slots all count."""
    rates = _law(100, 0.05, 0.01)
    few = _found(rates, slots=8)
    assert (few["levels"], few["fit"]) == ([1, 2, 4, 8], None)
    assert few["reason"] == "it takes 6 levels within its 8 slots, and there are 4"
    assert _found(rates, slots=None)["fit"] == "good"


def test_fewer_than_three_rounds_at_a_level_know_no_error() -> None:
    """Nothing is fitted, and the reason says why."""
    rates = _law(100, 0.05, 0.01)
    found = _found({**rates, 4: rates[4][:2]})
    assert (found["fit"], found["gamma"]) == (None, None)
    assert found["reason"] == "it takes 3 rounds at every level, and at one there are 2"


def test_equal_rounds_are_judged_by_a_tenth_of_a_percent() -> None:
    """Zero variance: rates on the law are a good fit, rates off it a poor one; no division by 0."""
    exact = _law(100, 0.05, 0.01, noise=(1.0, 1.0, 1.0))
    assert _found(exact)["fit"] == "good"
    assert relative_error({1: {1: 5.0, 2: 5.0}}) == 1e-3
    assert _found({**exact, 8: [rate * 1.2 for rate in exact[8]]})["fit"] == "poor"


def test_the_sentence_is_about_the_peak_alone() -> None:
    """Said where the interval of the peak lies within the levels, and not of a variant that is void."""
    entry = {**_found(_law(100, 0.05, 0.01)), "variant": "off"}
    assert scaling_sentences([entry]) == [
        (
            "off does most with about 9.75 agents (95 % interval 9.75 to 9.75, Universal Scalability Law): more agents "
            "at a time get less done in all."
        )
    ]
    assert scaling_sentences([entry], void={"off"}) == []
    assert scaling_sentences([{**entry, "peak": {**entry["peak"], "high": None}}]) == []


def test_a_variant_without_valid_trials_has_no_entry() -> None:
    """Nothing to say is nothing."""
    assert scaling({("off", 1): []}, ["off", "mtp"], {}) == []


@settings(max_examples=40)
@given(
    st.dictionaries(st.integers(1, 64), st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=4), min_size=1, max_size=8)
)
def test_whatever_the_curve_it_is_fitted_or_has_a_reason(rates: dict[int, list[float]]) -> None:
    """Non-monotone curves, spikes, one round: strict JSON, no negative coefficient, a peak within the levels."""
    found = _found(rates, slots=None)
    if found["fit"] != "good":
        assert found["reason"]
        assert found["gamma"] is None
        return
    assert min(found[name]["value"] for name in ("gamma", "alpha", "beta")) >= 0
    if found["peak"] is not None:
        assert min(rates) <= found["peak"]["value"] <= max(rates)
