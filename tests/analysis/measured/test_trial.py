"""Rules of one trial's sums."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.measured.trial import repeated_trial, superseded_trials, trials_of
from loadgen.records.model import Outcome, Phase
from loadgen.records.run import Run


def test_c19_a_failed_turn_takes_back_what_its_session_had_earned(make: Any) -> None:
    """3 tasks of 4 turns, the second fails in its 2nd turn: 2 tasks, 9 ok turns, 1 failure, in 10 s."""
    requests = []
    at = 0.0
    for task, turns in (("a", 4), ("b", 1), ("c", 4)):
        for turn in range(turns):
            requests.append(make.request(start=at, first=at + 0.1, last=at + 1, session=task, turn=turn, turns=4))
            at += 1
        if task == "b":
            requests.append(make.failed(start=at, end=at + 1, session=task, turn=1, turns=4))
            at += 1
    trial = make.trial(requests, segments=[(0, 10)])
    assert trial.credits == pytest.approx(2)
    assert len(trial.ok) == 9
    assert trial.tasks_per_hour == pytest.approx(720)
    assert trial.task_s == [4, 4]


def test_turns_before_the_segment_are_taken_back_too(make: Any) -> None:
    """A session that fails at turn 6 of 8 had earned 6/8 before the segment: the segment earns -6/8."""
    trial = make.trial([make.failed(end=1.0, turn=6, turns=8)])
    assert trial.credits == -0.75


def test_a_cancelled_turn_earns_and_costs_nothing(make: Any) -> None:
    """Cancelled is no failure."""
    assert make.trial([make.failed(end=1.0, turn=6, turns=8, outcome=Outcome.CANCELLED)]).credits == 0


def test_turns_of_sub_agents_earn_nothing_of_their_own(make: Any) -> None:
    """The task is the root session."""
    trial = make.trial([make.request(session="root", turns=2), make.request(session="child", root="root", turns=2)])
    assert trial.credits == 0.5


def test_only_segments_are_measured(make: Any) -> None:
    """C23, C24: warm-up and drain are listed, and outside of every statistic."""
    phases = [(Phase.WARMUP, 40.0), (Phase.SEGMENT, 1.0), (Phase.DRAIN, 40.0)]
    trial = make.trial([make.request(first=first, last=first + 1, phase=phase) for phase, first in phases])
    assert [metrics.ttft_ns for _, metrics in trial.ok] == [1_000_000_000]
    assert trial.credits == 1


def test_c24_the_rate_is_that_of_the_segments(make: Any) -> None:
    """Two agents with segments of 9 s (10 to 19 s) and 9 turns each do 2 turns/s, whatever the ramp took."""
    requests = [
        make.request(start=10.0 + i, first=10.5 + i, last=11.0 + i, agent=agent, session=f"{agent}.{i}")
        for agent in (0, 1)
        for i in range(9)
    ]
    trial = make.trial(requests, segments=[(10, 19), (10, 19)])
    assert trial.tasks_per_hour == pytest.approx(2 * 3600)


def test_accounted_time_unites_requests_and_declared_waits(make: Any) -> None:
    """Request 0-4 s, wait 4-6 s, late by 1 s, request 7-10 s, overlapping child 8-12 s: 9 of 10 s."""
    requests = [
        make.request(last=4.0),
        make.request(start=7.0, ready=4.0, scheduled=6.0, first=8.0, last=10.0),
        make.request(start=8.0, first=9.0, last=12.0, session="child", root="s"),
    ]
    assert make.trial(requests, segments=[(0, 10)]).accounted_share == pytest.approx(0.9)


def test_accounted_time_counts_failed_requests_and_every_agent_for_itself(make: Any) -> None:
    """Agent 0 is busy with a failure all the time, agent 1 never: one half."""
    trial = make.trial([make.failed(end=10.0)], segments=[(0, 10), (0, 10)])
    assert trial.accounted_share == pytest.approx(0.5)


def test_a_trial_without_segments_has_no_rate(make: Any) -> None:
    """C49: nothing completed is null, never 0 or infinity."""
    trial = make.trial([], segments=[])
    assert (trial.tasks_per_hour, trial.output_tokens_per_s, trial.accounted_share) == (None, None, None)
    assert (trial.tokens_per_turn, trial.median_ttft_s, trial.median_tpot_s) == (None, None, None)


def test_a_whole_session_is_one_whose_every_turn_is_ok_and_measured(make: Any) -> None:
    """A session that began before the segment isn't whole; the same one played again is."""
    requests = [
        make.request(start=0, first=0.5, last=1, turn=1, turns=2),
        make.request(start=1, first=1.5, last=2, turn=0, turns=2),
        make.request(start=2, first=2.5, last=3.5, turn=1, turns=2),
    ]
    assert make.trial(requests).task_s == [2.5]


def test_a_warm_up_that_repeats_a_first_turn_is_no_contamination(make: Any) -> None:
    """The first play of a first turn counts, its repeats in warm-up don't; a later play of the session does."""
    requests = [
        make.request(phase=Phase.WARMUP, cached_tokens=0),
        make.request(phase=Phase.WARMUP, cached_tokens=99),
        make.request(cached_tokens=40),
        make.request(agent=1, cached_tokens=None),
    ]
    assert make.trial(requests).first_turns == (40, 200)


def test_c46_history_that_is_evaluated_again_is_counted(make: Any) -> None:
    """Depths 1k, 3k, 6k, 10k with nothing cached: 1k + 3k + 6k tokens were in the cache before."""
    requests = [
        make.request(start=turn, first=turn + 0.5, last=turn + 1, turn=turn, turns=4, prompt_tokens=k, cached_tokens=0)
        for turn, k in enumerate((1000, 3000, 6000, 10_000))
    ]
    assert make.trial(requests).redone == (10_000, 10_000)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=12))
def test_accounted_time_is_a_share(make: Any, spans: list[tuple[float, float]]) -> None:
    """Between 0 and 1, however requests overlap."""
    requests = [make.failed(start=min(span), end=max(span)) for span in spans]
    share = make.trial(requests, segments=[(10, 60)]).accounted_share
    assert share is not None
    assert 0 <= share <= 1


def test_only_the_last_attempt_at_a_trial_counts(make: Any) -> None:
    """Superseded attempts are counted and told, and nothing of them is mixed into the last."""
    run = make.run({("off", 1): [10.0, 20.0]})
    again = msgspec.structs.replace(run.trials[0], trial="r1-n1-off.2", attempt=2)
    request = msgspec.structs.replace(run.requests[0], trial="r1-n1-off.2")
    for trials in ([*run.trials, again], [again, *run.trials]):
        found = Run(manifest=run.manifest, trials=trials, requests=[*run.requests, request])
        assert [trial.record.trial for trial in trials_of(found)] == ["r1-n1-off.2", "r2-n1-off"]
        assert [len(trial.requests) for trial in trials_of(found)] == [1, 1]
        assert superseded_trials(found) == 1
    assert superseded_trials(run) == 0


def test_the_repetition_for_drift_is_its_last_attempt_and_no_pilot(make: Any) -> None:
    """Round 0 holds pilots too; without a repetition there is none."""
    run = make.run({("off", 1): [10.0]}, repeated=9.0)
    pilot = msgspec.structs.replace(run.trials[0], trial="pilot-off-c1", round=0)
    again = msgspec.structs.replace(run.trials[1], trial="drift-n1-off.2", attempt=2)
    found = Run(manifest=run.manifest, trials=[again, pilot, *run.trials], requests=run.requests)
    repeated = repeated_trial(found)
    assert repeated is not None
    assert repeated.record.trial == "drift-n1-off.2"
    assert [trial.record.trial for trial in trials_of(found)] == ["r1-n1-off"]
    assert superseded_trials(found) == 1
    assert repeated_trial(make.run({("off", 1): [10.0]})) is None
