"""Rules of the largest number of agents: where limits are crossed, how surely, and what ends it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.capacity.largest import Ends, kept_again, largest
from loadgen.analysis.capacity.reading import TRIALS, Reading

Distances = tuple[float | None, float | None, float | None]
"""Distance of the value from the limit, and of the kinder and the less kind end."""


def limit(points: dict[int, Distances | float], name: str = "ttft_p95<2s") -> list[Reading]:
    """Readings of one limit by level; a number alone has an interval of no width."""
    out = []
    for level, point in points.items():
        value, best, worst = point if isinstance(point, tuple) else (point, point, point)
        reason = f"too few at {level}" if value is None else None
        out.append(Reading(name, level, excess=value, best=best, worst=worst, reason=reason))
    return out


UNKNOWN: Distances = (None, None, None)


@pytest.mark.parametrize(
    ("points", "agents"),
    [
        ({4: -1.0, 16: 1.0}, 8),
        ({4: -1.0, 16: 3.0}, 5),
        ({4: -3.0, 16: 1.0}, 11),
        ({1: -1.0, 2: -1.0, 4: 0.0, 8: 1.0}, 4),
        ({4: -1.0, 5: 1.0}, 4),
    ],
)
def test_a_limit_is_crossed_linearly_in_log_n(points: dict[int, Distances | float], agents: int) -> None:
    """Half of the way from 4 to 16 is 8; a quarter is 5.66, three quarters 11.3; agents are whole, never rounded up."""
    found = largest({"a": limit(points)}, None)
    assert (found.value, found.low, found.high) == (agents, agents, agents)
    assert (found.ends, found.binds, found.open_high) == (Ends.LIMIT, "ttft_p95<2s", False)


def test_its_interval_is_where_the_ends_of_the_figures_cross() -> None:
    """The less kind ends cross at 4 · 4^¼, the kinder ones at 4 · 4^¾, the values at 8."""
    found = largest({"a": limit({4: (-1.0, -3.0, -1.0), 16: (1.0, 1.0, 3.0)})}, None)
    assert (found.low, found.value, found.high) == (5, 8, 11)


def test_the_tightest_limit_binds() -> None:
    """Value and both ends each by the limit that lets the fewest agents go there."""
    first = limit({4: (-1.0, -1.0, -1.0), 16: (1.0, 1.0, 1.0)}, "first")
    second = limit({4: (-3.0, -4.0, -1.0), 16: (1.0, -1.0, 3.0)}, "second")
    found = largest({"first": first, "second": second}, None)
    assert (found.value, found.low, found.high, found.binds, found.at) == (8, 5, 8, "first", 16)


def test_a_limit_that_is_missed_everywhere_leaves_no_agents() -> None:
    """None is no 0, and nothing is said below the smallest level; where the interval tells, none may be."""
    sure = largest({"a": limit({2: 1.0, 4: 2.0})}, None)
    assert (sure.value, sure.low, sure.high, sure.open_high) == (None, None, None, False)
    assert (sure.ends, sure.binds, sure.at) == (Ends.BELOW, "ttft_p95<2s", 2)
    maybe = largest({"a": limit({2: (1.0, -1.0, 2.0), 8: (2.0, 1.0, 3.0)})}, None)
    assert (maybe.value, maybe.low, maybe.high, maybe.ends) == (None, None, 4, Ends.BELOW)


def test_nothing_lies_beyond_the_largest_level() -> None:
    """A limit that is kept everywhere ends nothing, and the upper end is open."""
    found = largest({"a": limit({1: -2.0, 8: -1.0})}, None)
    assert (found.value, found.low, found.high, found.open_high) == (8, 8, None, True)
    assert (found.ends, found.binds, found.at) == (Ends.MEASURED, None, None)
    doubtful = largest({"a": limit({1: (-2.0, -2.0, -2.0), 8: (-1.0, -2.0, 2.0)})}, None)
    assert (doubtful.value, doubtful.low, doubtful.open_high) == (8, 2, True)


def test_what_can_not_be_told_ends_it_where_no_larger_level_keeps_the_limit() -> None:
    """At the level before; at the smallest one nothing is left. The other limits still bound it."""
    for beyond in ({}, {16: 1.0}):
        later = largest({"a": limit({1: -1.0, 4: -1.0, 8: UNKNOWN, **beyond})}, None)
        assert (later.value, later.low, later.ends, later.at) == (4, 4, Ends.NOT_TOLD, 8)
        assert (later.reason, later.open_high) == ("too few at 8", True)
    never = largest({"a": limit({4: UNKNOWN, 16: 1.0}), "b": limit({4: -1.0, 16: 1.0})}, None)
    assert (never.value, never.low, never.high, never.ends) == (None, None, 8, Ends.NOT_TOLD)


def test_what_can_not_be_told_is_passed_over_where_a_larger_level_keeps_the_limit() -> None:
    """Few agents send few requests: that p95 of one agent isn't estimable is no doubt about eight."""
    found = largest({"a": limit({1: UNKNOWN, 2: UNKNOWN, 8: -1.0, 32: 1.0})}, None)
    assert (found.value, found.low, found.high, found.ends) == (16, 16, 16, Ends.LIMIT)


def test_a_level_of_which_no_trial_counts_is_not_passed_over() -> None:
    """A server that died with 8 agents may do so with fewer than 16."""
    trials = limit({4: -1.0, 8: UNKNOWN, 16: -1.0}, TRIALS)
    found = largest({TRIALS: trials, "a": limit({4: -1.0, 8: UNKNOWN, 16: -1.0})}, None)
    assert (found.value, found.low, found.ends, found.binds, found.at) == (4, 4, Ends.NOT_TOLD, TRIALS, 8)


def test_no_n_is_surely_within_beyond_the_largest_that_is_within() -> None:
    """A level that misses the limit, without an interval, isn't passed over either."""
    found = largest({"a": limit({2: -1.0, 8: (1.0, None, None), 32: -1.0})}, None)
    assert (found.value, found.low) == (4, 4)


def test_a_limit_that_is_surely_missed_goes_before_one_that_can_not_be_told() -> None:
    """At the smallest level too."""
    found = largest({"a": limit({4: UNKNOWN}), "b": limit({4: 1.0}, "b")}, None)
    assert (found.ends, found.binds) == (Ends.BELOW, "b")


def test_values_without_an_interval_promise_nothing() -> None:
    """A value, but no N that is surely within, and none that is surely beyond."""
    found = largest({"a": limit({4: (-1.0, None, None), 16: (1.0, None, None)})}, None)
    assert (found.value, found.low, found.high, found.open_high) == (8, None, None, True)


def test_the_first_miss_counts_where_a_curve_is_not_monotone() -> None:
    """That a later level keeps the limit again is told apart."""
    of = {"a": limit({1: -1.0, 4: 1.0, 8: -1.0, 16: -0.5, 32: 1.0})}
    found = largest(of, None)
    assert (found.value, found.at) == (2, 4)
    assert kept_again(of, found) == [8, 16]
    assert kept_again({"a": limit({1: -1.0})}, largest({"a": limit({1: -1.0})}, None)) == []


@pytest.mark.parametrize(("slots", "extrapolated"), [(None, False), (16, False), (8, False), (7, True), (4, True)])
def test_between_levels_beyond_the_slots_it_is_extrapolated(slots: int | None, extrapolated: bool) -> None:
    """A crossing at 8 between 4 and 16."""
    assert largest({"a": limit({4: -1.0, 16: 1.0})}, slots).extrapolated is extrapolated


def test_a_measured_level_beyond_the_slots_is_not() -> None:
    """What was measured was measured; but an end of the interval beside it is none."""
    assert not largest({"a": limit({4: -1.0, 16: -1.0})}, 8).extrapolated
    assert largest({"a": limit({4: -1.0, 16: (-1.0, -1.0, 0.5)})}, 8).extrapolated


def test_no_readings_are_no_agents() -> None:
    """A variant that was never measured."""
    found = largest({"a": []}, 8)
    assert (found.value, found.ends, found.at, found.reason, found.open_high) == (None, Ends.NOT_TOLD, None, None, True)


_LEVELS = st.lists(st.integers(1, 512), min_size=1, max_size=6, unique=True).map(sorted)


@given(_LEVELS, st.data())
def test_a_value_lies_in_its_interval_and_within_what_was_measured(levels: Sequence[int], data: st.DataObject) -> None:
    """Whatever the curve: non-monotone, with gaps, without intervals."""
    numbers = st.floats(-5, 5)

    def point() -> Distances:
        value = data.draw(numbers)
        if data.draw(st.integers(0, 5)) == 0:
            return UNKNOWN
        return value, value - data.draw(st.floats(0, 2)), value + data.draw(st.floats(0, 2))

    found = largest({"a": limit({level: point() for level in levels})}, data.draw(st.none() | st.integers(1, 64)))
    if found.value is not None:
        assert levels[0] <= found.value <= levels[-1]
        assert found.low is None or levels[0] <= found.low <= found.value
        assert found.high is None or found.value <= found.high <= levels[-1]
    else:
        assert found.low is None
