"""The pilot measures how long turns take."""

from typing import Any

from loadgen.records.model import Segment, TrialRecord
from loadgen.replay.pilot import pilot_levels, pilot_trials, turn_seconds


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


def test_the_pilot_visits_both_ends() -> None:
    """Levels between the smallest and the largest are interpolated."""
    assert pilot_levels([4, 1, 8, 2]) == [1, 8]
    assert pilot_levels([3]) == [3]
    trials = pilot_trials([4, 1, 8, 2], (), "off")
    assert [(one.trial, one.turns_per_agent) for one in trials] == [("pilot-off-c1", 4), ("pilot-off-c8", 1)]


def test_the_pilot_visits_every_depth() -> None:
    """A turn at 16k takes longer than one at 2k: both are measured, at both ends of the levels."""
    trials = pilot_trials([1, 8, 2], (2048, 16384), "off")
    assert [one.trial for one in trials] == [
        "pilot-off-c1-d2048",
        "pilot-off-c8-d2048",
        "pilot-off-c1-d16384",
        "pilot-off-c8-d16384",
    ]
    assert [one.depth for one in trials] == [2048, 2048, 16384, 16384]


def test_turn_times_are_the_mean_over_the_depths() -> None:
    """0.5 s and 1.5 s at 1 agent are 1 s; a depth without a whole pilot tells nothing."""
    shallow, deep = trial(1, 2.0, 4, depth=2048), trial(1, 6.0, 4, depth=16384)
    assert turn_seconds([shallow, deep], [1], (2048, 16384)) == {1: 1.0}
    assert turn_seconds([shallow], [1], (2048, 16384)) is None


def test_turn_times_are_linear_between_the_pilots() -> None:
    """0.5 s at 1 agent and 1.9 s at 8 give 0.7 s at 2 and 1.1 s at 4."""
    turns = turn_seconds([trial(1, 2.0, 4), trial(8, 1.9, 1)], [1, 2, 4, 8])
    assert turns is not None
    assert {level: round(seconds, 6) for level, seconds in turns.items()} == {1: 0.5, 2: 0.7, 4: 1.1, 8: 1.9}


def test_an_aborted_pilot_tells_nothing() -> None:
    """Turn times from failures would plan a run of failures."""
    assert turn_seconds([trial(1, 2.0, 4), trial(8, 1.9, 1, aborted="x")], [1, 8]) is None
    assert turn_seconds([trial(1, 2.0, 4, segments=[])], [1]) is None
