"""Rules of what a run becomes in metrics: exact values of records that are told one after another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from prometheus_client import generate_latest

from loadgen.metrics.recorder import Recorder
from loadgen.metrics.store import Buckets, Store
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import CounterReading, Outcome, Phase, Sample
from tests.analysis.conftest import Maker

MAKE = Maker()
MTP = ("s", "chat", "mtp", "2")
_POSITION = 'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="%d"}'


@dataclass
class Load:
    """What a trial does, as a test sets it."""

    in_flight: int = 1
    agents: int = 2
    phase: str = "segment"


def planned(**fields: Any) -> PlannedTrial:
    """A trial of `mtp` at two agents."""
    plain: dict[str, Any] = {
        "trial": "r1-mtp-c2", "round": 1, "variant": "mtp", "level": 2, "order": 0, "turns_per_agent": 2,
        "short": False,
    }  # fmt: skip
    return PlannedTrial(**{**plain, **fields})


PLACE: dict[str, Any] = {"trial": "r1-mtp-c2", "variant": "mtp", "level": 2}


def recorder(**experiment: Any) -> Recorder:
    """A run of `off` and `mtp` that has begun, with a llama-server each."""
    found = Recorder(Store())
    found.server(MAKE.start("off"))
    found.server(MAKE.start("mtp"))
    found.begun(MAKE.manifest(["off", "mtp"], **{"series": "s", **experiment}), ())
    return found


def value(told: Recorder, name: str, labels: Sequence[str]) -> float | None:
    """A counter or gauge without its prefix; null where it is absent."""
    held = told.store.value(f"loadgen_{name}", tuple(labels))
    assert not isinstance(held, Buckets)
    return held


def observed(told: Recorder, name: str, labels: Sequence[str] = MTP) -> Any:
    """Number and sum of a histogram's values; null where it is absent."""
    held = told.store.value(f"loadgen_{name}_seconds", tuple(labels))
    return (sum(held.counts), pytest.approx(held.sum)) if isinstance(held, Buckets) else None


def test_before_a_run_has_begun_there_is_nothing() -> None:
    """Without a manifest the labels aren't known: nothing is shown, and nothing fails."""
    told = Recorder(Store())
    told.server(MAKE.start("off"))
    told.trial_started(planned())
    told.answered(MAKE.request(**PLACE), ())
    told.trial_ended(MAKE.record(**PLACE))
    told.refresh()
    assert told.store.size() == 0
    assert told.series is None


def test_the_run_is_in_one_info() -> None:
    """Its id, model and build are labels of the info alone; start and end are gauges."""
    told = recorder()
    told.ended(1_800_000_000.0)
    assert value(told, "run_info", ("s", "run", "chat", "m", "off", "unknown", "0.1.0")) == 1
    assert value(told, "run_start_timestamp_seconds", ("s",)) == 1_767_225_600
    assert value(told, "run_end_timestamp_seconds", ("s",)) == 1_800_000_000
    assert generate_latest(told.store).decode().count('run="run"') == 1


def test_an_ok_request_of_a_segment_is_counted_and_observed() -> None:
    """TTFT 0.2 s, TPOT 0.1 s, request 1.1 s, two step gaps; tokens as the server told them."""
    told = recorder()
    told.trial_started(planned())
    timings = {"predicted_n": 9, "predicted_ms": 900, "draft_n": 8, "draft_n_accepted": 5, "cache_n": 60}
    told.answered(
        MAKE.request(
            **PLACE,
            start=1.0,
            headers=1.05,
            first=1.2,
            last=2.1,
            completion_tokens=10,
            cached_tokens=64,
            timings=timings,
        ),
        MAKE.events([1.2, 1.5, 2.1]),
    )
    segment = (*MTP, "segment")
    assert value(told, "requests_total", (*MTP, "ok", "segment")) == 1
    assert observed(told, "time_to_first_token") == (1, 0.2)
    assert observed(told, "time_per_output_token") == (1, 0.1)
    assert observed(told, "request_duration") == (1, 1.1)
    assert observed(told, "queue_wait") == (1, 0.05)
    assert observed(told, "step_gap") == (2, 0.9)
    tokens = {"prompt_tokens": 100, "prompt_tokens_cached": 64, "generation_tokens": 10, "decode_steps": 4}
    drafts = {"draft_tokens": 8, "draft_tokens_accepted": 5}
    assert {name: value(told, f"{name}_total", segment) for name in tokens | drafts} == tokens | drafts


def test_what_a_server_does_not_tell_has_no_series() -> None:
    """No drafts, no cache, no queue wait: absent, not 0."""
    told = Recorder(Store())
    told.server(MAKE.start("off", kind="openai"))
    told.begun(MAKE.manifest(["off"], series="s"), ())
    told.trial_started(planned(variant="off"))
    told.answered(MAKE.request(**{**PLACE, "variant": "off"}, headers=0.01, cached_tokens=None, timings=None), ())
    written = generate_latest(told.store).decode()
    for name in ("draft_tokens", "prompt_tokens_cached", "decode_steps", "queue_wait", "step_gap", "memory", "power"):
        assert f"loadgen_{name}" not in written


@pytest.mark.parametrize(
    ("plan", "fields", "phase"),
    [
        ({}, {"phase": Phase.WARMUP}, "warmup"),
        ({}, {"phase": Phase.DRAIN}, "drain"),
        ({"round": 0}, {"round": 0}, "pilot"),
        ({"round": 0, "drift": True}, {"round": 0}, "drift"),
        ({}, {"trial": "check-mtp", "round": 0, "phase": Phase.WARMUP}, "check"),
    ],
)
def test_only_segments_of_trials_that_count_are_observed(
    plan: dict[str, Any], fields: dict[str, Any], phase: str
) -> None:
    """Every request is counted under what it was for; the report's latencies leave all of these out."""
    told = recorder()
    told.trial_started(planned(**plan))
    told.answered(MAKE.request(**{**PLACE, **fields}), MAKE.events([0.1, 0.5]))
    assert value(told, "requests_total", (*MTP, "ok", phase)) == 1
    assert value(told, "generation_tokens_total", (*MTP, phase)) == 10
    assert observed(told, "time_to_first_token") is None


def test_failures_are_counted_and_leave_latencies_alone() -> None:
    """An error that came at once is no fast answer."""
    told = recorder()
    told.trial_started(planned())
    told.answered(MAKE.failed(**PLACE, turn=1, turns=3), ())
    told.answered(MAKE.request(**PLACE, outcome=Outcome.CANCELLED), ())
    assert value(told, "requests_total", (*MTP, "http_error", "segment")) == 1
    assert value(told, "requests_total", (*MTP, "cancelled", "segment")) == 1
    assert observed(told, "time_to_first_token") is None
    assert value(told, "sessions_total", (*MTP, "http_error")) == 1
    assert value(told, "sessions_total", (*MTP, "cancelled")) is None


def test_sessions_end_with_their_last_turn_and_take_their_time_with_waits() -> None:
    """Two turns from 0 to 3 s with a second of waiting are a task of 3 s; a sub-agent's end is none."""
    told = recorder()
    told.trial_started(planned())
    told.answered(MAKE.request(**PLACE, turn=0, turns=2, last=1.0), ())
    told.answered(MAKE.request(**PLACE, turn=0, turns=1, session="child", root="s"), ())
    assert value(told, "sessions_total", (*MTP, "ok")) is None
    told.answered(MAKE.request(**PLACE, turn=1, turns=2, ready=1.0, start=2.0, first=2.1, last=3.0), ())
    assert value(told, "sessions_total", (*MTP, "ok")) == 1
    assert observed(told, "task_duration") is None
    told.trial_ended(MAKE.record(**PLACE))
    assert observed(told, "task_duration") == (1, 3.0)


def test_the_load_is_read_when_somebody_scrapes() -> None:
    """Agents, requests in flight and the phase are those of the moment, and 0 once the trial has ended."""
    told = recorder()
    told.trial_started(planned())
    load = Load()
    told.load(load)
    told.server_said({"llamacpp:requests_processing": 2, "llamacpp:requests_deferred": 1})
    load.in_flight = 2
    written = generate_latest(told.store).decode()
    labels = 'concurrency="2",series="s",variant="mtp",workload="chat"'
    assert f"loadgen_requests_in_flight{{{labels}}} 2.0" in written
    names = ("agents_target", "agents_active", "server_slots_busy", "server_requests_deferred")
    assert [value(told, name, MTP) for name in names] == [2, 2, 2, 1]
    assert [value(told, "phase", (*MTP, phase)) for phase in ("pilot", "warmup", "segment", "drain")] == [0, 0, 1, 0]
    told.trial_ended(MAKE.record(**PLACE))
    told.refresh()
    assert [value(told, name, MTP) for name in names] == [0, 0, None, None]
    assert value(told, "requests_in_flight", MTP) == 0
    assert [value(told, "phase", (*MTP, phase)) for phase in ("pilot", "warmup", "segment", "drain")] == [0, 0, 0, 0]


def test_the_pilot_is_a_phase_of_its_own() -> None:
    """Round 0 measures nothing that counts."""
    told = recorder()
    told.trial_started(planned(round=0))
    told.load(Load())
    told.refresh()
    assert value(told, "phase", (*MTP, "pilot")) == 1
    assert value(told, "phase", (*MTP, "segment")) == 0


def test_trials_tell_of_the_client_and_of_drafts() -> None:
    """Lag and CPU of the last trial; steps with a draft and accepted tokens by position add up over trials."""
    told = recorder()
    told.planned(Plan(rounds=2, trials=[planned(), planned(round=2)], dropped_levels=[], estimated_s=1, turn_s={}), 2)
    counters = {"llamacpp:spec_decode_num_drafts_total": 0.0, _POSITION % 0: 0.0, _POSITION % 70: 0.0}
    after = {"llamacpp:spec_decode_num_drafts_total": 40.0, _POSITION % 0: 30.0, _POSITION % 70: 5.0}
    for _ in range(2):
        told.trial_started(planned())
        told.trial_ended(
            MAKE.record(
                **PLACE,
                client=MAKE.client(lag=0.002, cpu=0.25),
                counters_before=CounterReading(at_ns=0, values=counters),
                counters_after=CounterReading(at_ns=1, values=after),
            )
        )
    assert value(told, "client_lag_seconds", MTP) == 0.002
    assert value(told, "client_cpu_ratio", MTP) == 0.25
    assert value(told, "verification_steps_total", MTP) == 80
    assert value(told, "draft_tokens_accepted_per_position_total", (*MTP, "0")) == 60
    assert value(told, "draft_tokens_accepted_per_position_total", (*MTP, "70")) is None
    assert (value(told, "run_trials_planned", ("s",)), value(told, "run_trials_done", ("s",))) == (2, 2)


def sample(name: str, size: float | None, device: str | None = None, **fields: Any) -> Sample:
    """A reading of `mtp` in a trial."""
    plain: dict[str, Any] = {"run": "run", "trial": "t", "variant": "mtp", "at_ns": 0, "source": "x"}
    return Sample(**{**plain, "name": name, "value": size, "device": device, **fields})


def test_memory_is_that_of_the_last_reading_and_its_peak_stays() -> None:
    """By device; what can't be read any more is absent; the peak is of trials alone."""
    told = recorder(memory_budget_bytes=1000)
    mtp = ("s", "chat", "mtp")
    told.sample(sample("used_bytes", 950, "GPU-1", trial=None))
    for size in (700, 900, 800):
        told.sample(sample("used_bytes", size, "GPU-1"))
    told.sample(sample("total_bytes", 24_000, "GPU-1"))
    told.sample(sample("power_watts", 320.5, "GPU-1"))
    assert value(told, "memory_used_bytes", (*mtp, "GPU-1")) == 800
    assert value(told, "memory_used_peak_bytes", (*mtp, "GPU-1")) == 900
    assert value(told, "memory_budget_bytes", (*mtp, "GPU-1")) == 24_000
    assert value(told, "memory_budget_bytes", (*mtp, "all")) == 1000
    assert value(told, "power_watts", (*mtp, "GPU-1")) == 320.5
    told.sample(sample("used_bytes", None, "GPU-1", reason="gone"))
    assert value(told, "memory_used_bytes", (*mtp, "GPU-1")) is None
    assert value(told, "memory_used_peak_bytes", (*mtp, "GPU-1")) == 900


def test_processes_count_shared_pages_once_where_they_tell() -> None:
    """The proportional size goes before the resident one, which is taken where there is no other."""
    told = recorder()
    told.sample(sample("rss_bytes", 500))
    process = ("s", "chat", "mtp", "process")
    assert value(told, "memory_used_bytes", process) == 500
    told.sample(sample("pss_bytes", 300))
    told.sample(sample("rss_bytes", 510))
    assert value(told, "memory_used_bytes", process) == 300


def test_a_server_that_is_down_uses_nothing_now() -> None:
    """When another variant's trial begins, and at the end, the last reading is taken out; its peak stays."""
    told = recorder()
    told.trial_started(planned())
    told.sample(sample("used_bytes", 700, "GPU-1"))
    told.trial_started(planned(variant="off", trial="r1-off-c2"))
    assert value(told, "memory_used_bytes", ("s", "chat", "mtp", "GPU-1")) is None
    assert value(told, "memory_used_peak_bytes", ("s", "chat", "mtp", "GPU-1")) == 700
    told.sample(sample("used_bytes", 600, "GPU-1", variant="off"))
    told.ended(0.0)
    assert value(told, "memory_used_bytes", ("s", "chat", "off", "GPU-1")) is None


def test_ten_thousand_trials_have_the_series_of_ten() -> None:
    """The number of series goes with variants and levels, not with requests, sessions or trials."""
    sizes = []
    for count in (10, 10_000):
        told = recorder()
        for number in range(count):
            name = f"r{number}-mtp-c2"
            told.trial_started(planned(trial=name, round=number + 1))
            told.answered(MAKE.request(**{**PLACE, "trial": name}, session=f"s{number}", round=number + 1), ())
            told.trial_ended(MAKE.record(**{**PLACE, "trial": name}, round=number + 1))
        sizes.append(told.store.size())
    assert sizes[0] == sizes[1]


def test_a_key_in_a_record_gets_nowhere() -> None:
    """Sessions, targets and error texts are no labels, and the exemplar names trial, agent and turn alone."""
    told = recorder()
    told.trial_started(planned())
    secret: dict[str, Any] = {"session": "sk-4711", "root": "sk-4711", "error": "sk-4711", "target": "http://sk-4711:1"}
    told.answered(MAKE.request(**PLACE, **secret), MAKE.events([0.1, 0.2]))
    told.trial_ended(MAKE.record(**PLACE))
    held = [str(one) for one in told.store.everything()]
    assert held
    assert not any("4711" in one for one in held)
