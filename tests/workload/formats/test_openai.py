"""OpenAI's chat rows and batches: requests that are put together into sessions."""

from typing import Any

import pytest

from loadgen.workload.formats import openai, openai_batch, recognise
from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.rows import Row

SYSTEM = {"role": "system", "content": "You help."}
TOOLS = [{"type": "function", "function": {"name": "ls", "parameters": {}}}]


def user(text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    """An answer."""
    return {"role": "assistant", "content": text}


def read(module: Any, *values: Any) -> tuple[list[RecordedSession], list[str]]:
    """The sessions of rows, and the problems as they are printed."""
    found = list(module.read(iter([Row(line, value) for line, value in enumerate(values, 1)]), "f.jsonl"))
    return (
        [one for one in found if isinstance(one, RecordedSession)],
        [str(one) for one in found if isinstance(one, Problem)],
    )


def texts(session: RecordedSession) -> list[tuple[list[str], str | None]]:
    """Of each turn the texts of its messages, and of its answer."""
    return [
        ([str(one["content"]) for one in turn.messages], str(turn.assistant["content"]) if turn.assistant else None)
        for turn in session.turns
    ]


def test_a_training_example_is_a_session_with_a_turn_for_each_answer() -> None:
    """OpenAI's shape for fine-tuning; the weight of a message in the loss isn't sent."""
    row = {
        "messages": [SYSTEM, user("a"), {**said("A"), "weight": 0}, user("b"), said("B")],
        "tools": TOOLS,
        "parallel_tool_calls": False,
    }
    (session,), problems = read(openai, row)
    assert problems == []
    assert (session.session_id, session.source, session.tools) == ("row-1", {"name": "openai"}, TOOLS)
    assert session.turns == [
        RecordedTurn(messages=[SYSTEM, user("a")], assistant=said("A"), kind="prose"),
        RecordedTurn(messages=[user("b")], assistant=said("B"), delay_kind="user", kind="prose"),
    ]


def test_requests_that_go_on_from_each_other_are_one_session() -> None:
    """Each holds the one before it, its answer, and what is new; the last answer isn't known."""
    one, two = [SYSTEM, user("a")], [SYSTEM, user("a"), said("A"), user("b")]
    three = [*two, said("B"), user("c")]
    (session,), _ = read(openai, *({"model": "m", "messages": messages} for messages in (one, two, three)))
    assert (session.session_id, session.source) == ("row-1", {"name": "openai", "model": "m"})
    assert texts(session) == [(["You help.", "a"], "A"), (["b"], "B"), (["c"], None)]


def test_sessions_may_be_interleaved_and_out_of_order() -> None:
    """A session is called like its first request in time's order, and stands where that stands."""
    x, y = [user("x")], [user("y")]
    rows = [[*x, said("X"), user("x2")], y, x, [*y, said("Y"), user("y2")]]
    sessions, _ = read(openai, *({"messages": messages} for messages in rows))
    assert [(one.session_id, texts(one)) for one in sessions] == [
        ("row-2", [(["y"], "Y"), (["y2"], None)]),
        ("row-3", [(["x"], "X"), (["x2"], None)]),
    ]


def test_only_one_request_goes_on_from_another() -> None:
    """The second branch is a session from its first message on; so is a request that was sent twice."""
    begin = [user("a")]
    rows = [begin, [*begin, said("A"), user("b")], [*begin, said("A'"), user("c")], begin]
    sessions, _ = read(openai, *({"messages": messages} for messages in rows))
    assert [(one.session_id, texts(one)) for one in sessions] == [
        ("row-1", [(["a"], None)]),
        ("row-3", [(["a"], "A'"), (["c"], None)]),
        ("row-4", [(["a"], "A"), (["b"], None)]),
    ]


def test_requests_with_other_tools_do_not_go_on_from_each_other() -> None:
    """Tools stand in front of the messages: the prompts don't begin alike."""
    one, two = {"messages": [user("a")]}, {"messages": [user("a"), said("A"), user("b")], "tools": TOOLS}
    assert len(read(openai, one, two)[0]) == 2


def test_functions_as_they_were_before_tools_become_tools() -> None:
    """Definitions, calls and results; ids are made up where there are none, and arguments become text."""
    row = {
        "messages": [
            user("a"),
            {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
            {"role": "function", "name": "ls", "content": "x"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "ls", "arguments": {"p": 1}}}]},
            {"role": "tool", "content": "y"},
        ],
        "functions": [{"name": "ls", "parameters": {}}],
    }
    (session,), problems = read(openai, row)
    assert problems == []
    assert session.tools == TOOLS
    one, two, three = session.turns
    call = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    assert one.assistant == {"role": "assistant", "tool_calls": [call]}
    assert one.kind == "tool_call"
    assert (two.messages, two.delay_kind) == ([{"role": "tool", "content": "x", "tool_call_id": "call_1"}], "tool")
    assert two.assistant is not None
    assert two.assistant["tool_calls"][0] == {
        "id": "call_2",
        "type": "function",
        "function": {"name": "ls", "arguments": '{"p": 1}'},
    }
    assert three.messages == [{"role": "tool", "content": "y", "tool_call_id": "call_2"}]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ([], "the row is no JSON object"),
        ({}, "messages is no list of messages"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [5]}, "messages[0] is no object"),
        ({"messages": [{"content": "x"}]}, "messages[0].role is none of assistant, developer, function"),
        ({"messages": [user("a"), {"role": "user", "content": 5}]}, "messages[1].content is no text"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content is no list of objects"),
        ({"messages": [{"role": "assistant", "tool_calls": 1}]}, "messages[0].tool_calls is no list of objects"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "messages[0].tool_calls[0].function is no object"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
            "messages[0].tool_calls[0].function.name is missing",
        ),
        ({"messages": [user("a")], "tools": "x"}, "tools is no list of objects"),
        ({"messages": [user("a")], "model": 5}, "model is no text"),
        ({"messages": [said("A"), user("b")]}, "messages[0] is an answer that nothing asked for"),
    ],
)
def test_bad_rows_are_skipped_with_the_field_that_is_wrong(row: Any, what: str) -> None:
    """And the others are read."""
    sessions, (problem,) = read(openai, {"messages": [user("a")]}, row)
    assert len(sessions) == 1
    assert problem.startswith(f"f.jsonl:2: skipped: {what}")


def test_parts_that_are_no_text_are_left_out_and_told() -> None:
    """A picture can't be played; the text beside it is."""
    text, picture = {"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:"}}
    row = {"messages": [{"role": "user", "content": [text, picture, {"type": "input_text", "text": "it"}]}]}
    sessions, problems = read(openai, row, row)
    assert sessions[0].turns[0].messages == [{"role": "user", "content": [text, {"type": "text", "text": "it"}]}]
    assert problems == [
        "f.jsonl:1: parts of messages of the type 'image_url' are left out: only text is played (here and further on)"
    ]


def test_unknown_fields_are_told_once() -> None:
    """Fields of a request are known, whatever they set."""
    row = {"messages": [user("a")], "temperature": 0, "max_tokens": 5, "mine": 1}
    assert read(openai, row, row)[1] == ["f.jsonl:1: the unknown field 'mine' is left out (here and further on)"]


def batch(name: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A row of a batch, in OpenAI's shape."""
    body = {"model": "m", "messages": list(messages), "max_tokens": 64}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body, **more}


def test_a_batch_is_put_together_alike_and_named_by_its_ids() -> None:
    """The id of the first request is that of the session."""
    sessions, problems = read(
        openai_batch,
        batch("r1", user("a")),
        batch("r2", user("a"), said("A"), user("b")),
        {"custom_id": "bare", "body": {"messages": [user("c")]}},
    )
    assert problems == []
    assert [(one.session_id, one.source) for one in sessions] == [
        ("r1", {"name": "openai-batch", "model": "m"}),
        ("bare", {"name": "openai-batch"}),
    ]
    assert texts(sessions[0]) == [(["a"], "A"), (["b"], None)]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("x", "the row is no JSON object"),
        (batch("", user("b")), "custom_id is missing"),
        (batch("r1", user("b")), "custom_id 'r1' stands on line 1 already"),
        (batch("r2", user("b"), url="/v1/embeddings"), "url is '/v1/embeddings': only requests to /chat/completions"),
        (batch("r2", user("b"), body="x"), "body is no object"),
        (batch("r2", user("b"), body={}), "body.messages is no list of messages"),
        (batch("r2", {"role": "user", "content": 1}), "body.messages[0].content is no text"),
        (batch("r2", user("b"), body={"messages": [user("b")], "tools": 5}), "body.tools is no list of objects"),
    ],
)
def test_bad_requests_of_a_batch_are_skipped_with_the_field_that_is_wrong(row: Any, what: str) -> None:
    """And the others are read."""
    sessions, (problem,) = read(openai_batch, batch("r1", user("a")), row)
    assert len(sessions) == 1
    assert problem.startswith(f"f.jsonl:2: skipped: {what}")


def test_unknown_fields_of_a_batch_are_told_with_their_place() -> None:
    """Of the row and of the request."""
    row = batch("r1", user("a"), note=1, body={"messages": [user("a")], "top_k": 5})
    assert read(openai_batch, row)[1] == [
        "f.jsonl:1: the unknown field 'note' is left out (here and further on)",
        "f.jsonl:1: the unknown field 'body.top_k' is left out (here and further on)",
    ]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"messages": [user("a")]}, "openai"),
        ({"messages": [user("a")], "tools": TOOLS, "model": "m"}, "openai"),
        (batch("r1", user("a")), "openai_batch"),
        ({"messages": [user("a")], "id": "x"}, "vllm"),
        ({"messages": [user("a")], "session_id": "x", "output_length": 5}, "aiperf"),
    ],
)
def test_rows_are_recognised(row: Any, name: str) -> None:
    """Those of formats that have messages too are told apart by what they say beside them."""
    found = recognise(row)
    assert found is not None
    assert found.name == name
