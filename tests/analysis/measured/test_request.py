"""Rules of one request's quantities."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loadgen.analysis.measured.request import TokenSource, measure, step_gaps_ns, step_starts_ns, timing
from loadgen.records.model import Outcome


def test_c04_several_tokens_in_one_event_count_as_the_server_counts_them(make: Any) -> None:
    """TPOT divides by the server's 13 tokens, not by the 4 events."""
    request = make.request(first=0.5, last=0.8, completion_tokens=13, token_events=4)
    metrics = measure(request)
    assert metrics.ttft_ns == 500_000_000
    assert metrics.output_tokens == 13
    assert metrics.tpot_s == pytest.approx(0.025)
    gaps = step_gaps_ns(step_starts_ns(request, make.events([0.5, 0.6, 0.7, 0.8])))
    assert gaps == [100_000_000] * 3


def test_c05_accepted_tokens_of_one_read_are_one_step(make: Any) -> None:
    """Twelve events in four reads are four steps, 0.120 s apart; the zero gaps inside a burst are no latency."""
    request = make.request(first=0.5, last=0.86, completion_tokens=12, token_events=12)
    times = [at for at in (0.5, 0.62, 0.74, 0.86) for _ in range(3)]
    starts = step_starts_ns(request, make.events(times, [True, False, False] * 4))
    assert step_gaps_ns(starts) == [120_000_000] * 3
    assert measure(request).tpot_s == pytest.approx(0.36 / 11)


def test_events_closer_than_two_ms_are_one_step_even_in_reads_of_their_own(make: Any) -> None:
    """A burst may be read piece by piece: 1.9 ms apart is one step, 2 ms apart is two."""
    request = make.request()
    assert len(step_starts_ns(request, make.events([0.1, 0.1019, 0.2, 0.202]))) == 3


def test_on_a_fast_server_the_merge_limit_is_a_quarter_of_a_step(make: Any) -> None:
    """With 4 ms a step, events 1 ms apart are steps of their own, and 0.9 ms apart they aren't."""
    request = make.request(timings={"predicted_n": 30, "draft_n_accepted": 20, "predicted_ms": 40.0})
    assert len(step_starts_ns(request, make.events([0.1, 0.101, 0.1019]))) == 2


def test_c16_a_tool_call_in_one_event_has_no_tpot(make: Any) -> None:
    """One buffered event gives TTFT and the server's tokens, and a reason instead of 0 s a token."""
    metrics = measure(make.request(first=29.0, last=29.0, completion_tokens=701, token_events=1))
    assert metrics.ttft_ns == 29_000_000_000
    assert metrics.output_tokens == 701
    assert (metrics.tpot_s, metrics.tpot_reason) == (None, "one_timestamp")


def test_held_back_output_has_no_client_tpot_but_a_server_one(make: Any) -> None:
    """A stream that lasts less than 90 % of the server's generation was held back."""
    timings = {"predicted_n": 61, "predicted_ms": 6000.0}
    held = measure(make.request(first=1.0, last=6.3, completion_tokens=61, timings=timings))
    assert (held.tpot_s, held.tpot_reason) == (None, "held_back")
    assert held.tpot_server_s == pytest.approx(0.1)
    shown = measure(make.request(first=1.0, last=6.4, completion_tokens=61, timings=timings))
    assert shown.tpot_s == pytest.approx(0.09)
    assert shown.tpot_reason is None


@pytest.mark.parametrize(
    ("fields", "tokens", "source"),
    [
        ({"completion_tokens": 31, "timings": {"predicted_n": 30}}, 31, TokenSource.USAGE),
        ({"completion_tokens": None, "timings": {"predicted_n": 31}}, 31, TokenSource.TIMINGS),
        ({"completion_tokens": None, "timings": None}, 10, TokenSource.EVENTS),
        ({"completion_tokens": None, "timings": None, "token_events": 0}, None, None),
    ],
)
def test_c42_output_tokens_name_their_source(make: Any, fields: dict[str, Any], tokens: int, source: Any) -> None:
    """Usage goes before timings, timings before counted events, and a count of events is an estimate."""
    metrics = measure(make.request(**fields))
    assert (metrics.output_tokens, metrics.tokens_source) == (tokens, source)
    assert metrics.estimated is (source is TokenSource.EVENTS)


def test_c43_the_servers_count_stands_where_events_disagree(make: Any) -> None:
    """16 by usage and 14 events: 16."""
    assert measure(make.request(completion_tokens=16, token_events=14)).output_tokens == 16


def test_c44_prompt_and_output_are_the_servers_numbers(make: Any) -> None:
    """2 and 824, whatever the text looks like in pieces."""
    metrics = measure(make.request(completion_tokens=2, prompt_tokens=824, token_events=3))
    assert (metrics.output_tokens, metrics.depth) == (2, 824)


def test_c45_prompt_n_is_only_the_part_that_was_evaluated(make: Any) -> None:
    """Depth is cached plus evaluated tokens; one token of prefill tells no speed; an absent cache_n is unknown."""
    timings = {"cache_n": 236, "prompt_n": 1, "prompt_ms": 30.958}
    by_usage = measure(make.request(prompt_tokens=237, timings=timings))
    by_timings = measure(make.request(prompt_tokens=None, timings=timings))
    assert (by_usage.depth, by_usage.cached, by_usage.prefill_tokens_per_s) == (237, 236, None)
    assert by_timings.depth == 237
    unknown = measure(make.request(prompt_tokens=None, timings={"prompt_n": 1}))
    assert (unknown.depth, unknown.cached) == (None, None)


def test_prefill_speed_needs_enough_evaluated_tokens(make: Any) -> None:
    """1000 tokens in 500 ms are 2000 tokens per second."""
    assert measure(make.request(timings={"prompt_n": 1000, "prompt_ms": 500.0})).prefill_tokens_per_s == 2000


def test_c48_one_token_has_no_tpot(make: Any) -> None:
    """A single token has a TTFT and nothing per token."""
    metrics = measure(make.request(first=0.2, last=0.2, completion_tokens=1, token_events=1))
    assert (metrics.tpot_s, metrics.tpot_reason) == (None, "one_token")
    assert metrics.ttft_ns == metrics.e2e_ns == 200_000_000


def test_c08_queue_wait_is_told_from_prefill_by_the_headers(make: Any) -> None:
    """TTFT 1.1 s is 1.0 s in the queue and 0.1 s prefill; without proof about headers the split is unknown."""
    request = make.request(first=1.1, headers=1.0, timings={"prompt_ms": 100.0})
    split = measure(request, headers_tell_slot=True)
    assert (split.queue_wait_ns, split.prefill_ns, split.first_decode_ns) == (1_000_000_000, 100_000_000, 0)
    unknown = measure(request)
    assert (unknown.queue_wait_ns, unknown.first_decode_ns) == (None, None)


def test_first_answer_and_first_event_have_clocks_of_their_own(make: Any) -> None:
    """Reasoning from 0.3 s, content from 4 s: TTFT is the first, TTFA the second; the due time counts apart."""
    metrics = measure(make.request(start=1.0, scheduled=0.5, first=1.3, answer=5.0, last=6.0))
    assert (metrics.ttft_ns, metrics.ttfa_ns, metrics.ttft_due_ns) == (300_000_000, 4_000_000_000, 800_000_000)


def test_a_request_that_never_connected_has_no_quantities(make: Any) -> None:
    """Nothing sent, nothing measured: null, never 0."""
    request = make.failed(send_ns=None, outcome=Outcome.CONNECT_ERROR, first_event_ns=None)
    metrics = measure(request)
    assert {metrics.ttft_ns, metrics.ttfr_ns, metrics.e2e_ns, metrics.tpot_s, metrics.output_tokens} == {None}


@given(st.one_of(st.none(), st.booleans(), st.text(), st.floats(), st.integers(), st.lists(st.integers())))
@example(10**400)
@example(1e305)
def test_a_timing_is_a_finite_number_or_unknown(value: Any) -> None:
    """Whatever a server puts there, no NaN, infinity, text, truth value or number beyond 10^15 gets through."""
    found = timing({"x": value}, "x")
    assert found is None or (isinstance(found, float) and abs(found) <= 1e15)


@given(
    st.lists(st.tuples(st.integers(0, 10_000), st.booleans()), min_size=1, max_size=30),
    st.one_of(st.none(), st.floats(0, 1e4)),
)
def test_steps_never_outnumber_events_and_gaps_are_positive(
    make: Any, deltas: list[tuple[int, bool]], predicted_ms: float | None
) -> None:
    """Every step holds an event, and steps follow each other in time."""
    times, at = [], 0.0
    for delta_us, _ in deltas:
        at += delta_us / 1e6
        times.append(at)
    timings = {"predicted_n": len(deltas), "predicted_ms": predicted_ms}
    events = make.events(times, [new for _, new in deltas])
    starts = step_starts_ns(make.request(timings=timings), events)
    assert 1 <= len(starts) <= len(events)
    assert all(gap >= 0 for gap in step_gaps_ns(starts))
