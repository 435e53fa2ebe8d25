"""The order of trials is fair and seeded, and the time budget is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.schedule import MAX_ROUNDS, Block, aim_turns, blocks, fit, floor_turns, trial_id


def test_two_launched_variants_alternate_their_order() -> None:
    """Off mtp | mtp off | off mtp: drift within a round falls on both alike."""
    order = [(b.round, b.variant) for b in blocks(["off", "mtp"], [1, 2], rounds=3, seed=1)]
    assert order == [(1, "off"), (1, "mtp"), (2, "mtp"), (2, "off"), (3, "off"), (3, "mtp")]


def test_levels_are_shuffled_alike_for_the_variants_of_a_round() -> None:
    """The two trials of a pair stand at the same place of their blocks."""
    plan = blocks(["off", "mtp"], [1, 2, 4, 8], rounds=6, seed=3)
    for round_ in range(1, 7):
        first, second = (b.levels for b in plan if b.round == round_)
        assert first == second
        assert sorted(first) == [1, 2, 4, 8]
    assert len({b.levels for b in plan}) > 1


def test_running_servers_alternate_at_every_level() -> None:
    """Without restarts both trials of a pair are neighbours in time."""
    plan = blocks(["a", "b"], [1, 2, 4], rounds=2, seed=1, alternate=True)
    pairs = [plan[i : i + 2] for i in range(0, len(plan), 2)]
    assert all({b.variant for b in pair} == {"a", "b"} and pair[0].levels == pair[1].levels for pair in pairs)
    assert {pair[0].variant for pair in pairs} == {"a", "b"}


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99), st.booleans(), st.sets(st.sampled_from(["v0", "v1"])))
def test_every_round_holds_every_variant_at_every_level_once(
    variants: int, rounds: int, seed: int, alternate: bool, fresh: set[str]
) -> None:
    """A round is the unit of paired comparison: nothing is missing from it and nothing twice in it."""
    names, levels = [f"v{i}" for i in range(variants)], [1, 2, 5]
    plan = blocks(names, levels, rounds=rounds, seed=seed, alternate=alternate, fresh=fresh)
    seen = [(b.round, b.variant, level) for b in plan for level in b.levels]
    assert sorted(seen) == sorted((r, n, lv) for r in range(1, rounds + 1) for n in names for lv in levels)
    longer = blocks(names, levels, rounds=rounds + 2, seed=seed, alternate=alternate, fresh=fresh)
    assert longer[: len(plan)] == plan


def test_more_than_two_variants_are_shuffled_and_then_reversed() -> None:
    """Of two rounds the second is the first in reverse order: each variant stands early as often as late."""
    order = [b.variant for b in blocks(["a", "b", "c", "d"], [1], rounds=4, seed=5)]
    assert order[:4] == order[4:8][::-1]
    assert order[8:12] == order[12:16][::-1]
    assert order[:4] != order[8:12]


def test_a_fresh_variant_is_started_for_every_level() -> None:
    """Its block is cut, in the same order of levels as the other variant's."""
    first, *rest = blocks(["off", "mod"], [1, 2, 4], rounds=1, seed=1, fresh=["mod"])
    assert len(first.levels) == 3
    assert [b.levels for b in rest] == [(level,) for level in first.levels]


@pytest.mark.parametrize(("level", "turn_s", "turns"), [(1, 10.0, 64), (8, 10.0, 8), (16, 10.0, 8), (8, 0.5, 40)])
def test_the_aim_of_a_trial(level: int, turn_s: float, turns: int) -> None:
    """Aim: max(8, 64/N) turns an agent and 20 s."""
    assert aim_turns(level, turn_s) == turns


@pytest.mark.parametrize(("level", "turns"), [(1, 8), (2, 4), (3, 3), (4, 2), (8, 2), (100, 2)])
def test_the_floor_of_a_trial(level: int, turns: int) -> None:
    """Never below max(2, 8/N) turns an agent."""
    assert floor_turns(level) == turns


def test_a_wide_budget_gives_full_trials_and_many_rounds() -> None:
    """With time to spare trials reach their aim, and nothing is called short."""
    fitted = fit({1: 1.0, 4: 2.0}, variants=2, budget_s=36_000, block_s=1.0)
    assert fitted.rounds == MAX_ROUNDS
    assert fitted.turns == {1: 64, 4: 16}
    assert fitted.short == {1: False, 4: False}
    assert fitted.dropped_levels == ()


def test_a_tight_budget_shrinks_trials_to_fit_four_rounds() -> None:
    """Trials are shortened before rounds are given up, and marked short."""
    fitted = fit({1: 0.5, 2: 0.6, 4: 0.9, 8: 1.6}, variants=2, budget_s=250, block_s=0.5)
    assert fitted.rounds == 5  # 4 surely fit; the budget decides about the last
    assert fitted.estimated_s <= 250
    assert all(fitted.short.values())


def test_levels_are_dropped_from_the_middle_when_three_rounds_do_not_fit() -> None:
    """The ends of the curve stay, and the plan names what is missing."""
    fitted = fit({1: 10.0, 2: 12.0, 4: 20.0, 8: 40.0}, variants=2, budget_s=1800, block_s=5)
    assert fitted.rounds >= 3
    assert set(fitted.turns) | set(fitted.dropped_levels) == {1, 2, 4, 8}
    assert fitted.dropped_levels
    assert 1 in fitted.turns


def test_asked_rounds_are_kept() -> None:
    """--rounds wins over the budget; trials then have their floor."""
    fitted = fit({1: 10.0}, variants=2, budget_s=1, block_s=1, rounds=5)
    assert (fitted.rounds, fitted.turns, fitted.short) == (5, {1: 8}, {1: True})


@given(
    st.dictionaries(st.sampled_from([1, 2, 3, 4, 8, 16]), st.floats(0.01, 300), min_size=1),
    st.integers(1, 3),
    st.floats(1, 100_000),
)
def test_a_plan_always_exists_and_keeps_its_bounds(turn_s: dict[int, float], variants: int, budget_s: float) -> None:
    """Any pilot and budget give at least one round, turns between floor and aim, and every level kept or named."""
    fitted = fit(turn_s, variants=variants, budget_s=budget_s, block_s=2.0)
    assert 1 <= fitted.rounds <= MAX_ROUNDS
    assert sorted([*fitted.turns, *fitted.dropped_levels]) == sorted(turn_s)
    for level, turns in fitted.turns.items():
        assert floor_turns(level) <= turns <= max(floor_turns(level), aim_turns(level, turn_s[level]))
    if fitted.rounds > 1:
        assert fitted.estimated_s <= budget_s


def test_fixed_depths_are_measured_at_every_level_in_every_round() -> None:
    """Levels and depths are shuffled together, alike for both variants; the server of a block plays all of them."""
    plan = blocks(["off", "mtp"], [1, 2], rounds=4, seed=1, depths=[2048, 16384])
    for round_ in range(1, 5):
        first, second = (block.places for block in plan if block.round == round_)
        assert first == second
        assert sorted(first) == [(1, 2048), (1, 16384), (2, 2048), (2, 16384)]
    assert len({block.levels for block in plan}) > 1
    assert Block(1, "off", (1, 2)).places == [(1, None), (2, None)]


def test_running_servers_alternate_at_every_depth() -> None:
    """Both trials of a pair are neighbours in time, and a fresh server plays one depth."""
    plan = blocks(["a", "b"], [1], rounds=1, seed=1, depths=[2048, 4096], alternate=True)
    assert [(block.variant, block.places) for block in plan] == [
        ("a", plan[0].places),
        ("b", plan[0].places),
        ("b", plan[2].places),
        ("a", plan[2].places),
    ]
    fresh = blocks(["a"], [1], rounds=1, seed=1, depths=[2048, 4096], fresh=["a"])
    assert sorted(block.places for block in fresh) == [[(1, 2048)], [(1, 4096)]]


@pytest.mark.parametrize(
    ("round_", "depth", "name"),
    [
        (2, None, "r2-mtp-c4"),
        (2, 16384, "r2-mtp-c4-d16384"),
        (0, None, "drift-mtp-c4"),
        (0, 2048, "drift-mtp-c4-d2048"),
    ],
)
def test_a_trial_is_named_by_its_place(round_: int, depth: int | None, name: str) -> None:
    """Trials at two depths have two names, and so two files."""
    assert trial_id(round_, "mtp", 4, depth) == name


def test_no_trial_is_longer_than_sessions_stay_near_its_depth() -> None:
    """3 turns at most, below the floor of one agent too: then the trials are short, and more rounds than 12 are run."""
    free, bound = (fit({1: 1.0, 4: 1.0}, variants=2, budget_s=600, block_s=1.0, longest=one) for one in (None, 3))
    assert bound.turns == {1: 3, 4: 3}
    assert bound.short == {1: True, 4: True}
    assert (free.rounds, bound.rounds) == (5, 21)
    assert max(free.turns.values()) > 3
