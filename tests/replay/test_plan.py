"""The plan fits the time, repeats its first trial at the end, and says what is left of it."""

from typing import Any

import msgspec
import pytest

from loadgen.cell_key import CellKey
from loadgen.experiment.model import Experiment
from loadgen.experiment.schedule import floor_turns
from loadgen.records.manifest import AddedLevels, Plan, PlannedTrial
from loadgen.records.model import TrialRecord
from loadgen.replay.plan import extended, measured_rounds, plan_run, remaining, unused

NAMES = ("off", "mtp")
LEVELS = (1, 2, 4, 8)


def experiment(**changes: Any) -> Experiment:
    """Two launched variants over four levels."""
    values: dict[str, Any] = {
        "variants": [{"kind": "launch", "name": name, "program": "p", "args": (name,)} for name in NAMES],
        "baseline": "off",
        "levels": LEVELS,
    }
    return Experiment(**(values | changes))


def plan(asked: Experiment | None = None, *, left_s: float = 900, open_s: float = 1.0, turn_s: float = 1.0) -> Plan:
    """A plan with one pilot time for all levels."""
    asked = asked or experiment()
    return plan_run(asked, NAMES, dict.fromkeys(asked.levels, turn_s), left_s=left_s, open_s=open_s)


def record(planned: PlannedTrial, **changes: Any) -> TrialRecord:
    """The record of a planned trial that ran to its end."""
    values: dict[str, Any] = {
        "run": "run", "trial": planned.trial, "round": planned.round, "variant": planned.variant,
        "level": planned.level, "order": planned.order, "turns_per_agent": planned.turns_per_agent, "short": True,
        "start_ns": 0, "measured_ns": 0, "end_ns": 1, "complete": True, "aborted": None, "server_alive": True,
        "segments": [], "counters_before": None, "counters_after": None, "client": None, "attempt": planned.attempt,
        "drift": planned.drift,
    }  # fmt: skip
    return TrialRecord(**(values | changes))


def test_without_a_pilot_one_short_round_shows_what_fails() -> None:
    """A server that answers nothing gets one round of the shortest trials, and no drift check."""
    made = plan_run(experiment(), NAMES, None, left_s=900, open_s=1.0)
    assert made.rounds == 1
    assert sorted((t.level, t.turns_per_agent) for t in made.trials if t.variant == "off") == [
        (level, floor_turns(level)) for level in LEVELS
    ]
    assert all(t.short and not t.drift for t in made.trials)


def test_trials_of_a_plan_are_numbered_in_their_order() -> None:
    """Every trial has its own name and position, and its block is one server start."""
    made = plan()
    assert [t.order for t in made.trials] == list(range(len(made.trials)))
    assert len({t.trial for t in made.trials}) == len(made.trials) == made.rounds * 8 + 1
    assert made.turn_s == {"1": 1.0, "2": 1.0, "4": 1.0, "8": 1.0}
    assert len({t.block for t in made.trials}) == made.rounds * 2 + 1
    assert all(len({t.variant for t in made.trials if t.block == block}) == 1 for block in range(made.rounds * 2))


def test_the_first_trial_is_repeated_at_the_end() -> None:
    """The drift check stands outside the rounds and plays the work of the first one."""
    made = plan(experiment(rounds=3))
    first, last = made.trials[0], made.trials[-1]
    assert (last.variant, last.level, last.turns_per_agent) == (first.variant, first.level, first.turns_per_agent)
    assert (last.round, last.work_round, last.drift) == (0, 1, True)
    assert last.trial == f"drift-{first.variant}-c{first.level}"
    assert sum(t.drift for t in made.trials) == 1


def test_the_drift_check_can_be_left_out() -> None:
    """With --no-drift-check every trial belongs to a round."""
    assert not any(t.drift for t in plan(experiment(rounds=3, drift_check=False)).trials)


def test_time_for_the_drift_check_is_set_aside() -> None:
    """The estimate of a plan holds the drift check and stays inside what is left."""
    made = plan(left_s=400, turn_s=0.5)
    assert made.estimated_s <= 400


def test_a_restart_at_every_level_alternates_the_variants() -> None:
    """With --restart-per-level every trial is a block: the two of a pair are neighbours in time."""
    made = plan(experiment(rounds=2, restart_per_level=True))
    trials = [t for t in made.trials if not t.drift]
    assert [t.block for t in trials] == list(range(16))
    assert all({a.variant, b.variant} == set(NAMES) for a, b in zip(trials[::2], trials[1::2], strict=True))
    assert all(a.level == b.level for a, b in zip(trials[::2], trials[1::2], strict=True))


def test_a_fresh_variant_gets_a_start_for_every_trial() -> None:
    """ngram-mod keeps what it learned, so its block is cut into one start a level; the other variant keeps its own."""
    variants = [
        {"kind": "launch", "name": "off", "program": "p"},
        {"kind": "launch", "name": "mtp", "program": "p", "args": ("--spec-type", "ngram-mod")},
    ]
    made = plan(experiment(rounds=1, variants=variants))
    by_block: dict[int, list[str]] = {}
    for t in made.trials:
        by_block.setdefault(t.block, []).append(t.variant)
    assert sorted(map(len, by_block.values())) == [1, 1, 1, 1, 4]


def test_starts_before_every_trial_shorten_the_trials() -> None:
    """A server that takes a minute to start leaves less of the budget for turns when it is restarted at every level."""
    slow = plan(experiment(restart_per_level=True), left_s=3600, open_s=60.0)
    quick = plan(experiment(), left_s=3600, open_s=60.0)
    assert sum(t.turns_per_agent for t in slow.trials) < sum(t.turns_per_agent for t in quick.trials)


def test_what_is_left_is_what_is_missing_or_incomplete() -> None:
    """Whole trials are kept; an aborted one, one whose server died and missing ones are done again, in order."""
    made = plan(experiment(rounds=2))
    done = [
        record(made.trials[0]),
        record(made.trials[1], complete=False, aborted="interrupted"),
        record(made.trials[2]),
        record(made.trials[3], server_alive=False),
    ]
    used = {one.trial for one in done} | {made.trials[4].trial}
    left = remaining(made, done, used)
    assert [one.trial for one in left[:3]] == [f"{made.trials[i].trial}.2" for i in (1, 3, 4)]
    assert [one.attempt for one in left[:4]] == [2, 2, 2, 1]
    assert [one.order for one in left] == [1, *range(3, 17)]


def test_a_whole_run_leaves_nothing() -> None:
    """Nothing is missing where every trial is there, invalid ones included: validity is no reason to measure again."""
    made = plan(experiment(rounds=2))
    assert remaining(made, [record(one) for one in made.trials], {one.trial for one in made.trials}) == []


def test_the_drift_check_is_done_again_behind_other_trials() -> None:
    """It says something about the end of the run only when it stands there."""
    made = plan(experiment(rounds=2))
    done = [record(one) for one in made.trials if one.order != 5]
    left = remaining(made, done, {one.trial for one in made.trials if one.order != 5})
    assert [(one.trial, one.attempt) for one in left] == [
        (made.trials[5].trial, 1),
        (f"{made.trials[-1].trial}.2", 2),
    ]


@pytest.mark.parametrize(("used", "attempt"), [((), 1), ((1,), 2), ((1, 2, 3), 4), ((2, 3), 1)])
def test_a_trial_done_again_gets_the_first_free_name(used: tuple[int, ...], attempt: int) -> None:
    """Nothing of an earlier attempt, killed or whole, is mixed into a later one."""
    one = plan(experiment(rounds=1)).trials[0]
    names = {one.trial if number == 1 else f"{one.trial}.{number}" for number in used}
    again = unused(one, names)
    assert again.attempt == attempt
    assert again.trial not in names


def test_more_rounds_leave_the_planned_ones_as_they_are() -> None:
    """A resumed run with more rounds keeps order, names and draws of the first ones."""
    made = plan(experiment(rounds=3))
    longer = extended(made, experiment(rounds=3), 6)
    whole = [one for one in made.trials if not one.drift]
    assert longer.trials[: len(whole)] == whole
    assert (longer.rounds, longer.drawn_rounds) == (6, 3)
    assert len(longer.trials) == 6 * 8 + 1
    assert longer.trials[-1].drift


def test_a_repeated_plan_has_the_rounds_that_were_run() -> None:
    """Rounds that the first run's budget cut off are not repeated, nor variants that are out."""
    made = plan(experiment(rounds=4))
    done = [record(one) for one in made.trials if one.round in (1, 2)]
    again = measured_rounds(made, done, NAMES)
    assert again.rounds == 2
    assert [one.trial for one in again.trials] == [one.trial for one in made.trials if one.round <= 2]
    assert [one.order for one in again.trials] == list(range(17))
    assert {one.variant for one in measured_rounds(made, done, ["off"]).trials} == {"off"}


MTP = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "4")


def drafting(**changes: Any) -> Experiment:
    """Speculation with 4 tokens at once: 3 agents are 15 wide and 4 are 20, 6 are 30 and 7 are 35."""
    variants = [
        {"kind": "launch", "name": "off", "program": "llama-server"},
        {"kind": "launch", "name": "mtp", "program": "llama-server", "args": MTP},
    ]
    return experiment(variants=variants, **changes)


def test_levels_around_a_width_are_added_where_time_allows() -> None:
    """Both sides of the widths 16 and 32 are measured, and the plan says which were added, and why."""
    made = plan_run(drafting(), NAMES, {1: 1.0, 2: 1.0, 4: 1.0, 8: 2.0}, left_s=36_000, open_s=1.0)
    assert sorted({t.level for t in made.trials}) == [1, 2, 3, 4, 6, 7, 8]
    assert made.added_levels == [
        AddedLevels(width=16, drafted=4, levels=[3]),
        AddedLevels(width=32, drafted=4, levels=[6, 7]),
    ]
    assert made.turn_s == {"1": 1.0, "2": 1.0, "3": 1.0, "4": 1.0, "6": 1.5, "7": 1.75, "8": 2.0}
    assert made.looks == []


def test_levels_are_added_from_the_narrowest_width_on() -> None:
    """Where time holds one more level, that is the one at 16."""
    whole = plan(drafting(add_levels=False), left_s=36_000)
    round_s = whole.estimated_s / whole.rounds
    made = plan(drafting(), left_s=4 * round_s * 1.45)
    assert [one.levels for one in made.added_levels] == [[3]]
    assert not any(t.short for t in made.trials)


@pytest.mark.parametrize(
    ("asked", "left_s"),
    [(drafting(), 900), (drafting(rounds=5), 36_000), (drafting(add_levels=False), 36_000), (experiment(), 36_000)],
)
def test_nothing_is_added_without_time_for_whole_trials_or_against_the_user(asked: Experiment, left_s: float) -> None:
    """Shorter trials, a number of rounds, --no-add-levels, and variants that draft nothing."""
    made = plan(asked, left_s=left_s)
    assert (sorted({t.level for t in made.trials}), made.added_levels) == ([1, 2, 4, 8], [])


def test_added_levels_stay_below_the_slots() -> None:
    """With 4 slots, 7 agents would queue."""
    made = plan_run(drafting(), NAMES, dict.fromkeys(LEVELS, 1.0), left_s=36_000, open_s=1.0, slots=4)
    assert [one.levels for one in made.added_levels] == [[3]]


def test_what_looks_closed_is_not_missing() -> None:
    """Of a run of which only (mtp, 8) is open, its trials and the baseline's at 8 are left, and the drift check."""
    made = plan(experiment(rounds=2))
    done = [record(one) for one in made.trials if one.round == 1]
    used = {one.trial for one in done}
    left = remaining(made, done, used, {CellKey("mtp", 8), CellKey("off", 8)})
    assert [(one.variant, one.level, one.drift) for one in left] == [
        ("mtp", 8, False),
        ("off", 8, False),
        (made.trials[0].variant, made.trials[0].level, True),
    ]
    assert [one.drift for one in remaining(made, done, used, set())] == [True]
    assert remaining(made, [*done, record(made.trials[-1])], used, set()) == []


def test_more_rounds_keep_what_is_known_of_the_looks() -> None:
    """The looks that were planned share their error for good, and the added levels stay named."""
    made = msgspec.structs.replace(plan(drafting(), left_s=36_000), looks=[4, 8])
    longer = extended(made, drafting(), 20)
    assert (longer.looks, longer.added_levels) == ([4, 8], made.added_levels)


def test_a_repeated_plan_repeats_what_looks_left() -> None:
    """Cells that were closed after round 1 stay out of round 2, the drift check stays, and nobody looks again."""
    made = msgspec.structs.replace(plan(experiment(rounds=8)), looks=[4, 6])
    done = [record(one) for one in made.trials if one.round == 1 or (one.round == 2 and one.level == 8)]
    again = measured_rounds(made, done, NAMES)
    assert [(t.round, t.level) for t in again.trials if t.round == 2] == [(2, 8), (2, 8)]
    assert (again.rounds, again.looks, sum(t.drift for t in again.trials)) == (2, [], 1)
    assert [t.order for t in again.trials] == list(range(11))


DEPTHS = (2048, 16384)


def deep_plan(rounds: int | None = 2, **changes: Any) -> Plan:
    """A plan at two fixed depths: sessions stay 4 turns near the first, 20 near the second."""
    asked = experiment(levels=(1, 4), depths=DEPTHS, rounds=rounds, **changes)
    return plan_run(asked, NAMES, {1: 1.0, 4: 1.0}, left_s=3600, open_s=1.0, windows={2048: 4, 16384: 20})


def test_each_depth_has_trials_of_its_own() -> None:
    """2 rounds of 2 variants, levels and depths, and the first of them once more at the end, at its depth."""
    made = deep_plan()
    assert len(made.trials) == 2 * 2 * 2 * 2 + 1
    assert len({one.trial for one in made.trials}) == len(made.trials)
    assert {one.cell for one in made.trials} == {
        CellKey(variant, level, depth) for variant in NAMES for level in (1, 4) for depth in DEPTHS
    }
    first, last = made.trials[0], made.trials[-1]
    assert (last.drift, last.depth, last.trial) == (True, first.depth, f"drift-off-c{first.level}-d{first.depth}")
    assert len({one.block for one in made.trials}) == 5


def test_a_segment_is_no_longer_than_sessions_stay_near_its_depth() -> None:
    """With an hour for two rounds one agent would have 64 turns: it has 4 and 20, and both are called short."""
    made = deep_plan()
    turns = {(one.level, one.depth): (one.turns_per_agent, one.short) for one in made.trials}
    assert turns == {
        (1, 2048): (4, True), (1, 16384): (20, True), (4, 2048): (4, True), (4, 16384): (20, False),
    }  # fmt: skip


def test_depths_take_their_share_of_the_time() -> None:
    """Two depths are twice the trials of one: the same time holds shorter ones or fewer rounds."""
    asked = {depths: experiment(levels=(4,), depths=depths, add_levels=False) for depths in ((16384,), DEPTHS)}
    one, two = (
        plan_run(each, NAMES, {4: 1.0}, left_s=300, open_s=1.0, windows=dict.fromkeys(depths, 100))
        for depths, each in asked.items()
    )
    assert two.estimated_s <= 300
    assert one.estimated_s <= 300
    measured = [sum(t.turns_per_agent for t in made.trials if t.depth == 16384) for made in (one, two)]
    assert measured[1] < 0.7 * measured[0]


def test_a_resumed_run_knows_its_trials_by_their_depth() -> None:
    """Done at one depth is not done at the other; more rounds keep lengths, and a look closes one depth alone."""
    made = deep_plan()
    done = [record(one, depth=one.depth) for one in made.trials if one.depth == 2048 and not one.drift]
    used = {one.trial for one in done}
    left = remaining(made, done, used)
    assert {one.depth for one in left if not one.drift} == {16384}
    assert len(left) == 9
    only = remaining(made, [], (), {CellKey("mtp", 4, 2048), CellKey("off", 4, 2048)})
    assert {one.cell for one in only if not one.drift} == {CellKey("mtp", 4, 2048), CellKey("off", 4, 2048)}
    longer = extended(made, experiment(levels=(1, 4), depths=DEPTHS, rounds=2), 3)
    whole = [one for one in made.trials if not one.drift]
    assert longer.trials[: len(whole)] == whole
    assert len(longer.trials) == 3 * 8 + 1


def test_without_a_pilot_one_short_round_visits_every_depth() -> None:
    """The shortest trials, but none longer than sessions stay."""
    asked = experiment(levels=(1,), depths=DEPTHS)
    made = plan_run(asked, NAMES, None, left_s=900, open_s=1.0, windows={2048: 4, 16384: 20})
    assert {(one.depth, one.turns_per_agent) for one in made.trials} == {(2048, 4), (16384, 8)}
