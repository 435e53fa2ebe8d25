"""What of a model's answer goes back into later prompts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.chat_call import Compared
from loadgen.workload.put_back import compared, put_back, same_answer
from loadgen.workload.session import Message, Turn


def call(identifier: str | None, arguments: str = "{}") -> dict[str, Any]:
    """A tool call."""
    named = {} if identifier is None else {"id": identifier}
    return {**named, "type": "function", "function": {"name": "bash", "arguments": arguments}}


def message(text: str | None, *calls: dict[str, Any], reasoning: str | None = None) -> Message:
    """An assistant message."""
    made: Message = {"role": "assistant", "content": text}
    if reasoning is not None:
        made["reasoning_content"] = reasoning
    return made | {"tool_calls": list(calls)} if calls else made


def turn(recorded: Message | None) -> Turn:
    """A turn whose recorded answer is this; null: the agent dropped it."""
    return Turn(
        messages=({"role": "user", "content": "go"},),
        answer="",
        wait_s=0.0,
        wait_kind=None,
        output_tokens=8,
        kind="prose",
        depth=10,
        assistant=recorded or {},
    )


def test_an_answer_goes_back_as_it_came() -> None:
    """Text and reasoning, in the shape in which they were said."""
    said = message("A", reasoning="hm")
    assert put_back(turn(message("recorded")), said) == said
    assert put_back(turn(message("recorded")), message("A")) == message("A")


def test_calls_go_back_under_the_ids_that_the_results_answer() -> None:
    """As many as were recorded: the results that follow are those of the recording."""
    recorded = turn(message(None, call("c1"), call("c2")))
    said = message(None, call("x", '{"a":1}'), call("y", '{"b":2}'))
    assert put_back(recorded, said) == message(None, call("c1", '{"a":1}'), call("c2", '{"b":2}'))
    assert put_back(turn(message(None, call(None))), message("A", call("x", "1"))) == message("A", call(None, "1"))


@pytest.mark.parametrize("said", [message("A"), message("A", call("x"), call("y"))])
def test_where_the_model_calls_other_tools_the_recorded_calls_stand_beside_its_text(said: Message) -> None:
    """A result without its call, or a call without its result, is refused by many templates."""
    assert put_back(turn(message(None, call("c1", "ls"))), said) == message("A", call("c1", "ls"))


def test_calls_that_nobody_answers_are_left_out() -> None:
    """The text goes back without them; of an answer that is nothing else, the recorded one stays."""
    assert put_back(turn(message("recorded")), message("A", call("x"))) == message("A")
    assert put_back(turn(message("recorded")), message(None, call("x"))) is None


@pytest.mark.parametrize("said", [message(""), message(None)])
def test_of_an_answer_that_says_nothing_the_recorded_one_stays(said: Message) -> None:
    """No prompt holds an empty assistant message, which some chat templates reject."""
    assert put_back(turn(message("recorded")), said) is None
    assert put_back(turn(message(None, call("c1"))), said) is None


def test_reasoning_alone_goes_back_with_an_empty_text() -> None:
    """An answer that its cap ended in mid-reasoning: servers want a content beside it."""
    assert put_back(turn(message("recorded")), message("", reasoning="hm")) == message("", reasoning="hm")


def test_nothing_goes_back_for_an_answer_that_the_agent_dropped() -> None:
    """Not the model's own either."""
    assert put_back(turn(None), message("A")) is None
    assert compared(turn(None), message("A"), live=True) == Compared(None, kept=False)
    assert compared(turn(None), message("A"), live=False) == Compared(equal=False, kept=False)


@pytest.mark.parametrize(
    ("said", "equal", "kept"),
    [
        (message(None, call("x", "ls")), True, True),
        (message(None, call("x", "cat")), False, False),
        (message(None), False, False),
    ],
)
def test_an_answer_equals_the_recorded_one_and_is_kept_as_that(said: Message, equal: bool, kept: bool) -> None:
    """The ids of calls don't matter: the recorded ones stand in either."""
    assert compared(turn(message(None, call("c1", "ls"))), said, live=False) == Compared(equal, kept)


def test_an_answer_may_equal_the_recorded_one_and_not_be_what_prompts_have() -> None:
    """The recorded calls stand beside a text that was said without any, then as now."""
    recorded = turn(message("A", call("c1", "ls")))
    assert compared(recorded, message("A"), live=False) == Compared(equal=True, kept=False)
    assert compared(recorded, message("B"), live=False) == Compared(equal=False, kept=False)


def test_with_live_history_an_answer_is_kept_where_it_goes_back_whole() -> None:
    """There is no recorded one that it could equal."""
    recorded = turn(message(None, call("c1", "ls")))
    assert compared(recorded, message(None, call("x", "cat")), live=True) == Compared(None, kept=True)
    assert compared(recorded, message("A"), live=True) == Compared(None, kept=False)


@pytest.mark.parametrize(
    "other",
    [
        message("a"),
        message("A "),
        message("A", reasoning="hm"),
        message("A", call("x")),
        message(None),
    ],
)
def test_answers_are_equal_to_the_letter(other: Message) -> None:
    """Another blank makes another prompt."""
    assert not same_answer(message("A"), other)


def test_missing_empty_and_null_are_the_same() -> None:
    """Servers and files differ in how they write nothing."""
    assert same_answer(message(""), message(None, reasoning=""))
    assert same_answer({"role": "assistant"}, message("") | {"tool_calls": None})


@given(st.text(max_size=5), st.text(max_size=5), st.lists(st.text(max_size=3), max_size=2))
def test_what_was_put_back_whole_equals_what_was_said(text: str, reasoning: str, calls: list[str]) -> None:
    """An answer that live history keeps goes back as a message that says the same, and is kept once recorded."""
    said = message(text, *map(call, [f"x{n}" for n in range(len(calls))], calls), reasoning=reasoning)
    asked = turn(message("recorded", *(call(f"c{n}") for n in range(len(calls)))))
    back = put_back(asked, said)
    assert compared(asked, said, live=True).kept == bool(text or reasoning or calls)
    if back is not None:
        assert same_answer(said, back)
        assert compared(turn(back), said, live=False) == Compared(equal=True, kept=True)
