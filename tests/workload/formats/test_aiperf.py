"""aiperf's files with text."""

from typing import Any

import pytest

from loadgen.workload.formats import aiperf, recognise
from loadgen.workload.recorded import RecordedSession
from tests.workload.formats.reading import only, read, texts

TOOLS = [{"type": "function", "function": {"name": "ls", "parameters": {}}}]


def user(text: str) -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    """An answer."""
    return {"role": "assistant", "content": text}


def turns(session: RecordedSession) -> list[tuple[list[str], str | None, float, int | None, str | None]]:
    """Of each turn: its messages' texts, its answer's, the wait, the answer's length, and how history begins anew."""
    return [
        (
            [str(one["content"]) for one in turn.messages],
            str(turn.assistant["content"]) if turn.assistant else None,
            turn.delay_s,
            turn.output_tokens,
            turn.history_reset,
        )
        for turn in session.turns
    ]


def test_rows_with_whole_prompts_become_turns_of_what_is_new() -> None:
    """The answer of a turn stands in the prompt behind it; delays are milliseconds; the tools are the session's."""
    one = [user("a")]
    two = [*one, said("A"), user("b")]
    session = only(
        aiperf,
        {"session_id": "s", "messages": one, "tools": TOOLS, "output_length": 7},
        {"session_id": "s", "messages": two, "tools": TOOLS, "output_length": 9, "delay": 1500},
    )
    assert (session.session_id, session.source, session.tools) == ("s", {"name": "aiperf"}, TOOLS)
    assert turns(session) == [(["a"], "A", 0.0, 7, None), (["b"], None, 1.5, 9, None)]
    assert [turn.delay_kind for turn in session.turns] == ["arrival", "user"]


def test_a_prompt_that_does_not_go_on_begins_anew() -> None:
    """`compact` where it is shorter, `edit` where it isn't; the answer before it isn't known."""
    long, short, other = [user("a" * 99)], [user("sum")], [user("b" * 99)]
    session = only(
        aiperf, *({"session_id": "s", "messages": one, "output_length": 5} for one in (long, short, other, other))
    )
    assert [(turn.messages, turn.assistant, turn.history_reset) for turn in session.turns] == [
        (long, None, None),
        (short, None, "compact"),
        (other, None, "edit"),
        (other, None, "edit"),
    ]


def test_tool_results_in_a_prompt_are_waited_for_as_tools() -> None:
    """By the last message."""
    call = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls"}}]}
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    session = only(
        aiperf,
        {"session_id": "s", "messages": [user("a")]},
        {"session_id": "s", "messages": [user("a"), call, result], "delay": 300},
    )
    first, second = session.turns
    assert (first.kind, second.delay_kind, second.delay_s) == ("tool_call", "tool", 0.3)


def test_rows_of_a_session_may_stand_anywhere_and_rows_without_one_are_one_each() -> None:
    """Those come first: they are whole when they are read."""
    sessions, problems = read(
        aiperf,
        {"session_id": "s", "text_input": "a"},
        {"text_input": "x", "output_length": 4},
        {"session_id": "t", "text_input": "b"},
        {"session_id": "s", "text_input": "c"},
    )
    assert problems == []
    assert [(one.session_id, turns(one)) for one in sessions] == [
        ("row-2", [(["x"], None, 0.0, 4, None)]),
        ("s", [(["a"], None, 0.0, None, None), (["c"], None, 0.0, None, None)]),
        ("t", [(["b"], None, 0.0, None, None)]),
    ]


def test_timestamps_put_rows_in_order_and_give_waits_less_the_assumed_answers() -> None:
    """Sent at 1 s and 4 s: an answer of 140 tokens takes one of the three seconds between. The source says so."""
    session = only(
        aiperf,
        {"session_id": "s", "text_input": "b", "timestamp": 4000, "output_length": 5},
        {"session_id": "s", "text_input": "a", "timestamp": 1000, "output_length": 140},
    )
    assert turns(session) == [(["a"], None, 0.0, 140, None), (["b"], None, 2.0, 5, None)]
    assert session.source["delays"] == "timestamps less output_length / 140 tokens/s (assumed)"


def test_single_turns_of_a_session_hold_nothing_of_what_came_before() -> None:
    """Each is all there is."""
    session = only(
        aiperf,
        {"type": "single_turn", "session_id": "s", "text": "a", "output_length": 3},
        {"type": "single_turn", "session_id": "s", "texts": ["b", "c"], "delay": 500},
    )
    assert turns(session) == [(["a"], None, 0.0, 3, None), (["b\nc"], None, 0.5, None, "edit")]


def test_multi_turn_rows_add_to_what_came_before() -> None:
    """A quiet first turn of the system is no call: it stands in front of the next."""
    session = only(
        aiperf,
        {
            "session_id": "s",
            "turns": [
                {"role": "system", "text": "You help."},
                {"texts": [{"name": "f", "contents": ["a", "b"]}]},
                {"text": "c", "delay": 800, "output_length": 12},
            ],
        },
    )
    assert session.turns[0].messages == [{"role": "system", "content": "You help."}, user("a\nb")]
    assert turns(session)[1] == (["c"], None, 0.8, 12, None)
    (alone,) = only(aiperf, {"turns": [{"role": "system", "text": "You help."}]}).turns
    assert alone.messages == [{"role": "system", "content": "You help."}]


def test_payloads_are_whole_requests() -> None:
    """One a row, or all of a session, as aiperf leaves them in inputs.json."""
    body = {"model": "m", "messages": [user("a")], "tools": TOOLS, "max_tokens": 5}
    assert turns(only(aiperf, {"payload": body, "output_length": 5})) == [(["a"], None, 0.0, 5, None)]
    assert turns(only(aiperf, {"payload": {"prompt": "p"}})) == [(["p"], None, 0.0, None, None)]
    longer = {"messages": [user("a"), said("A"), user("b")]}
    session = only(aiperf, {"data": [{"session_id": "s", "payloads": [body, longer]}]})
    assert (session.session_id, session.tools) == ("s", TOOLS)
    assert turns(session) == [(["a"], "A", 0.0, None, None), (["b"], None, 0.0, None, None)]


def test_a_row_of_a_length_is_made_up() -> None:
    """Where it stands among rows with text: each adds as many tokens."""
    session = only(aiperf, {"session_id": "s", "text_input": "a"}, {"session_id": "s", "input_length": 90})
    assert session.turns[1].messages == [{"role": "user", "tokens": 90, "corpus": "prose", "seed": "row-2"}]


def test_what_is_left_out_is_told_once() -> None:
    """Pictures and sound, unknown fields; and tools that change."""
    assert texts(aiperf, *[{"text": "a", "image": "x.png", "mine": 1}] * 2) == [
        "rows.jsonl:1: the unknown field 'mine' is left out (here and further on)",
        "rows.jsonl:1: 'image' is left out: only text is played (here and further on)",
    ]
    rows = [{"session_id": "s", "messages": [user("a")], "tools": tools} for tools in (TOOLS, [*TOOLS, *TOOLS])]
    assert texts(aiperf, *rows) == [
        "rows.jsonl:1: session 's' changes its tools: its first ones are kept for all turns"
    ]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([], "the row is no JSON object"),
        ({}, "the row has no text"),
        ({"type": "poem", "text": "a"}, "type is none of mooncake_trace, multi_turn, random_pool, single_turn"),
        ({"type": [], "text": "a"}, "type is none of "),
        ({"text_input": "a", "messages": [user("a")]}, "messages and text_input exclude each other"),
        ({"input_length": 5, "hash_ids": [1]}, "hash_ids share prompts by their lengths: the format mooncake reads"),
        ({"input_length": 0}, "input_length is 0"),
        ({"text_input": ""}, "text_input is empty"),
        ({"text_input": 5}, "text_input is no text"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [{"content": "x"}]}, "messages[0].role is none of"),
        ({"messages": [user("a")], "tools": "x"}, "tools is no list of objects"),
        ({"payload": {"model": "m"}}, "payload.messages is no list of messages"),
        ({"turns": []}, "turns is empty"),
        ({"turns": [{"text": "a"}, {"image": "x.png"}]}, "turns[1] has no text"),
        ({"turns": [{"text": "a", "role": "owl"}]}, "turns[0].role is none of user, system, developer"),
        ({"turns": [{"texts": "a"}]}, "turns[0].texts is no list of texts"),
        ({"turns": [{"texts": [{"contents": [5]}]}]}, "turns[0].texts is no list of texts"),
        ({"text": "a", "delay": -1}, "delay is no time from 0 on"),
        ({"text": "a", "timestamp": "now"}, "timestamp is no time from 0 on"),
        ({"text": "a", "output_length": 1.5}, "output_length is no whole number from 0 on"),
        ({"text": "a", "session_id": 5}, "session_id is no text"),
        ({"data": 5}, "data is no list of objects"),
    ],
)
def test_bad_rows_are_skipped_with_the_field_that_is_wrong(value: Any, what: str) -> None:
    """And the others are read."""
    sessions, problems = read(aiperf, {"text": "good"}, value)
    assert len(sessions) == 1
    assert str(problems[-1]).startswith(f"rows.jsonl:2: skipped: {what}")


def test_a_session_that_mixes_whole_prompts_with_additions_is_skipped() -> None:
    """Nobody can tell what its prompts were; aiperf refuses it too."""
    rows = [{"session_id": "s", "messages": [user("a")]}, {"session_id": "s", "text_input": "b"}]
    assert texts(aiperf, *rows) == [
        "rows.jsonl:1: session 's' skipped: it mixes whole prompts with what is added to them"
    ]
    assert texts(aiperf, {"data": [{"session_id": "s"}]}) == ["rows.jsonl:1: session 's' skipped: it has no call"]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"messages": [user("a")], "output_length": 4}, "aiperf"),
        ({"messages": [user("a")], "session_id": "s", "delay": 0}, "aiperf"),
        ({"text_input": "a", "timestamp": 0}, "aiperf"),
        ({"text": "a"}, "aiperf"),
        ({"session_id": "s", "turns": [{"text": "a"}]}, "aiperf"),
        ({"payload": {"messages": []}, "timestamp": 1}, "aiperf"),
        ({"data": [{"session_id": "s", "payloads": []}]}, "aiperf"),
        ({"timestamp": 1200, "input_length": 1300, "output_length": 40, "hash_ids": [7, 8, 9]}, "mooncake"),
        ({"session_id": "s", "turns": [{"messages": [user("a")]}]}, "aiperf_dag"),
    ],
)
def test_rows_are_recognised(value: Any, name: str) -> None:
    """Rows of lengths alone are another format."""
    found = recognise(value)
    assert found is not None
    assert found.name == name


def test_rows_of_other_logs_are_not_taken_for_its_own() -> None:
    """Codex's rows have a payload too, and a type."""
    row = {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": {"type": "message", "messages": []}}
    assert not aiperf.looks_like(row)
    assert not aiperf.looks_like({"payload": {"id": 1}})
