"""Failing turns: when they void a cell, and what is completed all the same."""

import pytest

from loadgen.analysis.measured.failures import tasks_per_hour_with_failures, with_cell_failures
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.validity import Reason, reasons
from tests.analysis.conftest import Maker


def _trial(make: Maker, name: str, round_: int, *, failed: int, turns: int = 50) -> Trial:
    """One agent whose sessions have one turn each, of which some fail."""
    requests = [
        make.failed(start=i, end=i + 1.0, session=f"s{i}", trial=name, round=round_)
        if i < failed
        else make.request(start=i, last=i + 1.0, session=f"s{i}", trial=name, round=round_)
        for i in range(turns)
    ]
    return make.trial(requests, trial=name, round=round_, segments=[(0.0, float(turns))], turns=turns)


def _why(trials: list[Trial]) -> dict[str, list[Reason]]:
    return {trial.record.trial: reasons(trial) for trial in trials}


def test_trials_without_a_failure_of_their_own_fall_with_a_cell_that_fails_too_often(make: Maker) -> None:
    """1 of 50 turns failing in each of 3 trials is 2 %: by themselves they would count, together none does."""
    trials = [_trial(make, f"t{n}", n, failed=1) for n in (1, 2, 3)]
    alone = _why(trials)
    found, void = with_cell_failures([trials], alone)
    assert alone == {"t1": [], "t2": [], "t3": []}
    assert found == {name: [Reason.CELL_FAILURES] for name in ("t1", "t2", "t3")}
    assert void == [trials]


def test_a_trial_keeps_its_own_reason(make: Maker) -> None:
    """A trial whose own turns failed too often says so; its neighbours name the cell."""
    trials = [_trial(make, "t1", 1, failed=3), _trial(make, "t2", 2, failed=0)]
    found, _ = with_cell_failures([trials], _why(trials))
    assert found == {"t1": [Reason.FAILURES], "t2": [Reason.CELL_FAILURES]}


def test_a_cell_with_few_failures_stays(make: Maker) -> None:
    """1 failure in 150 turns is below 1 %, and one alone is no sign: nothing is void."""
    trials = [_trial(make, "t1", 1, failed=1), _trial(make, "t2", 2, failed=0), _trial(make, "t3", 3, failed=0)]
    found, void = with_cell_failures([trials], _why(trials))
    assert found == {"t1": [], "t2": [], "t3": []}
    assert void == []


def test_trials_that_count_for_nothing_say_nothing_of_failures(make: Maker) -> None:
    """A trial that was aborted doesn't bring its cell down, however many of its turns failed."""
    aborted = make.trial(
        _trial(make, "t1", 1, failed=50).requests,
        trial="t1",
        segments=[(0.0, 50.0)],
        turns=50,
        aborted="the server died",
    )
    trials = [aborted, _trial(make, "t2", 2, failed=0)]
    found, void = with_cell_failures([trials], _why(trials))
    assert found["t2"] == []
    assert void == []


def test_without_failures_there_is_no_second_figure(make: Maker) -> None:
    """Where every turn ended well, tasks per hour stand alone."""
    assert tasks_per_hour_with_failures([_trial(make, "t1", 1, failed=0)]).value is None


def test_single_turn_sessions_that_fail_earn_nothing(make: Maker) -> None:
    """5 of 50 turns of one second fail: 45 tasks in 50 s are 3,240 an hour."""
    assert tasks_per_hour_with_failures([_trial(make, "t1", 1, failed=5)]).value == pytest.approx(3240)


def test_segments_deep_in_a_session_weigh_less_where_turns_fail(make: Maker) -> None:
    """Half of the turns fail: a segment that starts at turn 2 weighs a quarter of one that starts at turn 0."""
    requests = [
        make.request(start=0, last=1.0, agent=0, session="a", turn=0, turns=4),
        make.failed(start=1, end=2.0, agent=0, session="a", turn=1, turns=4),
        make.request(start=0, last=1.0, agent=1, session="b", turn=2, turns=4),
        make.failed(start=1, end=2.0, agent=1, session="b", turn=3, turns=4),
    ]
    trial = make.trial(requests, segments=[(0.0, 2.0), (0.0, 2.0)], turns=2)
    # Credits: agent 0 earns 1/4 and loses 1/4; agent 1 earns 1/4 and loses 3/4. Weights: 1 and 1/4.
    weighted = (1 * 0.0 + 0.25 * -0.5) / (1 * 2.0 + 0.25 * 2.0)
    assert tasks_per_hour_with_failures([trial]).value == pytest.approx(2 * 3600 * weighted)
