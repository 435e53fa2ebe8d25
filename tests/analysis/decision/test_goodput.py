"""Rules of goodput: what is an attempt, what is good, and what so few attempts can show."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.decision.goodput import attainment, goodput, goodputs
from loadgen.analysis.estimators.intervals import ratio_over_rounds
from loadgen.analysis.estimators.proportion import wilson
from loadgen.analysis.measured.attempt import request_attempts, task_attempts
from loadgen.analysis.measured.trial import Trial
from loadgen.experiment.slo import Slo
from loadgen.records.model import Outcome, RequestRecord

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker


def turns(make: "Maker", count: int, *, slow: int = 0, failed: int = 0, **fields: Any) -> list[RequestRecord]:
    """One-turn sessions of a second each, one after the other; the first ones fail, the next have a TTFT of 0.5 s."""
    out = []
    for i in range(count):
        named = {"session": f"s{i}", **fields}
        if i < failed:
            out.append(make.failed(start=float(i), end=i + 1.0, **named))
        else:
            out.append(
                make.request(start=float(i), first=i + (0.5 if i < failed + slow else 0.1), last=i + 1.0, **named)
            )
    return out


def rounds(make: "Maker", *of: Sequence[RequestRecord], level: int = 1) -> list[Trial]:
    """A trial of 10 s a round."""
    return [
        make.trial(requests, round=number, trial=f"t{number}", level=level, segments=[(0.0, 10.0)] * level)
        for number, requests in enumerate(of, start=1)
    ]


def test_goodput_counts_what_kept_every_limit(make: "Maker") -> None:
    """8 of 10 requests a round have a TTFT within 0.2 s: 2,880 an hour, and tasks alike where a turn is a task."""
    found = goodput(rounds(make, *[turns(make, 10, slow=2)] * 3), Slo(ttft_s=0.2, tpot_s=0.11))
    requests = found["requests"]
    assert (requests["attempted"], requests["failed"], requests["good"]) == (30, 0, 24)
    low, high = wilson(24, 30)
    assert requests["attainment"] == {"value": 0.8, "low": low, "high": high, "n": 30}
    assert requests["per_hour"] == pytest.approx({"value": 2880, "low": 2880, "high": 2880, "n": 3})
    assert found["tasks"]["per_hour"]["value"] == pytest.approx(2880)
    assert (found["tasks"]["attempted"], found["tasks"]["good"], found["tasks"]["per_hour"]["n"]) == (30, 24, 30)
    assert [(one["limit"], one["kept"], one["attainment"]["value"]) for one in found["limits"]] == [
        ("ttft_s", 24, 0.8),
        ("tpot_s", 30, 1.0),
    ]
    assert (found["meets"], found["binds"]) == ("no", "ttft_s")


def test_rates_are_of_all_agents(make: "Maker") -> None:
    """Two agents that do 10 requests together in 10 s each: N · Σ good ÷ Σ segment time."""
    requests = [*turns(make, 5, agent=0), *turns(make, 5, agent=1)]
    found = goodput(rounds(make, *[requests] * 3, level=2), Slo(ttft_s=0.2))
    assert found["requests"]["per_hour"]["value"] == 3600


def test_failures_are_attempts_and_what_was_cancelled_is_none(make: "Maker") -> None:
    """1 of 10 failed: 90 % good and every limit kept by 90 %; failures bind, because no limit was missed."""
    cancelled = make.failed(start=10.0, end=10.0, session="c", outcome=Outcome.CANCELLED)
    found = goodput(rounds(make, *[[*turns(make, 10, failed=1), cancelled]] * 3), Slo(ttft_s=0.2, attainment=0.99))
    assert (found["requests"]["attempted"], found["requests"]["failed"], found["requests"]["good"]) == (30, 3, 27)
    assert [one["attainment"]["value"] for one in found["limits"]] == [0.9]
    assert (found["tasks"]["attempted"], found["tasks"]["failed"], found["tasks"]["good"]) == (30, 3, 27)
    assert (found["meets"], found["binds"]) == ("no", "failures")


def test_where_more_fail_than_are_late_failures_bind(make: "Maker") -> None:
    """And the limit where more are late."""

    def binds(slow: int, failed: int) -> Any:
        return goodput(rounds(make, *[turns(make, 10, slow=slow, failed=failed)] * 3), Slo(ttft_s=0.2))["binds"]

    assert [binds(1, 2), binds(2, 2), binds(2, 1)] == ["failures", "failures", "ttft_s"]


def test_what_has_no_value_for_another_reason_keeps_the_limit(make: "Maker") -> None:
    """One token has no time a token; where no request has one, nothing is known of that limit."""
    single = [make.request(session=f"s{i}", completion_tokens=1, token_events=1, last=0.1) for i in range(4)]
    mixed = goodput(rounds(make, *[[*turns(make, 6), *single]] * 3), Slo(tpot_s=0.05))
    assert mixed["limits"][0]["unmeasured"] == 12
    assert mixed["limits"][0]["attainment"]["value"] == pytest.approx(0.4)
    none = goodput(rounds(make, *[single] * 40), Slo(tpot_s=0.05))
    assert none["limits"][0]["attainment"] == {"value": None, "low": None, "high": None, "n": 160, "estimable": False}
    assert (none["limits"][0]["by"], none["meets"], none["binds"]) == (None, "unresolved", None)


def test_the_longest_pause_between_steps_is_held_against_its_limit(make: "Maker") -> None:
    """Steps at 0.1, 0.2 and 0.9 s: 0.7 s; one event has no pause."""
    slow = make.request(token_events=3, events_at=0, last=0.9)
    once = make.request(token_events=1, events_at=1, session="t")
    trial = make.trial([slow, once], events={0: make.events([0.1, 0.2, 0.9]), 1: make.events([0.1])})
    assert [one.kept for one in request_attempts(trial, Slo(step_gap_s=0.6))] == [
        {"step_gap_s": False},
        {"step_gap_s": None},
    ]
    assert request_attempts(trial, Slo(step_gap_s=0.8))[0].good


def test_a_request_is_timed_to_its_last_token(make: "Maker") -> None:
    """1 s from sending to the last token."""
    trial = make.trial([make.request()])
    assert [request_attempts(trial, Slo(request_s=limit))[0].good for limit in (1.0, 0.99)] == [True, False]


def _session(
    make: "Maker", name: str, *, begin: float, first: int = 0, last: int = 1, **fields: Any
) -> list[RequestRecord]:
    """Turns `first` to `last` of a session of two, of a second each with a wait of a second before."""
    return [
        make.request(
            session=name, turn=turn, turns=2, ready=begin + 2 * i, start=begin + 2 * i + 1,
            first=begin + 2 * i + 1.1, last=begin + 2 * i + 2, **fields,
        )
        for i, turn in enumerate(range(first, last + 1))
    ]  # fmt: skip


def _tasks(make: "Maker", requests: list[RequestRecord], slo: Slo) -> list[tuple[str, bool, bool]]:
    attempts = request_attempts(make.trial(requests), slo)
    return [(one.request.session, one.ended, one.good) for one in task_attempts(slo, attempts)]


def test_a_task_takes_from_ready_to_its_end_waits_included(make: "Maker") -> None:
    """Two turns of a second, each after a wait of a second: 4 s."""
    for limit, good in ((4.0, True), (3.9, False)):
        assert _tasks(make, _session(make, "a", begin=0), Slo(task_s=limit)) == [("a", True, good)]


def test_only_whole_tasks_are_judged(make: "Maker") -> None:
    """What was under way when the segment began or ended is left out, also where it failed after it began before."""
    slo = Slo(ttft_s=1)
    under_way = _session(make, "a", begin=0, first=1)
    whole, cut = _session(make, "b", begin=2), _session(make, "c", begin=6, last=0)
    assert _tasks(make, [*under_way, *whole, *cut], slo) == [("b", True, True)]
    before = make.failed(session="a", turn=1, turns=2)
    inside = make.failed(start=2.0, end=2.0, session="b", turn=0, turns=2)
    assert _tasks(make, [before, inside], slo) == [("b", False, False)]


def test_a_task_is_good_where_all_its_requests_are(make: "Maker") -> None:
    """Those of its sub-agents too; a session played again is another task."""
    slo = Slo(ttft_s=0.2)
    late = make.request(start=1.0, first=1.5, last=1.8, session="sub", root="a")
    assert _tasks(make, [*_session(make, "a", begin=0), late], slo) == [("a", True, False)]
    again = [*_session(make, "a", begin=0), *_session(make, "a", begin=5)]
    assert _tasks(make, again, slo) == [("a", True, True), ("a", True, True)]


def test_a_session_longer_than_a_trial_is_estimated_from_its_turns(make: "Maker") -> None:
    """Two turns of eight in 10 s: 40 s a task, and nothing whole; a mean above the limit misses it."""
    part = [make.request(start=5.0 * i, first=5.0 * i + 0.1, last=5.0 * i + 1, turn=3 + i, turns=8) for i in range(2)]
    trials = rounds(make, *[part] * 40)
    found = goodput(trials, Slo(ttft_s=0.2, task_s=30))
    nothing = {"value": None, "low": None, "high": None, "n": 0, "estimable": False}
    assert found["tasks"] == {"attempted": 0, "failed": 0, "good": 0, "attainment": nothing, "per_hour": nothing}
    assert found["task_s_estimated"] == {"value": 40.0, "low": 40.0, "high": 40.0, "n": 40}
    assert found["limits"][1] == {
        "limit": "task_s", "asked_s": 30.0, "attempted": 0, "kept": 0, "unmeasured": 0, "attainment": nothing,
        "meets": "no", "by": "estimated",
    }  # fmt: skip
    assert (found["meets"], found["binds"]) == ("no", "task_s")
    within = goodput(trials, Slo(ttft_s=0.2, task_s=50))
    assert (within["limits"][1]["meets"], within["meets"], within["binds"]) == (None, "unresolved", None)
    assert goodput(trials, Slo(ttft_s=0.2))["meets"] == "yes"


def test_of_two_that_fall_short_the_shorter_binds(make: "Maker") -> None:
    """9 of 10 requests in time and no task: the task limit; no request in time: that limit."""
    tasks = goodput(rounds(make, *[turns(make, 10, slow=1)] * 3), Slo(ttft_s=0.2, task_s=0.5))
    assert (tasks["binds"], tasks["limits"][1]["attainment"]["value"]) == ("task_s", 0)
    assert tasks["tasks"]["per_hour"] == {"value": 0.0, "low": None, "high": None, "n": 30, "estimable": False}
    requests = goodput(rounds(make, *[turns(make, 10)] * 3), Slo(ttft_s=0.01, task_s=0.5))
    assert requests["binds"] == "ttft_s"
    alone = goodput(rounds(make, *[turns(make, 10)] * 3), Slo(ttft_s=0.2, task_s=0.5))
    assert (alone["binds"], alone["meets"]) == ("task_s", "no")


def test_good_tasks_are_tasks_times_their_good_share(make: "Maker") -> None:
    """Rounds with 10, 8 and 9 good ones of 10, so 3,240 of 3,600 an hour, with an interval around it."""
    trials = rounds(make, turns(make, 10), turns(make, 10, slow=2), turns(make, 10, slow=1))
    rate = goodput(trials, Slo(ttft_s=0.2))["tasks"]["per_hour"]
    same = ratio_over_rounds([36000, 28800, 32400], [10, 10, 10], n=30)
    assert rate == pytest.approx({"value": 3240, "low": same.low, "high": same.high, "n": 30})


def test_too_little_is_unresolved(make: "Maker") -> None:
    """Below 3 rounds there is no interval; all of 30 good are no proof of 95 %, all of 90 are."""

    def meets(count: int) -> Any:
        return goodput(rounds(make, *[turns(make, 10)] * count), Slo(ttft_s=0.2))["meets"]

    assert [meets(2), meets(3), meets(9)] == ["unresolved", "unresolved", "yes"]


def test_an_interval_is_the_wider_of_two() -> None:
    """Where rounds are alike that of the attempts, where they differ that of the rounds."""
    alike = attainment([9, 9, 9], [10, 10, 10])
    assert (alike.low, alike.high) == wilson(27, 30)
    apart = attainment([100, 100, 40], [100, 100, 100])
    assert (apart.value, apart.low, apart.high) == (0.8, ratio_over_rounds([100, 100, 40], [100] * 3).low, 1.0)
    assert attainment([20, 0, 0], [20, 0, 0]).low is None
    assert attainment([], []).value is None


@given(st.lists(st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=8))
def test_an_attainment_lies_in_its_interval_and_in_0_to_1(counts: list[tuple[int, int]]) -> None:
    """Whatever the rounds hold."""
    found = attainment([good for good, _ in counts], [total for _, total in counts])
    if found.value is None:
        assert sum(total for _, total in counts) == 0
    elif found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.value + 1e-9
        assert found.value <= found.high + 1e-9
        assert found.high <= 1


def test_without_valid_trials_or_an_objective_nothing_is_said(make: "Maker") -> None:
    """Null everywhere, never 0 and never a crash."""
    assert goodputs({("off", 1): []}, None) == []
    plan = Slo(ttft_s=2, task_s=60).model_dump(mode="json")
    (found,) = goodputs({("off", 4): []}, plan)
    assert make.strict_json(found) == found
    assert (found["variant"], found["concurrency"], found["meets"], found["binds"]) == ("off", 4, None, None)
    assert found["requests"]["attainment"]["value"] is None
    assert found["requests"]["per_hour"]["value"] is None


def test_all_requests_failed(make: "Maker") -> None:
    """Nothing is good, and failures bind."""
    found = goodput(rounds(make, *[turns(make, 10, failed=10)] * 3), Slo(ttft_s=2, tpot_s=1, task_s=60))
    assert (found["requests"]["good"], found["requests"]["attainment"]["value"], found["meets"]) == (0, 0, "no")
    assert found["binds"] == "failures"
    assert found["task_s_estimated"]["value"] is None
    assert make.strict_json(found)["tasks"]["per_hour"]["value"] is None
