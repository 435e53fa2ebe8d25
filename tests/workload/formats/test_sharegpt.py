"""ShareGPT conversations, and vLLM's, which are made of them."""

from typing import Any

import pytest

from loadgen.workload.formats import recognise, sharegpt, vllm
from loadgen.workload.recorded import RecordedSession
from tests.workload.formats.reading import only, read, texts


def row(name: str | None, *said: tuple[str, str], **more: Any) -> dict[str, Any]:
    """A conversation, or a part of one."""
    named = {} if name is None else {"id": name}
    return {**named, "conversations": [{"from": who, "value": what} for who, what in said], **more}


def words(session: RecordedSession) -> list[tuple[list[str], str | None]]:
    """Of each turn what the roles said: `user: hi`; and the answer."""
    return [
        (
            [f"{one['role']}: {one['content']}" for one in turn.messages],
            str(turn.assistant["content"]) if turn.assistant else None,
        )
        for turn in session.turns
    ]


def test_a_conversation_is_a_session_with_a_turn_for_each_answer() -> None:
    """`human` is the user, `gpt` the model; nothing tells how long anybody waited."""
    session = only(sharegpt, row("a_0", ("human", "hi"), ("gpt", "hello"), ("human", "more"), ("gpt", "here")))
    assert (session.session_id, session.source) == ("a_0", {"name": "sharegpt"})
    assert words(session) == [(["user: hi"], "hello"), (["user: more"], "here")]
    assert [(turn.delay_s, turn.delay_kind, turn.kind) for turn in session.turns] == [
        (0.0, "arrival", "prose"),
        (0.0, "user", "prose"),
    ]


def test_parts_that_follow_each_other_are_one_session() -> None:
    """A message that is repeated where they meet is taken once."""
    session = only(
        sharegpt,
        row("QWJhYvA_0", ("human", "a"), ("gpt", "A")),
        row("QWJhYvA_1", ("gpt", "A"), ("human", "b"), ("gpt", "B")),
        row("QWJhYvA_2", ("human", "c"), ("gpt", "C")),
    )
    assert session.session_id == "QWJhYvA"
    assert words(session) == [(["user: a"], "A"), (["user: b"], "B"), (["user: c"], "C")]


def test_parts_that_do_not_follow_each_other_are_sessions_of_their_own() -> None:
    """Another conversation, a part that is missing, ids that aren't numbered, and ids that only number."""
    one = (("human", "a"), ("gpt", "A"))
    apart = [
        ("aBcdefg_0", "aBcdefh_1"),
        ("aBcdefg_0", "aBcdefg_2"),
        ("aBcdefg", "aBcdefg_1"),
        ("aBcdefg_1", "aBcdefg_0"),
    ]
    numbered = [("identity_0", "identity_1"), ("example_0", "example_1"), ("Example_0", "Example_1"), ("_0", "_1")]
    for names in apart + numbered:
        sessions, problems = read(sharegpt, *(row(name, *one) for name in names))
        assert [session.session_id for session in sessions] == list(names)
        assert problems == []


def test_an_answer_to_what_is_not_there_is_left_out_and_told() -> None:
    """The first part is missing: what begins with an answer can't be asked for."""
    middle = row("a_1", ("gpt", "A"), ("human", "b"), ("gpt", "B"))
    sessions, problems = read(sharegpt, middle, row("b_3", ("gpt", "B"), ("gpt", "C")))
    assert [words(session) for session in sessions] == [[(["user: b"], "B")]]
    assert [str(problem) for problem in problems] == [
        "rows.jsonl:1: left out: an answer of 'a_1' that nothing asked for",
        "rows.jsonl:2: left out: 2 answers of 'b_3' that nothing asked for",
    ]


def test_a_last_message_without_an_answer_is_a_turn_whose_answer_is_not_known() -> None:
    """It was asked; the file only doesn't have what came."""
    session = only(sharegpt, row("a", ("human", "a"), ("gpt", "A"), ("human", "b")))
    assert words(session) == [(["user: a"], "A"), (["user: b"], None)]


def test_calls_of_llama_factorys_rows_stand_as_text() -> None:
    """With the system prompt in front; rows without an id are named by their number."""
    session = only(
        sharegpt,
        row(None, ("human", "a"), ("function_call", "{}"), ("observation", "x"), ("gpt", "A"), system="You help."),
    )
    assert session.session_id == "row-1"
    assert words(session) == [(["system: You help.", "user: a"], "{}"), (["user: x"], "A")]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (5, "the row is no JSON object"),
        ({"id": "b"}, "conversations is empty"),
        (row("b"), "conversations is empty"),
        ({"id": "b", "conversations": "x"}, "conversations is no list of objects"),
        (row("b", ("human", "a"), ("owl", "hoo")), "conversations[1].from is none of human, user, "),
        ({"id": "b", "conversations": [{"value": "x"}]}, "conversations[0].from is none of human, user, "),
        ({"id": "b", "conversations": [{"from": "gpt", "value": 1}]}, "conversations[0].value is no text"),
        ({"id": [], "conversations": []}, "id is no text"),
        (row("b", ("human", "a"), system=1), "system is no text"),
    ],
)
def test_bad_rows_are_skipped_with_the_field_that_is_wrong(value: Any, what: str) -> None:
    """And the others are read."""
    good = row("a", ("human", "a"), ("gpt", "A"))
    sessions, (problem,) = read(sharegpt, good, value)
    assert len(sessions) == 1
    assert str(problem).startswith(f"rows.jsonl:2: skipped: {what}")


def test_ids_may_be_numbers() -> None:
    """Sets of pictures number their conversations so."""
    assert only(sharegpt, row(None, ("human", "a"), id=-1)).session_id == "-1"


def test_unknown_fields_are_told_once() -> None:
    """Tools as text, say, which would have stood in front of the prompt."""
    one = row("a", ("human", "a"), tools="[]")
    assert texts(sharegpt, one, one) == ["rows.jsonl:1: the unknown field 'tools' is left out (here and further on)"]


def talk(name: Any, *said: str) -> dict[str, Any]:
    """One of vLLM's conversations: user and assistant in turns."""
    roles = ("user", "assistant")
    return {"id": name, "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]}


def test_vllms_conversations_are_sessions() -> None:
    """As its converter writes them."""
    session = only(vllm, talk("c1", "hi", "hello", "more", "here"))
    assert (session.session_id, session.source) == ("c1", {"name": "vllm"})
    assert words(session) == [(["user: hi"], "hello"), (["user: more"], "here")]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([], "the row is no JSON object"),
        ({"messages": []}, "id is missing"),
        (talk(5, "a"), "id is no text"),
        (talk("c1", "a"), "id 'c1' stands on line 1 already"),
        (talk("c2"), "messages is empty"),
        ({"id": "c2", "messages": [{"role": "assistant", "content": "A"}]}, "messages[0] is an answer that nothing"),
        (
            {"filetype": "generate_conversations", "num_conversations": 24, "text_files": ["pg1184.txt"]},
            "these are settings that vLLM draws conversations from, not conversations",
        ),
    ],
)
def test_bad_conversations_are_skipped_with_the_field_that_is_wrong(value: Any, what: str) -> None:
    """And the others are read."""
    sessions, (problem,) = read(vllm, talk("c1", "hi", "hello"), value)
    assert len(sessions) == 1
    assert str(problem).startswith(f"rows.jsonl:2: skipped: {what}")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (row("a", ("human", "hi")), "sharegpt"),
        (talk("c1", "hi"), "vllm"),
        ({"filetype": "generate_conversations"}, "vllm"),
    ],
)
def test_rows_are_recognised(value: Any, name: str) -> None:
    """Each by its own shape."""
    found = recognise(value)
    assert found is not None
    assert found.name == name
