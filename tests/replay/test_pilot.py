"""The pilot turns measured turn times into a plan."""

from typing import Any

from loadgen.experiment.model import Experiment
from loadgen.experiment.schedule import floor_turns
from loadgen.records.model import Segment, TrialRecord
from loadgen.replay.pilot import pilot_levels, pilot_trial, plan_run, turn_seconds


def trial(level: int, seconds: float, turns: int, **changes: Any) -> TrialRecord:
    """A pilot at `level` in which every agent needed `seconds` for its `turns`."""
    segments = [Segment(agent=agent, start_ns=0, end_ns=round(seconds * 1e9), turns=turns) for agent in range(level)]
    values: dict[str, Any] = {
        "run": "run", "trial": "pilot", "round": 0, "variant": "off", "level": level, "order": 0,
        "turns_per_agent": turns, "short": True, "start_ns": 0, "measured_ns": 0, "end_ns": 1, "complete": True,
        "aborted": None, "server_alive": True, "segments": segments, "counters_before": None,
        "counters_after": None, "client": None,
    }  # fmt: skip
    return TrialRecord(**(values | changes))


def experiment(**changes: Any) -> Experiment:
    """Two launched variants over four levels."""
    values: dict[str, Any] = {
        "variants": [{"kind": "launch", "name": name, "program": "p"} for name in ("off", "mtp")],
        "baseline": "off",
        "levels": (1, 2, 4, 8),
    }
    return Experiment(**(values | changes))


def test_the_pilot_visits_both_ends() -> None:
    """Levels between the smallest and the largest are interpolated."""
    assert pilot_levels([4, 1, 8, 2]) == [1, 8]
    assert pilot_levels([3]) == [3]
    assert pilot_trial(8, "off", 1).turns_per_agent == 1
    assert pilot_trial(1, "off", 0).turns_per_agent == 4


def test_turn_times_are_linear_between_the_pilots() -> None:
    """0.5 s at 1 agent and 1.9 s at 8 give 0.7 s at 2 and 1.1 s at 4."""
    turns = turn_seconds([trial(1, 2.0, 4), trial(8, 1.9, 1)], [1, 2, 4, 8])
    assert turns is not None
    assert {level: round(seconds, 6) for level, seconds in turns.items()} == {1: 0.5, 2: 0.7, 4: 1.1, 8: 1.9}


def test_an_aborted_pilot_tells_nothing() -> None:
    """Turn times from failures would plan a run of failures."""
    assert turn_seconds([trial(1, 2.0, 4), trial(8, 1.9, 1, aborted="x")], [1, 8]) is None
    assert turn_seconds([trial(1, 2.0, 4, segments=[])], [1]) is None


def test_without_a_pilot_one_short_round_shows_what_fails() -> None:
    """A server that answers nothing gets one round of the shortest trials."""
    plan = plan_run(experiment(), None, left_s=900, block_s=1.0)
    assert plan.rounds == 1
    assert sorted((t.level, t.turns_per_agent) for t in plan.trials if t.variant == "off") == [
        (level, floor_turns(level)) for level in (1, 2, 4, 8)
    ]
    assert all(t.short for t in plan.trials)


def test_trials_of_a_plan_are_numbered_in_their_order() -> None:
    """Every trial has its own name and position."""
    plan = plan_run(experiment(), dict.fromkeys((1, 2, 4, 8), 1.0), left_s=900, block_s=1.0)
    assert [t.order for t in plan.trials] == list(range(len(plan.trials)))
    assert len({t.trial for t in plan.trials}) == len(plan.trials) == plan.rounds * 8
    assert plan.turn_s == {"1": 1.0, "2": 1.0, "4": 1.0, "8": 1.0}
