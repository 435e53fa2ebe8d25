"""Rules of the random draws of a run."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.draws import rng, session_index, start_turns

_DEPTHS = [[100 * s + 10 * t for t in range(5 + s)] for s in range(6)]
_TURNS = sum(len(session) for session in _DEPTHS)
_ORDERED = sorted((depth, s, t) for s, session in enumerate(_DEPTHS) for t, depth in enumerate(session))
_RANK = {(s, t): rank for rank, (_, s, t) in enumerate(_ORDERED)}


def test_equal_parts_give_equal_draws_and_other_parts_others() -> None:
    """A draw depends on its seed and parts alone, and a number is not its text."""
    assert rng(7, "a", 1).integers(1 << 60) == rng(7, "a", 1).integers(1 << 60)
    generators = [rng(7, "a", 1), rng(7, "a", "1"), rng(8, "a", 1), rng(7, "a1")]
    draws = {int(generator.integers(1 << 60)) for generator in generators}
    assert len(draws) == 4


def test_draws_never_change_between_versions() -> None:
    """A recorded seed keeps its meaning: these values are fixed."""
    assert rng(1, "a").integers(1_000_000) == 911_494
    assert [session_index(1, 1, 4, agent, 1, 100) for agent in range(4)] == [23, 38, 22, 8]


@given(seed=st.integers(0, 2**31), level=st.integers(1, 9), sessions=st.integers(1, 40), passes=st.integers(1, 4))
def test_every_session_is_used_exactly_once_a_pass(seed: int, level: int, sessions: int, passes: int) -> None:
    """Dealt round the agents, each run of as many sessions as the pool has holds every one of them once."""
    wanted = sessions * passes
    dealt = [session_index(seed, 1, level, place % level, place // level + 1, sessions) for place in range(wanted)]
    for number in range(passes):
        assert sorted(dealt[number * sessions : (number + 1) * sessions]) == list(range(sessions))


def test_passes_rounds_levels_and_the_warm_up_have_their_own_orders() -> None:
    """No order of the pool is that of another pass, round, level or seed, or of the warm-up."""
    pool = 50
    orders = {
        tuple(session_index(seed, round_, level, place % level, kth + place // level, pool) for place in range(pool))
        for seed, round_, level, kth in ((1, 1, 5, 1), (1, 1, 5, 11), (1, 2, 5, 1), (1, 1, 10, 1), (2, 1, 5, 1))
    }
    assert len(orders) == 5
    warm = [session_index(1, 1, 5, agent, 0, pool) for agent in range(5)]
    assert warm != [session_index(1, 1, 5, agent, 1, pool) for agent in range(5)]
    assert len(set(warm)) == 5


def test_every_place_of_a_pass_is_uniform_over_the_pool() -> None:
    """Each session of the pool is equally likely: chi-square over 10 sessions stays below its 99.9 % point."""
    counts = Counter(session_index(seed, 1, 8, 3, 2, 10) for seed in range(5000))
    assert set(counts) == set(range(10))
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 27.9


def test_an_empty_pool_is_refused() -> None:
    """Neither a session nor a start turn can be drawn from nothing."""
    with pytest.raises(WorkloadError):
        session_index(1, 1, 1, 0, 1, 0)
    with pytest.raises(WorkloadError):
        start_turns([[], []], seed=1, level=2, rounds=1)


@given(seed=st.integers(0, 2**31), level=st.integers(1, 9), rounds=st.integers(1, 7))
def test_a_trial_has_one_start_in_each_share_of_the_depths(seed: int, level: int, rounds: int) -> None:
    """Cut into as many equal shares as there are agents, the ordered turns hold one start of a trial in each share."""
    for trial in start_turns(_DEPTHS, seed=seed, level=level, rounds=rounds):
        ranks = sorted(_RANK[start] for start in trial)
        assert len(ranks) == level
        for share, rank in enumerate(ranks):
            assert share * _TURNS / level - 1 <= rank <= (share + 1) * _TURNS / level


@given(seed=st.integers(0, 2**31), level=st.integers(1, 9), rounds=st.integers(1, 7))
def test_the_run_as_a_whole_covers_the_depths_at_equal_distances(seed: int, level: int, rounds: int) -> None:
    """Over all rounds the starts are a systematic sample: no two neighbours are further apart than one distance."""
    starts = start_turns(_DEPTHS, seed=seed, level=level, rounds=rounds)
    ranks = sorted(_RANK[start] for trial in starts for start in trial)
    distance = _TURNS / (level * rounds)
    assert len(ranks) == level * rounds
    assert all(abs((b - a) - distance) <= 1 for a, b in pairwise(ranks))


def test_every_turn_is_equally_likely_as_a_start() -> None:
    """Over many seeds each turn of the workload starts an agent equally often (chi-square, 99.9 % point for 44)."""
    counts = Counter(
        start for seed in range(3000) for trial in start_turns(_DEPTHS, seed=seed, level=3, rounds=2) for start in trial
    )
    expected = 3000 * 6 / _TURNS
    assert len(counts) == _TURNS == 45
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 78.7


def test_rounds_beyond_the_plan_leave_the_planned_ones_as_they_are() -> None:
    """More rounds than planned are drawn as further samples: valid, new, and each block covers the depths again."""
    planned = start_turns(_DEPTHS, seed=5, level=4, rounds=3)
    more = start_turns(_DEPTHS, seed=5, level=4, rounds=3, upto=7)
    assert more[:3] == planned
    assert len(more) == 7
    assert more[3:6] != planned
    ranks = sorted(_RANK[start] for trial in more[3:6] for start in trial)
    assert all(abs((b - a) - _TURNS / 12) <= 1 for a, b in pairwise(ranks))


def test_levels_and_seeds_draw_their_own_starts() -> None:
    """Another level or seed gives other starts."""
    base = start_turns(_DEPTHS, seed=5, level=4, rounds=3)
    assert start_turns(_DEPTHS, seed=6, level=4, rounds=3) != base
    assert start_turns(_DEPTHS, seed=5, level=5, rounds=3)[0][:4] != base[0]
