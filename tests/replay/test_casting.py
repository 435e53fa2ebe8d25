"""Who plays what in a mix, and for how many turns."""

from typing import Any

import pytest

from loadgen.experiment.build import experiment
from loadgen.experiment.mix import Share
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import Segment, TrialRecord
from loadgen.replay.casting import cast, companies
from loadgen.replay.class_turns import class_seconds, class_turns_lines, with_class_turns
from loadgen.replay.pilot import turn_seconds
from loadgen.replay.plan import extended, plan_run
from loadgen.replay.script import Script
from loadgen.workload.library import load
from loadgen.workload.mix import class_seed, mixed

MIX = (Share(workload="demo", weight=1), Share(workload="file-edit", weight=3))


@pytest.fixture(scope="module")
def script() -> Script:
    """Both classes, with seed 7."""
    return Script(mixed(MIX, [load("demo", seed=7), load("file-edit", seed=7)]), 7)


def test_agents_are_cast_by_the_weights(script: Script) -> None:
    """Classes in their order, agents with consecutive numbers, each with its place among those that play the same."""
    parts = cast(script, 4)
    assert [(part.script.work_class, part.place, part.agents) for part in parts] == [
        ("demo", 0, 1),
        ("file-edit", 0, 3),
        ("file-edit", 1, 3),
        ("file-edit", 2, 3),
    ]
    assert [part.script.workload.name for part in parts] == ["demo", "file-edit", "file-edit", "file-edit"]
    assert [part.script.seed for part in parts[:2]] == [class_seed(7, "demo"), class_seed(7, "file-edit")]
    assert all(part.script.ceiling is script.ceiling for part in parts)


def test_a_class_without_agents_plays_nothing(script: Script) -> None:
    """At one agent only the class with the larger share is there."""
    assert [(own.work_class, agents) for own, agents in companies(script, 1)] == [("file-edit", 1)]


def test_without_a_mix_all_agents_play_the_same() -> None:
    """With the seed of the run, and no class."""
    plain = Script(load("demo", seed=1), 1)
    assert [(part.script, part.place, part.agents) for part in cast(plain, 2)] == [(plain, 0, 2), (plain, 1, 2)]


def pilot(level: int, seconds: dict[str | None, float], **changes: Any) -> TrialRecord:
    """A pilot in which an agent of each class needed so many seconds for its one turn."""
    segments = [
        Segment(agent=agent, start_ns=0, end_ns=round(took * 1e9), turns=1, work_class=name)
        for agent, (name, took) in enumerate(seconds.items())
    ]
    values: dict[str, Any] = {
        "run": "run", "trial": "pilot", "round": 0, "variant": "off", "level": level, "order": 0, "turns_per_agent": 1,
        "short": True, "start_ns": 0, "measured_ns": 0, "end_ns": 1, "complete": True, "aborted": None,
        "server_alive": True, "segments": segments, "counters_before": None, "counters_after": None, "client": None,
    }  # fmt: skip
    return TrialRecord(**(values | changes))


def planned(level: int, turns: int) -> Plan:
    """A plan of one trial."""
    trial = PlannedTrial(trial="t", round=1, variant="off", level=level, order=0, turns_per_agent=turns, short=False)
    return Plan(rounds=1, trials=[trial], dropped_levels=[], estimated_s=1, turn_s={})


PILOTS = [pilot(1, {"file-edit": 1.0}), pilot(8, {"demo": 12.0, "file-edit": 3.0})]


@pytest.mark.parametrize(
    ("level", "turns"),
    [
        (8, {"demo": 8, "file-edit": 32}),
        (4, {"demo": 8, "file-edit": 52}),
        (1, {"file-edit": 8}),
    ],
)
def test_a_faster_class_plays_so_many_more_turns(level: int, turns: dict[str, int]) -> None:
    """12 s a turn against 3 s: four times as many. Between pilots linear; where one saw a class, what it saw."""
    plan = with_class_turns(planned(level, 8), PILOTS, MIX)
    assert plan.trials[0].class_turns == turns
    assert plan.trials[0].turns_of("file-edit") == turns["file-edit"]


def test_a_class_that_no_pilot_saw_plays_what_the_plan_says() -> None:
    """Aborted pilots tell nothing; without a mix nothing changes."""
    silent = with_class_turns(planned(8, 8), [pilot(8, {"demo": 12.0, "file-edit": 3.0}, aborted="x")], MIX)
    assert silent.trials[0].class_turns == {"demo": 8, "file-edit": 8}
    plain = planned(8, 8)
    assert with_class_turns(plain, PILOTS, None) is plain
    assert plain.trials[0].turns_of(None) == 8
    assert class_turns_lines(silent) == ["measured turns an agent at 8: demo 8, file-edit 8"]
    assert class_turns_lines(plain) == []


def test_a_trial_is_planned_by_its_slowest_class() -> None:
    """It lasts until its last agent is done: 12 s a turn at 8 agents, not the mean."""
    assert class_seconds(PILOTS[1].segments) == {"demo": 12.0, "file-edit": 3.0}
    assert turn_seconds(PILOTS, [1, 8]) == {1: 1.0, 8: 12.0}


def test_more_rounds_have_the_same_turns_of_every_class() -> None:
    """A resumed run goes on as it began."""
    variants = [{"kind": "launch", "name": name, "program": "p", "args": (name,)} for name in ("off", "mtp")]
    asked = experiment(variants=variants, baseline="off", levels=(1, 8), mix=MIX, rounds=2)
    made = with_class_turns(plan_run(asked, ("off", "mtp"), {1: 1.0, 8: 12.0}, left_s=900, open_s=1.0), PILOTS, MIX)
    longer = extended(made, asked, 4)
    turns = {one.level: one.class_turns for one in made.trials}
    assert set(turns[8] or ()) == {"demo", "file-edit"}
    assert {one.level: one.class_turns for one in longer.trials} == turns
