"""Tasks per hour and joules per task between measured levels."""

import math

import pytest

from loadgen.analysis.capacity.rates import Rates, rates
from loadgen.analysis.estimators.comparison import speedup
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.speed.rate_curve import Curve


def known(
    by_level: dict[int, dict[int, float]], joules: dict[int, Estimate] | None = None, half: float | None = 1.0
) -> Rates:
    """Rates by level and round; a level's estimate is its mean, give or take so much."""
    at = {}
    for level, found in by_level.items():
        mean = sum(found.values()) / len(found)
        at[level] = Estimate(mean) if half is None else Estimate(mean, mean - half, mean + half, len(found))
    return Rates(at, Curve(by_level), joules or {})


def test_at_a_level_it_is_the_estimate_of_the_summary() -> None:
    """Not that of the interpolation."""
    found = known({1: {1: 10.0, 2: 12.0, 3: 14.0}})
    assert found.tasks_per_hour(1) == Estimate(12.0, 11.0, 13.0, 3)
    assert found.tasks_per_hour(1.0) == Estimate(12.0, 11.0, 13.0, 3)


def test_between_levels_each_round_is_interpolated_in_the_logarithms_of_both() -> None:
    """Half of the way from 4 to 16 is 8, and there 10 and 40 are 20; the interval is that of the rounds."""
    found = known({4: {1: 10.0, 2: 10.0, 3: 11.0}, 16: {1: 40.0, 2: 40.0, 3: 44.0, 4: 1.0}})
    between, expected = found.tasks_per_hour(8), speedup([math.log(20), math.log(20), math.log(22)])
    assert between.as_json() == pytest.approx(expected.as_json())
    assert between.value == pytest.approx(20 * 1.1 ** (1 / 3))


@pytest.mark.parametrize("agents", [0.5, 3.9, 16.1, 64])
def test_outside_of_the_levels_nothing_is_known(agents: float) -> None:
    """Null, not the nearest level."""
    assert known({4: {1: 10.0}, 16: {1: 40.0}}).tasks_per_hour(agents).value is None


def test_levels_without_a_common_round_say_nothing_in_between() -> None:
    """Rounds differ in their work."""
    assert known({4: {1: 10.0}, 16: {2: 40.0}}).tasks_per_hour(8).value is None


def test_joules_are_interpolated_with_their_intervals() -> None:
    """100 and 400 J are 200 J halfway; an end that is missing on one side is missing in between."""
    found = known({}, {4: Estimate(100.0, 90.0, 110.0, 3), 16: Estimate(400.0, 360.0, None, 3, estimable=False)})
    between = found.joules_per_task(8)
    assert between.value == pytest.approx(200)
    assert between.low == pytest.approx(180)
    assert (between.high, between.estimable) == (None, False)
    assert found.joules_per_task(4).value == 100.0
    assert found.joules_per_task(32).value is None


def test_most_is_done_by_the_surest_rate_up_to_so_many_agents() -> None:
    """A measured level, or the number itself; by values where nothing has an interval; null outside of the levels."""
    curve = {1: {1: 10.0, 2: 10.0, 3: 10.0}, 4: {1: 30.0, 2: 30.0, 3: 30.0}, 16: {1: 20.0, 2: 20.0, 3: 20.0}}
    found = known(curve)
    assert [found.most(agents) for agents in (1, 2, 4, 10, 16)] == [1, 2, 4, 4, 4]
    assert known({1: {1: 10.0}, 4: {1: 30.0}}, half=None).most(4) == 4
    assert found.most(64) == 4
    assert known({4: {1: 10.0}}).most(2) is None


def test_rates_are_those_of_the_valid_trials() -> None:
    """A cell without one has none; a trial that earned nothing has no logarithm."""
    trials = [
        {"round": 1, "valid": True, "tasks_per_hour": 10.0},
        {"round": 2, "valid": False, "tasks_per_hour": 5.0},
        {"round": 3, "valid": True, "tasks_per_hour": 0.0},
        {"round": 4, "valid": True, "tasks_per_hour": None},
    ]
    rate = {"value": 10.0, "low": None, "high": None, "n": 3, "estimable": False}
    cell = {"variant": "off", "concurrency": 4, "valid_trials": 3, "by_trial": trials, "tasks_per_hour": rate}
    joules = {"value": 5.0, "low": 4.0, "high": 6.0, "n": 3}
    energy = {
        "by_concurrency": [{"concurrency": 4, "joules_per_task": joules}, {"concurrency": 8, "joules_per_task": None}]
    }
    summary = {
        "cells": [cell, {**cell, "concurrency": 8, "valid_trials": 0}, {**cell, "variant": "mtp"}],
        "memory": [{"variant": "off", "energy": energy}],
    }
    found = rates(summary, "off")
    assert found.curve.by_level == {4: {1: 10.0}}
    assert found.at_levels == {4: Estimate(10.0, n=3, estimable=False)}
    assert found.joules == {4: Estimate(5.0, 4.0, 6.0, 3)}
