"""What is kept of one streamed answer: published failure cases with their right values."""

from typing import TYPE_CHECKING, Any

import pytest

from loadgen.client.chunk import ChunkError
from loadgen.client.reception import Reception
from loadgen.records.model import EventKind, TokenEvent

if TYPE_CHECKING:
    from tests.client.conftest import Wire

MS = 1_000_000


def receive(wire: "Wire", *timed: tuple[float, Any]) -> Reception:
    """Takes events at their times in ms; plain text is taken as it is."""
    received = Reception(keep_text=True)
    for at_ms, event in timed:
        (payload,) = wire.sse(event)[6:].split(b"\n\n")[:1]
        received.take(round(at_ms * MS), payload)
    return received


def test_several_tokens_in_one_event_are_one_event(wire: "Wire") -> None:
    """C04: four content chunks of 1, 4, 4 and 4 tokens are four token events, and the count is the server's 13."""
    received = receive(
        wire,
        (100, wire.delta(role="assistant", content=None)),
        *((at, wire.delta(content=text)) for at, text in ((500, "a"), (600, "bcde"), (700, "fghi"), (800, "jklm"))),
        (800, {"choices": [], "usage": {"completion_tokens": 13, "prompt_tokens": 5}}),
        (800, "[DONE]"),
    )
    assert [event.at_ns for event in received.events] == [500 * MS, 600 * MS, 700 * MS, 800 * MS]
    assert received.usage.completion_tokens == 13
    assert (received.first_token_ns, received.last_token_ns) == (500 * MS, 800 * MS)


def test_a_burst_in_one_read_is_marked_at_its_first_event(wire: "Wire") -> None:
    """C05: three events in each of four reads are twelve events, of which four begin a read."""
    times = (500, 620, 740, 860)
    received = receive(wire, *((at, wire.delta(content="x")) for at in times for _ in range(3)))
    assert received.events == [
        TokenEvent(at_ns=at * MS, kind=EventKind.CONTENT, new_read=first)
        for at in times
        for first in (True, False, False)
    ]


def test_the_first_token_is_the_first_text(wire: "Wire") -> None:
    """C14: role, progress and empty content come first and don't count; the first event of any kind is kept apart."""
    received = receive(
        wire,
        (50, wire.delta(role="assistant", content=None)),
        (300, {**wire.delta(role="assistant", content=None), "prompt_progress": {"total": 9, "processed": 4}}),
        (400, wire.delta(content="")),
        (800, wire.delta(content=" A")),
    )
    assert received.first_event_ns == 50 * MS
    assert received.first_token_ns == 800 * MS
    assert received.text == " A"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_starts_the_clock_and_the_answer_has_its_own(wire: "Wire", name: str) -> None:
    """C15: the first token is reasoning at 0.3 s, the first answer token comes at 4 s; both texts are kept apart."""
    received = receive(
        wire,
        (300, wire.delta(**{name: "hm "})),
        (3900, wire.delta(**{name: "so"})),
        (4000, wire.delta(content="A")),
        (5000, wire.delta(content="B")),
    )
    assert received.first_token_ns == 300 * MS
    assert received.first_answer_ns == 4000 * MS
    assert received.last_token_ns == 5000 * MS
    assert (received.reasoning, received.text) == ("hm so", "AB")


def test_an_answer_that_ends_in_reasoning_has_no_answer_time(wire: "Wire") -> None:
    """C15, variant: max_tokens ends the stream during reasoning."""
    received = receive(wire, (300, wire.delta(reasoning_content="hm")), (3900, wire.delta("length")))
    assert (received.first_token_ns, received.first_answer_ns) == (300 * MS, None)
    assert received.finish_reason == "length"


def test_a_tool_call_in_one_delta_is_one_token_event(wire: "Wire") -> None:
    """C16: a call of 701 tokens in one event at 29 s: one event, the server's count, and no answer text."""
    received = receive(
        wire,
        (100, wire.delta(role="assistant", content=None)),
        (29000, wire.delta(tool_calls=[{"index": 0, "function": {"name": "edit", "arguments": '{"a":1}'}}])),
        (29000, wire.delta("tool_calls")),
        (29000, {"choices": [], "usage": {"completion_tokens": 701, "prompt_tokens": 9}}),
    )
    assert received.events == [TokenEvent(at_ns=29000 * MS, kind=EventKind.TOOL_CALL, new_read=True)]
    assert (received.usage.completion_tokens, received.finish_reason) == (701, "tool_calls")
    assert (received.first_answer_ns, received.text) == (None, "")


def test_the_usage_chunk_moves_no_time(wire: "Wire") -> None:
    """C42 a: the last chunk, with empty choices, brings 31 and 75 and leaves the times alone."""
    received = receive(
        wire,
        (200, wire.delta(content="A")),
        (900, {"choices": [], "usage": {"prompt_tokens": 31, "completion_tokens": 75}, "timings": {"predicted_n": 75}}),
    )
    assert (received.usage.prompt_tokens, received.usage.completion_tokens) == (31, 75)
    assert (received.first_token_ns, received.last_token_ns) == (200 * MS, 200 * MS)


@pytest.mark.parametrize("usage", [{}, {"usage": None}])
def test_without_usage_the_counts_stay_null(wire: "Wire", usage: dict[str, Any]) -> None:
    """C42 b, c, d: missing or null usage leaves counts null, and timings as they came: nothing is made up here."""
    timed = {**wire.delta(content="x"), **usage, "timings": {"predicted_n": 31}}
    received = receive(wire, *((at, {**wire.delta(content="x"), **usage}) for at in range(9)), (9, timed))
    assert (received.usage.prompt_tokens, received.usage.completion_tokens) == (None, None)
    assert received.timings == {"predicted_n": 31}
    assert len(received.events) == 10


def test_the_servers_count_is_kept_where_it_disagrees(wire: "Wire") -> None:
    """C43, C44: 14 events and usage 16 are both facts; neither replaces the other."""
    received = receive(
        wire,
        *((at, wire.delta(content="x")) for at in range(14)),
        (14, {**wire.delta("length"), "usage": {"completion_tokens": 16, "prompt_tokens": 824}}),
    )
    assert (len(received.events), received.usage.completion_tokens, received.usage.prompt_tokens) == (14, 16, 824)


def test_cached_tokens_are_part_of_the_prompt(wire: "Wire") -> None:
    """C45: 237 prompt tokens of which 236 were cached; prompt_n 1 stays in timings, where it belongs."""
    timings = {"cache_n": 236, "prompt_n": 1, "prompt_ms": 30.958}
    usage = {"prompt_tokens": 237, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 236}}
    received = receive(wire, (1, wire.delta(content="x")), (2, {"choices": [], "usage": usage, "timings": timings}))
    assert (received.usage.prompt_tokens, received.usage.cached_tokens) == (237, 236)
    assert received.timings == timings


def test_cached_tokens_that_are_not_told_are_unknown(wire: "Wire") -> None:
    """C45: without the detail the cached count is null, not 0."""
    received = receive(wire, (1, {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}))
    assert received.usage.cached_tokens is None


def test_done_and_errors_end_the_answer(wire: "Wire") -> None:
    """[DONE] and an error object end it; a blank payload and a finish reason don't."""
    received = Reception(keep_text=False)
    assert not received.take(1, b"")
    assert received.first_event_ns is None
    assert not received.take(2, wire.sse(wire.delta("stop"))[6:])
    assert received.take(3, b"[DONE]")
    assert received.done
    assert Reception(keep_text=False).take(1, b'{"error":{"message":"m"}}')
    with pytest.raises(ChunkError):
        received.take(4, b"<html>")


def test_text_is_kept_only_where_asked() -> None:
    """Without keep_text nothing of an answer stays in memory."""
    received = Reception(keep_text=False)
    received.take(1, b'{"choices":[{"delta":{"content":"secret"}}]}')
    assert (received.text, received.reasoning) == (None, None)
    assert len(received.events) == 1
