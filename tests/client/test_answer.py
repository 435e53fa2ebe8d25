"""The whole answer of a stream as one message."""

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.answer import Answer
from loadgen.client.chat import ChatCall, Compared, build_body
from loadgen.client.chunk import read_chunk
from loadgen.records.model import Outcome

if TYPE_CHECKING:
    from tests.client.conftest import Send, Serve, Wire


def answer(*deltas: dict[str, Any]) -> Answer:
    """The answer of these deltas."""
    made = Answer()
    for delta in deltas:
        made.take(read_chunk(json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode())[0])
    return made


def call(identifier: str, name: str, arguments: str) -> dict[str, Any]:
    """A whole tool call."""
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_text_and_reasoning_stand_apart_even_where_one_chunk_has_both() -> None:
    """The chunk in which reasoning ends and the answer begins loses neither."""
    made = answer(
        {"role": "assistant", "content": None}, {"reasoning_content": "hm"}, {"reasoning": "m", "content": "A"}
    )
    assert made.message == {"role": "assistant", "content": "A", "reasoning_content": "hmm"}


def test_an_answer_without_reasoning_or_calls_is_a_text() -> None:
    """Nothing empty is made up beside it."""
    assert answer({"content": "A"}, {"content": "B"}).message == {"role": "assistant", "content": "AB"}
    assert answer().message == {"role": "assistant", "content": ""}


def test_tool_calls_are_put_together_by_their_index() -> None:
    """Pieces of two calls may come in turns; beside calls an empty text is null."""
    made = answer(
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "ls", "arguments": ""}}]},
        {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "cat", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}, {"index": 1, "function": {"arguments": "}"}}]},
    )
    assert made.message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a", "ls", "{}"), call("b", "cat", "{}")],
    }


def test_calls_without_an_index_or_id_are_told_apart_by_their_names() -> None:
    """A piece with a name begins the next call, and a call without an id gets one of its own."""
    made = answer(
        {"tool_calls": [{"function": {"name": "ls", "arguments": "{"}}]},
        {"tool_calls": [{"function": {"arguments": "}"}}, {"id": 7, "function": {"name": "cat", "arguments": "{}"}}]},
        {"tool_calls": [{"id": "x"}]},
    )
    assert made.message["tool_calls"] == [call("call0", "ls", "{}"), call("x", "cat", "{}")]


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_a_call_is_the_same_however_its_arguments_are_cut(arguments: str, cuts: list[int]) -> None:
    """Servers send them in pieces of any length, empty ones too."""
    places = [0, *sorted(min(cut, len(arguments)) for cut in cuts), len(arguments)]
    pieces = [arguments[begin:end] for begin, end in pairwise(places)]
    head = {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "ls"}}]}
    made = answer(head, *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces))
    assert made.message["tool_calls"] == [call("a", "ls", arguments)]


@pytest.mark.parametrize("found", [Compared(equal=True, kept=False), Compared(kept=True)])
async def test_an_answer_is_compared_as_one_message(
    serve: "Serve", wire: "Wire", send: "Send", found: Compared
) -> None:
    """Whoever compares is given text, reasoning and calls; what that says is on record, and nothing of the answer."""
    given: list[dict[str, Any]] = []

    def compare(message: dict[str, Any]) -> Compared:
        given.append(message)
        return found

    body = wire.sse(wire.delta(reasoning_content="hm"), wire.delta(content="A"), wire.delta("stop"), "[DONE]")
    server = await serve(wire.play(body))
    sent = await send(server.endpoint, call=compared(compare))
    assert given == [{"role": "assistant", "content": "A", "reasoning_content": "hm"}] == [sent.result.message]
    assert (sent.record.answer_equal, sent.record.answer_kept) == found


@pytest.mark.parametrize("ending", [["[DONE]"], []])
async def test_an_answer_that_did_not_end_well_is_not_compared(
    serve: "Serve", wire: "Wire", send: "Send", ending: list[str]
) -> None:
    """An empty or a truncated one: null, and nobody is asked."""
    text = [] if ending else [wire.delta(content="A")]
    server = await serve(wire.play(wire.sse(*text, *ending)))
    sent = await send(server.endpoint, call=compared(_never))
    assert sent.record.outcome is (Outcome.EMPTY if ending else Outcome.TRUNCATED)
    assert (sent.record.answer_equal, sent.record.answer_kept) == (None, None)


def compared(compare: Any) -> ChatCall:
    """A call whose answer is compared and not kept otherwise."""
    body = build_body([{"role": "user", "content": "x"}], model=None, max_tokens=16, exact_length=False, extra={})
    return ChatCall(body=body, max_tokens=16, exact_length=False, keep_text=False, compare=compare)


def _never(message: dict[str, Any]) -> bool:
    raise AssertionError(f"asked of {message}")
