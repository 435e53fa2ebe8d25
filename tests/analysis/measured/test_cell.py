"""Rules of a cell: what its valid trials say together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.measured.cell import cell, outcomes, token_count_mismatches, token_sources
from loadgen.records.model import Outcome, Phase


def _numbers(value: Any) -> list[float]:
    """All numbers in a JSON value."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    return [value] if isinstance(value, int | float) else []


def test_rates_are_ratios_of_sums_over_the_rounds(make: Any) -> None:
    """One session in 10 s and three in 20 s, one agent: 4 ÷ 30 s = 480 an hour, not the mean of 360 and 540."""
    short = make.trial([make.request(last=10.0)], segments=[(0, 10)])
    long = make.trial(
        [make.request(start=i * 5.0, last=i * 5.0 + 5, first=i * 5.0 + 1, round=2) for i in range(3)],
        segments=[(0, 20)],
        round=2,
    )
    found = cell([short, long])
    assert found["tasks_per_hour"] == {"value": 480, "low": None, "high": None, "n": 2, "estimable": False}
    assert found["requests_per_hour"]["value"] == 480
    assert found["output_tokens_per_s"]["value"] == pytest.approx(40 / 30)
    assert found["whole_sessions"] == 4


def test_c06_fast_failures_never_enter_latencies_or_rates(make: Any) -> None:
    """Every second request fails in 5 ms: 50 % failures, rates from successes, TTFT from successes."""
    requests = [
        part
        for i in range(10)
        for part in (
            make.request(start=i, first=i + 0.2, last=i + 1, session=f"a{i}"),
            make.failed(start=i, end=i + 0.005, session=f"b{i}"),
        )
    ]
    trial = make.trial(requests)
    found = cell([trial])
    assert outcomes([trial]) == {"ok": 10, "http_error": 10}
    assert found["requests_per_hour"]["value"] == pytest.approx(3600)
    assert (found["ttft_s"]["p50"]["value"], found["ttft_s"]["p50"]["n"]) == (pytest.approx(0.2), 10)


def test_c06_without_a_success_every_latency_is_null(make: Any) -> None:
    """All 500: no latency of 0.00, a rate of 0 over the time that it took."""
    found = cell([make.trial([make.failed(start=i, end=i + 1, session=str(i)) for i in range(10)])])
    assert found["ttft_s"]["p50"] == {"value": None, "low": None, "high": None, "n": 0, "estimable": False}
    assert found["requests_per_hour"]["value"] == 0
    assert found["depth"]["value"] is None


def test_c13_empty_answers_are_no_successes(make: Any) -> None:
    """Half the answers are empty: TTFT p50 0.2 s from the others, tokens and rates from the others."""
    requests = [
        make.request(start=i, first=i + 0.2, last=i + 1, session=str(i))
        if i % 2
        else make.failed(start=i, end=i + 1, session=str(i), outcome=Outcome.EMPTY, completion_tokens=0)
        for i in range(10)
    ]
    trial = make.trial(requests)
    found = cell([trial])
    assert outcomes([trial]) == {"ok": 5, "empty": 5}
    assert found["ttft_s"]["p50"]["value"] == pytest.approx(0.2)
    assert found["tasks_per_hour"]["value"] == pytest.approx(1800)
    assert found["output_tokens_per_s"]["value"] == pytest.approx(5)


def test_c82_failures_late_and_slow_stay_out_of_the_latencies(make: Any) -> None:
    """90 successes at 0.2 s and 10 failures after 60 s that gave a token at 0.1 s: p99 is 0.2 s of 90."""
    requests = [make.request(first=0.2, last=1.0, session=str(i)) for i in range(90)]
    requests += [
        make.request(first=0.1, last=0.1, end=60.0, session=f"f{i}", outcome=Outcome.STREAM_ERROR) for i in range(10)
    ]
    trial = make.trial(requests, segments=[(0, 60)])
    found = cell([trial])
    assert found["ttft_s"]["p99"]["value"] == pytest.approx(0.2)
    assert found["ttft_s"]["max"]["n"] == 90
    assert outcomes([trial]) == {"ok": 90, "stream_error": 10}
    assert found["requests_per_hour"]["value"] == 90 * 60


def test_c23_warm_up_is_outside_all_statistics(make: Any) -> None:
    """Ten first requests of 40 s in warm-up, 100 of 1 s: p95 is 1 s."""
    requests = [make.request(first=40, last=41, phase=Phase.WARMUP, session=f"w{i}") for i in range(10)]
    requests += [make.request(start=41 + i, first=42 + i, last=42 + i, session=str(i)) for i in range(100)]
    found = cell([make.trial(requests, segments=[(41, 141)])])
    assert (found["ttft_s"]["p95"]["value"], found["ttft_s"]["p95"]["n"]) == (1, 100)


def test_c48_single_tokens_leave_tpot_to_the_others(make: Any) -> None:
    """Three answers of one token and one of 11 over a second: TPOT 0.1 s, n = 1."""
    requests = [make.request(first=0.2, last=0.2, completion_tokens=1, session=str(i)) for i in range(3)]
    requests.append(make.request(first=0.2, last=1.2, completion_tokens=11))
    found = make.strict_json(cell([make.trial(requests)]))
    assert found["tpot_s"]["p50"]["value"] == pytest.approx(0.1)
    assert found["tpot_s"]["p50"]["n"] == 1


def test_c49_a_cell_without_trials_is_null_throughout(make: Any) -> None:
    """Nothing valid: every estimate null, strict JSON."""
    found = make.strict_json(cell([]))
    assert found["tasks_per_hour"]["value"] is None
    assert {number for number in _numbers(found) if number} == set()


def test_acceptance_is_a_ratio_of_sums(make: Any) -> None:
    """65 of 347 and 35 of 53 drafted: 100/400; null where nothing reports drafts."""
    requests = [
        make.request(session=str(i), timings={"predicted_n": 200, "draft_n": n, "draft_n_accepted": accepted})
        for i, (n, accepted) in enumerate([(347, 65), (53, 35)])
    ]
    found = cell([make.trial(requests)])
    assert found["acceptance_rate"]["value"] == 0.25
    assert (found["drafted_tokens"], found["accepted_tokens"]) == (400, 100)
    assert found["tokens_per_step"]["value"] == pytest.approx(400 / 300)
    unknown = cell([make.trial([make.request(timings={"predicted_n": 200})])])
    assert unknown["acceptance_rate"]["value"] is None
    assert (unknown["drafted_tokens"], unknown["tokens_per_step"]["value"]) == (None, None)


def test_where_nothing_drafts_a_step_is_a_token(make: Any) -> None:
    """A variant that is known to be off makes one token a step."""
    found = cell([make.trial([make.request(timings={"predicted_n": 200})])], off=True)
    assert found["tokens_per_step"]["value"] == 1


def test_c54_acceptance_length_comes_from_counters_and_skips_restarts(make: Any) -> None:
    """300 accepted in 100 drafts: 4.0; a trial in which the server restarted says nothing."""
    trials = [
        make.trial(
            [make.request()],
            counters_before=make.counters(
                spec_decode_num_accepted_tokens_total=1000, spec_decode_num_drafts_total=before
            ),
            counters_after=make.counters(spec_decode_num_accepted_tokens_total=after, spec_decode_num_drafts_total=500),
        )
        for before, after in [(400, 1300), (400, 250)]
    ]
    assert cell(trials)["acceptance_length"]["value"] == 4
    assert cell(trials)["acceptance_length"]["n"] == 1
    assert cell([make.trial([make.request()])])["acceptance_length"]["value"] is None


def test_c08_queue_wait_and_prefill_are_columns_of_their_own(make: Any) -> None:
    """Four answers at 0.1 s and four at 1.1 s with 0.1 s prefill: queue wait p99 1 s, prefill p99 0.1 s."""
    requests = [
        make.request(headers=wait, first=wait + 0.1, last=wait + 1, session=str(i), timings={"prompt_ms": 100.0})
        for i, wait in enumerate([0.0] * 4 + [1.0] * 4)
    ]
    found = cell([make.trial(requests, headers_tell_slot=True)])
    assert found["ttft_s"]["max"]["value"] == pytest.approx(1.1)
    assert found["queue_wait_s"]["p50"]["value"] == 0
    assert found["queue_wait_s"]["p99"]["value"] == 1
    assert found["prefill_s"]["max"]["value"] == pytest.approx(0.1)
    assert cell([make.trial(requests)])["queue_wait_s"]["p50"]["value"] is None


def test_step_gaps_are_those_between_bursts(make: Any) -> None:
    """C05: all percentiles 0.120 s, none 0."""
    times = [at for at in (0.5, 0.62, 0.74, 0.86) for _ in range(3)]
    events = {7: make.events(times, [True, False, False] * 4)}
    request = make.request(first=0.5, last=0.86, completion_tokens=12, token_events=12, events_at=7)
    found = cell([make.trial([request], events=events)])["step_gap_s"]
    assert [found[key]["value"] for key in ("p50", "p99", "max")] == [pytest.approx(0.12)] * 3
    assert found["p50"]["n"] == 3


def test_c42_and_c43_sources_and_disagreements_are_counted(make: Any) -> None:
    """Where tokens come from is shown, and how often the server's count is not that of the events."""
    trial = make.trial(
        [
            make.request(session="a", completion_tokens=16, token_events=14),
            make.request(session="b", completion_tokens=None, timings={"predicted_n": 31}, token_events=31),
            make.request(session="c", completion_tokens=None, token_events=10),
        ]
    )
    assert token_sources([trial]) == {"events": 1, "timings": 1, "usage": 1}
    assert token_count_mismatches([trial]) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Outcome)), st.floats(0, 10), st.floats(0, 10), st.integers(0, 50), st.integers(1, 3)
        ),
        max_size=30,
    )
)
def test_started_is_the_sum_of_all_outcomes_and_nothing_is_nan(make: Any, answers: list[Any]) -> None:
    """Every measured request has one outcome, and no mix of them breaks strict JSON."""
    trials = [
        make.trial(
            [
                make.request(
                    first=min(a, b),
                    last=max(a, b),
                    outcome=outcome,
                    completion_tokens=tokens,
                    session=str(i),
                    timings={"draft_n": tokens, "draft_n_accepted": tokens // 2, "predicted_n": tokens},
                )
                for i, (outcome, a, b, tokens, round_number) in enumerate(answers)
                if round_number == number
            ],
            round=number,
        )
        for number in (1, 2, 3)
    ]
    assert sum(outcomes(trials).values()) == len(answers)
    found = make.strict_json(cell(trials))
    points = [found["ttft_s"][key]["value"] for key in ("p50", "p90", "p95", "p99", "max")]
    assert points == [None] * 5 or points == sorted(points)


@pytest.mark.parametrize(("exact", "biased"), [((False, False), False), ((True, True), True), ((), None)])
def test_acceptance_of_answers_of_an_exact_length_is_biased(make: Any, exact: Any, biased: bool | None) -> None:
    """Text past a model's own end is drafted otherwise; without an answer there is nothing to be biased."""
    requests = [
        make.request(exact_length=one, timings={"draft_n": 4, "draft_n_accepted": 3}, start=float(at))
        for at, one in enumerate(exact)
    ]
    assert cell([make.trial(requests)])["acceptance_biased"] is biased
