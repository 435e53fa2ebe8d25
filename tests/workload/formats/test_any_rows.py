"""Rows that nobody should write: every importer reads them to their end."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.formats import FORMATS, recognise, session
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.rows import Row
from loadgen.workload.session_check import checked
from loadgen.workload.session_stats import describe
from tests.workload.formats.reading import FILE, VALUES, read

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "ok"}
CALLED = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "ls", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "x"}
TALK = [USER, CALLED, RESULT, SAID]
TOOLS = [{"type": "function", "function": {"name": "ls", "parameters": {}}}]
MLPERF = [
    {"conversation_id": "a", "turn": 1, "role": "user", "system": "s", "tools": TOOLS, "content": "x"},
    {"conversation_id": "a", "turn": 2, "role": "assistant", "tool_calls": CALLED["tool_calls"]},
    {"conversation_id": "a", "turn": 3, "role": "tool", "tool_results": [RESULT], "delay_seconds": 0.1},
    {"conversation_id": "a", "turn": 4, "role": "assistant", "content": "x"},
]
OWN_TURN = {"messages": [USER], "assistant": SAID, "delay_s": 1, "spawn": ["b"], "cancel": {"after_tokens": 5}}
STEP = {
    "index": 0,
    "input_delta": TALK,
    "assistant_text": "A",
    "input_tokens": 900,
    "output_tokens": 4,
    "pre_gap_ms": 9,
}
GOOD: dict[str, list[Any]] = {
    "mlperf": MLPERF,
    "session": [
        {"format": "agent-session/1", "session_id": "a", "turns": [OWN_TURN], "tools": TOOLS},
        {"format": "agent-session/1", "session_id": "b", "turns": [{"messages": TALK, "tool_times_s": [0.5]}]},
    ],
    "openai": [{"messages": [USER]}, {"messages": TALK, "tools": TOOLS}, {"messages": [USER, SAID, USER]}],
    "openai_batch": [
        {"custom_id": "a", "url": "/v1/chat/completions", "body": {"messages": [USER]}},
        {"custom_id": "b", "body": {"messages": TALK, "tools": TOOLS}},
    ],
    "abench": [{"session_id": "a", "source": {"dataset": "d", "trial": 1}, "system_prompt": "", "turns": [STEP, STEP]}],
    "aiperf": [
        {"session_id": "a", "messages": [USER], "tools": TOOLS, "output_length": 5, "timestamp": 1},
        {"session_id": "a", "messages": TALK, "tools": TOOLS, "output_length": 5, "timestamp": 2000},
        {"session_id": "b", "text_input": "x", "delay": 5},
        {"session_id": "b", "input_length": 9},
        {"session_id": "c", "text": "x"},
        {"session_id": "d", "turns": [{"role": "system", "texts": ["x"]}, {"text": "y", "delay": 5}]},
        {"payload": {"messages": TALK}},
        {"data": [{"session_id": "e", "payloads": [{"messages": [USER]}, {"prompt": "p"}]}]},
    ],
    "aiperf_dag": [
        {"session_id": "a", "turns": [{"messages": [USER], "spawns": ["b"], "max_tokens": 5}, {"messages": [USER]}]},
        {"session_id": "b", "turns": [{"messages": TALK, "forks": [{"child": "c"}], "delay": 5, "tools": TOOLS}]},
        {"session_id": "c", "turns": [{"messages": [USER], "spawns": [{"children": ["a"], "join_at": 1}]}] * 2},
    ],
    "sharegpt": [
        {"id": "a_0", "conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]},
        {"id": "a_1", "conversations": [{"from": "gpt", "value": "y"}, {"from": "human", "value": "z"}], "system": "s"},
    ],
    "vllm": [{"id": "a", "messages": TALK}, {"id": "b", "messages": [USER, SAID]}],
}


def places(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything in a value, itself included."""
    yield so_far
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inside in items:
        yield from places(inside, (*so_far, key))


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """The value with something else in one place."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(value[place[0]], place[1:], new)
    return copy


def played(name: str, values: list[Any]) -> None:
    """Read, checked, counted, written, and read again as the same: nothing of it raises."""
    sessions, problems = read(FORMATS[name].reader, *values)
    assert all(problem.file == FILE and problem.text for problem in problems)
    assert all(FORMATS[name].reader.looks_like(value) in {True, False} for value in values)
    kept, _ = checked(sessions, FILE)
    describe(kept)
    lines = written(kept)
    again = session.read(iter([Row(1, json.loads(line)) for line in lines]), FILE)
    assert written([one for one in again if isinstance(one, RecordedSession)]) == lines


def written(sessions: list[RecordedSession]) -> list[bytes]:
    """The lines of a file of our own."""
    file = io.BytesIO()
    session.write(sessions, file)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("name", GOOD)
def test_the_good_rows_are_good(name: str) -> None:
    """What is broken below is broken from something whole: sessions come of it, and its kind is known."""
    sessions, _ = read(FORMATS[name].reader, *GOOD[name])
    assert sessions
    assert recognise(GOOD[name][0]) is FORMATS[name]
    played(name, GOOD[name])


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=60)
@given(data=st.data())
def test_a_row_with_anything_in_one_place_is_read(name: str, data: st.DataObject) -> None:
    """A text for a number, a list for an object, nothing at all: in any field of any depth, twice."""
    rows = GOOD[name]
    for _ in range(2):
        place = data.draw(st.sampled_from(list(places(rows))[1:]))
        rows = replaced(rows, place, data.draw(VALUES))
    played(name, rows)


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=15)
@given(values=st.lists(VALUES, max_size=4))
def test_any_values_are_read(name: str, values: list[Any]) -> None:
    """A file of something else altogether."""
    played(name, values)
