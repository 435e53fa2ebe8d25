"""Rules of the crossover."""

import math
from typing import Any

import pytest

from loadgen.analysis.estimators.crossover import crossover


def _at(**by_level: list[float]) -> Any:
    return crossover("mtp", {int(name[1:]): dict(enumerate(logs, start=1)) for name, logs in by_level.items()})


def test_c03_speculation_that_wins_alone_and_loses_from_two_up_crosses_between() -> None:
    """Speed-ups 1.910, 0.788, 0.742 at 1, 2, 4 agents: once, linear in log2 N between 1 and 2."""
    off, on = {1: 11.11, 2: 20.14, 4: 34.14}, {1: 21.22, 2: 15.87, 4: 25.32}
    logs = {n: math.log(on[n] / off[n]) for n in off}
    assert [round(math.exp(d), 3) for d in logs.values()] == [1.910, 0.788, 0.742]
    found = crossover("mtp", {n: {1: d, 2: d, 3: d} for n, d in logs.items()})
    assert found is not None
    assert found["kind"] == "at"
    expected = 2 ** (logs[1] / (logs[1] - logs[2]))
    assert found["concurrency"]["value"] == pytest.approx(expected)
    assert 1 < found["concurrency"]["value"] < 2
    assert found["rises"] is False


def test_between_levels_the_line_is_in_log2() -> None:
    """From +0.2 at 2 to -0.2 at 8 agents it crosses at 4, the middle in doublings."""
    found = _at(n2=[0.2] * 3, n8=[-0.2] * 3)
    assert found["concurrency"]["value"] == pytest.approx(4)


def test_the_interval_is_every_n_that_the_rounds_cannot_tell_from_a_crossover() -> None:
    """Rounds 0.2 ± 0.02 at 2 and -0.2 ± 0.02 at 8 agents: every N with |d| below 4.3027·0.02/√3 = 0.0497."""
    found = _at(n2=[0.18, 0.2, 0.22], n8=[-0.22, -0.2, -0.18])
    low, high = found["concurrency"]["low"], found["concurrency"]["high"]
    assert low == pytest.approx(2 * 4 ** ((0.2 - 0.04968) / 0.4), rel=0.01)
    assert high == pytest.approx(2 * 4 ** ((0.2 + 0.04968) / 0.4), rel=0.01)


def test_an_interval_may_be_open_at_both_ends() -> None:
    """Where no level is told from 1, the crossover may be anywhere."""
    wide = _at(n2=[0.1, 0.2, 0.3], n8=[-0.1, -0.2, -0.3])
    assert (wide["open_low"], wide["open_high"]) == (True, True)
    assert (wide["concurrency"]["low"], wide["concurrency"]["high"]) == (None, None)


def test_an_interval_may_be_open_at_one_end() -> None:
    """Surely above 1 at 1 agent, anything at 4: closed below, open above."""
    found = _at(n1=[0.30, 0.31, 0.32], n4=[-0.3, 0.1, 0.1])
    assert found["concurrency"]["low"] > 1
    assert found["concurrency"]["high"] is None
    assert (found["open_low"], found["open_high"]) == (False, True)


def test_no_crossing_names_the_side() -> None:
    """Above 1 everywhere: none up to the largest. Below 1 everywhere: below the smallest."""
    above, below = _at(n1=[0.3] * 3, n4=[0.1] * 3), _at(n1=[-0.1] * 3, n4=[-0.3] * 3)
    assert (above["kind"], above["concurrency"]["value"]) == ("none_up_to", 4)
    assert (below["kind"], below["concurrency"]["value"]) == ("below", 1)
    assert above["concurrency"]["low"] is None


def test_more_than_one_crossing_has_no_value() -> None:
    """Up, down, up: several, each listed."""
    found = _at(n1=[0.1] * 3, n2=[-0.1] * 3, n4=[0.1] * 3)
    assert (found["kind"], found["concurrency"]["value"]) == ("several", None)
    assert found["crossings"] == [pytest.approx(2**0.5), pytest.approx(2**1.5)]


def test_a_variant_may_begin_to_pay() -> None:
    """From below to above is a crossover too, and says that it rises."""
    assert _at(n1=[-0.1] * 3, n2=[0.1] * 3)["rises"] is True


def test_fewer_than_three_rounds_have_no_interval() -> None:
    """The means cross, but nothing is said of how surely."""
    found = _at(n1=[0.1, 0.1], n2=[-0.1, -0.1])
    assert found["kind"] == "at"
    assert (found["concurrency"]["low"], found["open_low"]) == (None, False)


def test_without_pairs_there_is_no_crossover() -> None:
    """Nothing to say is none."""
    assert crossover("mtp", {1: {}}) is None


def test_a_dip_within_the_noise_is_no_second_crossing() -> None:
    """Sure above 1 at 1 and sure below at 16; between them means wiggle: one crossing, where the falling fit has it."""
    found = _at(
        n1=[0.28, 0.30, 0.32], n2=[-0.20, 0.16, 0.01], n4=[0.25, -0.20, -0.02], n8=[-0.1, 0.06, 0.0], n16=[-0.2] * 3
    )
    assert found["kind"] == "at"
    assert found["rises"] is False
    # 2 and 4 agents are pooled: both 0.0 on average, from where it falls to -0.0133 at 8.
    assert len(found["crossings"]) == 1
    assert 2 <= found["concurrency"]["value"] <= 8
    assert found["concurrency"]["low"] <= found["concurrency"]["value"] <= found["concurrency"]["high"]


def test_a_wiggle_around_1_without_a_sure_level_is_fitted_as_one_curve() -> None:
    """No level is told from 1: the better of a falling and a rising curve, with an interval open at both ends."""
    found = _at(n1=[0.2, -0.1, -0.07], n2=[-0.2, 0.1, 0.04], n4=[0.3, -0.2, 0.02], n8=[0.1, -0.2, 0.25])
    assert (found["kind"], found["rises"]) == ("at", True)
    assert (found["open_low"], found["open_high"]) == (True, True)
    flat = _at(n1=[0.2, -0.1, 0.05], n2=[-0.2, 0.1, 0.07], n4=[0.3, -0.2, 0.02])
    assert (flat["kind"], flat["crossings"]) == ("none_up_to", [])


def test_several_names_one_crossing_between_two_sure_sides() -> None:
    """Above, (wiggle,) below, above, each surely: two crossings, though the means cross four times."""
    found = _at(n1=[0.2] * 3, n2=[-0.1, 0.3, -0.3], n4=[0.3, -0.28, 0.1], n8=[-0.2] * 3, n16=[0.2] * 3)
    assert found["kind"] == "several"
    assert len(found["crossings"]) == 2
    assert 1 < found["crossings"][0] < 8 < found["crossings"][1] < 16


def test_levels_that_a_look_closed_keep_their_rounds() -> None:
    """4 rounds at 2 agents and 12 at 8: the value is of all rounds, and the interval holds it."""
    early = {1: 0.21, 2: 0.19, 3: 0.20, 4: 0.20}
    long = {r: -0.2 + (0.05 if r % 2 else -0.05) for r in range(1, 13)}
    found = crossover("mtp", {2: early, 8: long})
    assert found is not None
    assert found["concurrency"]["value"] == pytest.approx(4)
    assert found["concurrency"]["low"] < 4 < found["concurrency"]["high"]
    assert found["concurrency"]["n"] == 4


def test_the_interval_of_equal_rounds_is_that_of_the_interpolated_rounds() -> None:
    """What two levels share adds up as it does in each round: equal noise gives the same width throughout."""
    noise = [0.02, -0.01, 0.03, -0.04]
    found = _at(n1=[0.1 + e for e in noise], n4=[-0.1 + e for e in noise])
    low, high = found["concurrency"]["low"], found["concurrency"]["high"]
    half = 3.182446 * math.sqrt(sum(e**2 for e in noise) / 3) / 2
    assert math.log2(low) == pytest.approx(1 - half / 0.1, abs=2 / 128)
    assert math.log2(high) == pytest.approx(1 + half / 0.1, abs=2 / 128)


def test_a_cliff_is_a_step() -> None:
    """Flat at 1.35 up to 4 agents, flat at 0.82 from 8 on: no value, the two levels beside it, and both speed-ups."""
    noise = [0.01, -0.01, 0.005, -0.005]
    found = _at(**{f"n{n}": [(0.3 if n <= 4 else -0.2) + e for e in noise] for n in (1, 2, 4, 8, 16)})
    assert (found["kind"], found["concurrency"]["value"]) == ("step", None)
    assert (found["concurrency"]["low"], found["concurrency"]["high"]) == (4, 8)
    assert (found["open_low"], found["open_high"], found["rises"]) == (False, False, False)
    assert found["step"]["from"], found["step"]["to"] == (4, 8)
    assert found["step"]["before"] == pytest.approx(math.exp(0.3))
    assert found["step"]["after"] == pytest.approx(math.exp(-0.2))


def test_other_kinds_have_no_step() -> None:
    """A line stays a line."""
    noise = [0.01, -0.01, 0.005, -0.005]
    found = _at(**{f"n{2**k}": [0.3 - 0.15 * k + e for e in noise] for k in range(5)})
    assert (found["kind"], found["step"]) == ("at", None)
    assert found["concurrency"]["value"] == pytest.approx(4)
