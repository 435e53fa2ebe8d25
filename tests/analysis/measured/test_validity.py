"""Rules of what counts."""

from typing import Any

import pytest

from loadgen.analysis.measured.validity import ClientState, Reason, client_state, reasons, send_lag_p99_s
from loadgen.records.model import Outcome, Phase


def _back_to_back(make: Any, count: int, failures: int = 0, **fields: Any) -> list[Any]:
    """`count` requests of 1 s, the first `failures` of them failed."""
    return [
        make.failed(start=i, end=i + 1, session=str(i), **fields)
        if i < failures
        else make.request(start=i, first=i + 0.2, last=i + 1, session=str(i), **fields)
        for i in range(count)
    ]


def test_a_trial_in_which_nothing_went_wrong_counts(make: Any) -> None:
    """No reason, no client reading needed."""
    assert reasons(make.trial(_back_to_back(make, 10))) == []


@pytest.mark.parametrize(
    ("count", "failures", "counts"), [(10, 1, True), (200, 2, False), (201, 2, True), (10, 2, False), (400, 3, True)]
)
def test_failures_below_one_percent_or_a_single_one_are_allowed(
    make: Any, count: int, failures: int, counts: bool
) -> None:
    """One failure never invalidates; two do from 1 % on."""
    trial = make.trial(_back_to_back(make, count, failures), segments=[(0, count)])
    assert (Reason.FAILURES not in reasons(trial)) is counts


def test_cancelled_turns_are_no_failures(make: Any) -> None:
    """A scripted cancellation is part of the workload."""
    assert reasons(make.trial(_back_to_back(make, 10, 5, outcome=Outcome.CANCELLED))) == []


def test_lost_time_of_the_client_invalidates_below_95_percent(make: Any) -> None:
    """9.5 of 10 s accounted for count, 9.4 s don't."""
    assert reasons(make.trial([make.request(last=9.5)])) == []
    assert reasons(make.trial([make.request(last=9.4)])) == [Reason.UNACCOUNTED]


def test_how_a_trial_ended_is_a_reason(make: Any) -> None:
    """Aborted, incomplete and a dead server are three reasons; an unknown server is none."""
    requests = _back_to_back(make, 10)
    ended = make.trial(requests, aborted="the server died", complete=False, server_alive=False)
    assert reasons(ended) == [Reason.ABORTED, Reason.INCOMPLETE, Reason.SERVER_DIED]
    assert reasons(make.trial(requests, server_alive=None)) == []


def test_c01_first_turns_that_come_from_the_cache_contaminate(make: Any) -> None:
    """Up to 5 % of a first prompt is what a chat template explains; more was sent before."""
    template = make.trial([make.request(last=10, cached_tokens=5)])
    replayed = make.trial([make.request(last=10, cached_tokens=6)])
    assert reasons(template) == []
    assert reasons(replayed) == [Reason.CONTAMINATED]


def test_reuse_inside_a_session_is_no_contamination(make: Any) -> None:
    """Later turns may come from the cache."""
    assert reasons(make.trial([make.request(last=10, turn=1, turns=2, cached_tokens=99)])) == []


def test_drafts_in_a_variant_that_is_off_invalidate(make: Any) -> None:
    """An `off` that drafts isn't off; elsewhere drafts are welcome."""
    trial = make.trial([make.request(last=10, timings={"draft_n": 3, "draft_n_accepted": 1})])
    assert reasons(trial, off=True) == [Reason.DRAFTED]
    assert reasons(trial) == []


@pytest.mark.parametrize(
    ("lag", "state"),
    [
        (0.001, ClientState.OK),
        (0.005, ClientState.OK),
        (0.0051, ClientState.SUSPECT),
        (0.05, ClientState.SUSPECT),
        (0.051, ClientState.CLIENT_BOUND),
    ],
)
def test_lag_is_held_against_the_median_step_gap(make: Any, lag: float, state: ClientState) -> None:
    """With steps 0.1 s apart: up to 5 % ok, above 50 % client-bound."""
    request = make.request(first=1.0, last=10.0, events_at=0)
    events = {0: make.events([1.0, 1.1, 1.2, 1.3, 9.0])}
    assert client_state(make.trial([request], events=events, client=make.client(lag=lag))) is state


def test_a_lag_below_one_ms_is_ok_on_the_fastest_server(make: Any) -> None:
    """Steps of 1.5 ms don't make an idle client bound."""
    request = make.request(first=1.0, last=10.0, events_at=0, timings={"predicted_n": 9, "predicted_ms": 9.0})
    trial = make.trial([request], events={0: make.events([1.0, 1.0015, 1.003])}, client=make.client(lag=0.001))
    assert client_state(trial) is ClientState.OK


@pytest.mark.parametrize(
    ("cpu", "state"), [(0.7, ClientState.OK), (0.9, ClientState.SUSPECT), (0.91, ClientState.CLIENT_BOUND)]
)
def test_cpu_share_has_two_limits(make: Any, cpu: float, state: ClientState) -> None:
    """Up to 70 % ok, above 90 % client-bound."""
    trial = make.trial([make.request(last=10)], client=make.client(cpu=cpu))
    assert client_state(trial) is state
    assert (Reason.CLIENT_BOUND in reasons(trial)) is (state is ClientState.CLIENT_BOUND)


@pytest.mark.parametrize(
    ("late", "state"), [(0.02, ClientState.OK), (0.1, ClientState.SUSPECT), (0.11, ClientState.CLIENT_BOUND)]
)
def test_send_lag_is_held_against_the_median_ttft(make: Any, late: float, state: ClientState) -> None:
    """With a TTFT of 1 s: 20 ms late is ok, above 100 ms client-bound."""
    request = make.request(start=1.0 + late, scheduled=1.0, first=2.0 + late, last=10.0)
    assert send_lag_p99_s(make.trial([request])) == pytest.approx(late)
    assert client_state(make.trial([request])) is state


def test_without_any_measure_the_client_state_is_unknown(make: Any) -> None:
    """Nothing read, nothing sent: null."""
    assert client_state(make.trial([])) is None


def test_warm_up_failures_are_not_failures_of_the_measured_turns(make: Any) -> None:
    """Only segments are judged."""
    warmup = [make.failed(end=1, phase=Phase.WARMUP) for _ in range(5)]
    assert reasons(make.trial([*warmup, *_back_to_back(make, 10)])) == []
