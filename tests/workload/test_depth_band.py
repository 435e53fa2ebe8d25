"""Segments at a fixed depth begin where sessions stay near it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.depth_band import check_depths, longest_window, windows
from loadgen.workload.draws import start_turns

GROWING = (100, 300, 500, 700, 900, 1000, 1100, 1150, 1300, 1500)
"""Turns 4 to 7 lie within 20 % of 1,000."""


def test_a_window_is_as_long_as_half_of_the_sessions_stay_near_the_depth() -> None:
    """Of runs of 1, 2 and 4 turns the middle one counts, of two the shorter; sessions that never come near don't."""
    one, two = (1000, 5000), (100, 900, 1100, 2000)
    assert longest_window([GROWING], 1000) == 4
    assert longest_window([GROWING, one, two, (10, 20)], 1000) == 2
    assert longest_window([GROWING, one], 1000) == 1
    assert longest_window([GROWING], 10_000) == 0
    assert longest_window([], 1000) == 0


def test_a_window_begins_where_its_mean_lies_nearest() -> None:
    """Of 4 turns 900 to 1,150 all are taken; of 2 turns 900 and 1,000 (mean 950) lie as near as 1,000 and 1,100."""
    assert windows([GROWING], 1000, 4) == [(900, 0, 4)]
    assert windows([GROWING], 1000, 2) == [(900, 0, 4)]
    assert windows([GROWING], 1100, 2) == [(1100, 0, 6)]
    assert windows([GROWING], 1000, 5) == []


def test_each_session_that_has_a_window_has_one() -> None:
    """Ordered by depth, and a history that was summed up on the way makes no difference."""
    summed_up = (950, 2000, 400, 980, 1010)
    assert windows([GROWING, summed_up, (10,)], 1000, 2) == [(900, 0, 4), (980, 1, 3)]


@given(
    st.lists(st.lists(st.integers(1, 3000), min_size=1, max_size=12), min_size=1, max_size=6),
    st.integers(1, 3000),
    st.integers(1, 4),
)
def test_every_turn_of_a_window_lies_in_the_band(sessions: list[list[int]], asked: int, turns: int) -> None:
    """However sessions grow: within 20 % of the depth, and inside one session."""
    for depth, session, start in windows(sessions, asked, turns):
        window = sessions[session][start : start + turns]
        assert window[0] == depth
        assert len(window) == turns
        assert all(0.8 * asked <= one <= 1.2 * asked for one in window)
    if longest_window(sessions, asked):
        assert windows(sessions, asked, longest_window(sessions, asked))


def test_a_depth_that_no_prompt_has_is_told_the_depths_there_are() -> None:
    """With the range, the half, and what to do."""
    assert check_depths("w", [GROWING], [500, 1000]) == {500: 1, 1000: 4}
    message = (
        "Workload w has no prompt within 20% of 48,000 tokens (38,400 to 57,600): its prompts have 100 to 1,500 "
        "tokens, half of them more than 950. Ask for another --depth, or choose a workload that gets there."
    )
    with pytest.raises(WorkloadError, match=re.escape(message)):
        check_depths("w", [GROWING], [1000, 48_000])
    assert check_depths("w", [GROWING], []) == {}


def test_starts_at_a_depth_are_drawn_among_its_windows() -> None:
    """Each session that stays there long enough is used as often as any other, and never another turn of it."""
    sessions = [tuple(one + shift for one in GROWING) for shift in range(0, 40, 5)]
    drawn = start_turns(sessions, seed=1, level=2, rounds=8, depth=1000, turns=4)
    starts = [start for round_ in drawn for start in round_]
    assert {turn for _, turn in starts} == {4}
    assert sorted(session for session, _ in starts) == sorted([*range(8), *range(8)])


def test_depths_have_draws_of_their_own_and_leave_the_others_as_they_were() -> None:
    """The starts of a run without depths don't change because there are depths."""
    sessions = [tuple(one + shift for one in GROWING) for shift in range(0, 40, 5)]
    assert start_turns(sessions, seed=1, level=1, rounds=4) == start_turns(sessions, seed=1, level=1, rounds=4, turns=9)
    at = {depth: start_turns(sessions, seed=1, level=1, rounds=8, depth=depth, turns=1) for depth in (900, 1100)}
    assert [[s for s, _ in one] for one in at[900]] != [[s for s, _ in one] for one in at[1100]]


def test_a_segment_longer_than_sessions_stay_begins_all_the_same() -> None:
    """A pilot plays on beyond the depth; without any turn there is nothing to play."""
    assert start_turns([GROWING], seed=1, level=1, rounds=1, depth=1000, turns=9) == [[(0, 4)]]
    with pytest.raises(WorkloadError, match="The workload holds no turn near a depth of 9,000 tokens"):
        start_turns([GROWING], seed=1, level=1, rounds=1, depth=9000, turns=1)
