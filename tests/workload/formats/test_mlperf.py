"""MLPerf's agentic rows: read, and given back as they were."""

import io
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.formats import mlperf
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}


def first(name: str = "t1", **more: Any) -> dict[str, Any]:
    """The first row of a conversation."""
    row = {"conversation_id": name, "turn": 1, "role": "user", "system": "You fix bugs.", "tools": TOOLS}
    return {**row, "content": "Fix issue 12", **more}


def answer(turn: int = 2, name: str = "t1", **more: Any) -> dict[str, Any]:
    """An answer with a call."""
    row = {"conversation_id": name, "turn": turn, "role": "assistant", "reasoning_content": "look first"}
    return {**row, "tool_calls": [CALL], **more}


def result(turn: int = 3, name: str = "t1", **more: Any) -> dict[str, Any]:
    """What the tool said."""
    row = {"conversation_id": name, "turn": turn, "role": "tool"}
    return {**row, "tool_results": [{"tool_call_id": "c1", "content": "a.py"}], "delay_seconds": 0.21, **more}


TASK = [first(), answer(), result(), answer(4, tool_calls=None, content="done")]


def read(*values: Any) -> tuple[list[RecordedSession], list[str]]:
    """The sessions of rows, and the problems as they are printed."""
    rows = iter([one if isinstance(one, Problem) else Row(line, one) for line, one in enumerate(values, 1)])
    found = list(mlperf.read(rows, "f.jsonl"))
    return (
        [one for one in found if isinstance(one, RecordedSession)],
        [str(one) for one in found if isinstance(one, Problem)],
    )


def written(sessions: list[RecordedSession]) -> list[str]:
    """The lines of an export."""
    file = io.BytesIO()
    mlperf.write(sessions, file)
    return file.getvalue().decode().splitlines()


def test_a_conversation_is_a_session_with_a_turn_for_each_answer() -> None:
    """Messages before an answer are the turn's; a tool's delay is its wait."""
    (session,), problems = read(*TASK)
    assert problems == []
    assert (session.session_id, session.task, session.tools) == ("t1", "t1", TOOLS)
    one, two = session.turns
    assert one.messages == [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "Fix issue 12"},
    ]
    assert one.assistant == {"role": "assistant", "reasoning_content": "look first", "tool_calls": [CALL]}
    assert (one.delay_s, one.delay_kind, one.kind) == (0, "arrival", "tool_call")
    assert two.messages == [{"role": "tool", "tool_call_id": "c1", "content": "a.py"}]
    assert (two.delay_s, two.delay_kind, two.kind) == (0.21, "tool", "prose")
    assert two.assistant is not None
    assert two.assistant["content"] == "done"


ODD_ROWS = [
    TASK,
    [first(extra={"deep": [1, None, True]}), answer(latency=1.5), result(host="h", system=""), answer(4)],
    [first(tools=None, system=None), answer(content=None), result(), answer(4)],
    [first(tools={"not": "a list"}), answer()],
    [first(names=["a"], fields=1, messages=2, row=3), answer(names=1, fields=2)],
    [first(), answer(), result(), result(4), answer(5)],
    [first(), answer(), result(tool_results=[{"tool_call_id": "c1"}, {"content": "x", "code": 0}]), answer(4)],
    [first(), answer(), result(system="late", tools=[]), answer(4)],
    [first(), answer(), result(3, role="user", content="go on", tool_results=[]), answer(4)],
    [first(), answer(), result(3, role="user", content=None), answer(4)],
    [first(), answer(), result(content="beside"), answer(4)],
    [first(content=[{"type": "text", "text": "Fix"}]), answer(), answer(3), result(4, delay_seconds=2), answer(5)],
    [first(turn=4), answer(8), result(20, tools=TOOLS), answer(21, system="s", tools=1, role_of=2)],
    [first(), answer(), result(), answer(4), result(5), first(turn=6, tools=None)],
]


@pytest.mark.parametrize("rows", ODD_ROWS)
def test_rows_come_back_as_they_were(rows: list[dict[str, Any]]) -> None:
    """Field by field, in order: unknown fields, nulls, results without ids, messages behind the last answer."""
    sessions, _ = read(*rows, *(one | {"conversation_id": "other"} for one in rows))
    assert len(sessions) == 2
    lines = [json.dumps(one) for one in (*rows, *({**one, "conversation_id": "other"} for one in rows))]
    assert written(sessions) == lines
    # Also when they have been a file of our own meanwhile.
    packed = msgspec.json.encode(sessions)
    assert written(msgspec.json.decode(packed, type=list[RecordedSession])) == lines


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.text(max_size=3), inside, max_size=2),
    max_leaves=4,
)


@given(st.lists(st.dictionaries(st.sampled_from(["content", "system", "tools", "has", "row", "names"]), JSON_VALUES)))
def test_any_row_that_is_taken_comes_back_as_it_was(changes: list[dict[str, Any]]) -> None:
    """Whatever its fields hold: it is skipped and told, or given back."""
    rows = [first()]
    for number, change in enumerate(changes, 2):
        rows.append({**(answer(number) if number % 2 == 0 else result(number)), **change})
    sessions, problems = read(*rows)
    assert problems or written(sessions) == [json.dumps(row, ensure_ascii=False) for row in rows]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (5, "the row is no JSON object"),
        (result() | {"conversation_id": 5}, "conversation_id is no text"),
        ({"turn": 3, "role": "tool"}, "conversation_id is missing"),
        (result(role="bot"), "role is none of user, assistant, tool"),
        (result(turn="3"), "turn is missing, or no whole number"),  # type: ignore[arg-type]
        (result(delay_seconds=-1), "delay_seconds is no time from 0 on"),
        (result(delay_seconds=float("nan")), "delay_seconds is no time from 0 on"),
        (result(delay_seconds=10**400), "delay_seconds is no time from 0 on"),
        (result(tool_results=[]), "a tool's row has no tool_results"),
        (result(tool_results="x"), "tool_results is no list of objects"),
        (result(content=5), "content is no text"),
        (answer(3, tool_calls="x"), "tool_calls is no list of objects"),
    ],
)
def test_a_bad_row_takes_its_conversation_along(row: Any, what: str) -> None:
    """It would be played with a hole; the others are read. Both are told, with their lines."""
    sessions, problems = read(*TASK[:2], row, TASK[3], first("t2"), answer(2, "t2"))
    assert [one.session_id for one in sessions] == ["t2"]
    assert problems == [f"f.jsonl:3: skipped: {what}", "f.jsonl:1: skipped: 't1' lacks the rows that were skipped"]


def test_a_row_that_could_not_be_read_counts_by_the_hole_that_it_leaves() -> None:
    """Between two conversations it may belong to either: which one lacks a turn is the one that goes."""
    lost = Problem("f.jsonl", 3, "skipped: no JSON: it is no UTF-8 at byte 7")
    told = "f.jsonl:3: skipped: no JSON: it is no UTF-8 at byte 7"
    whole, behind, before = TASK[:2], [result(), answer(4)], [first("t2"), answer(2, "t2")]
    sessions, problems = read(*whole, lost, *before)
    assert ([one.session_id for one in sessions], problems) == (["t1", "t2"], [told])
    sessions, problems = read(*whole, lost, behind[1], *before)
    assert [one.session_id for one in sessions] == ["t2"]
    assert problems == [told, "f.jsonl:1: skipped: 't1' lacks the rows that were skipped"]
    sessions, problems = read(*whole, lost, before[1], first("t3"), answer(2, "t3"))
    assert [one.session_id for one in sessions] == ["t1", "t3"]
    assert problems == [told, "f.jsonl:4: skipped: 't2' lacks the rows that were skipped"]


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([*TASK[:2], first("t2"), answer(2, "t2"), *TASK[2:]], "f.jsonl:5: skipped: 't1' has rows that don't stand"),
        ([first(), answer(), result(2), answer(4)], "f.jsonl:1: skipped: 't1' has turns that don't rise"),
        ([answer(1), result(2), answer(3)], "f.jsonl:1: skipped: 't1' begins with an answer"),
        ([first()], "f.jsonl:1: skipped: 't1' has no answer"),
        ([*TASK, result(5), result(6)], "f.jsonl:5: not played: 2 messages behind the last answer of 't1'"),
    ],
)
def test_what_makes_no_session_is_told(rows: list[dict[str, Any]], what: str) -> None:
    """By the first line of the conversation, or of what is left over."""
    _, (problem,) = read(*rows)
    assert problem.startswith(what)


def test_a_session_from_elsewhere_has_no_rows() -> None:
    """It can't be written as what it never was."""
    turn = msgspec.structs.replace(read(*TASK)[0][0].turns[0], extra={})
    with pytest.raises(WorkloadError, match="session 'x' doesn't come from a file of MLPerf rows"):
        written([RecordedSession(session_id="x", turns=[turn])])


def test_its_rows_are_recognised() -> None:
    """By a conversation, a turn and a role."""
    assert mlperf.looks_like(first())
    assert not mlperf.looks_like({"conversation_id": "x", "messages": []})
    assert not mlperf.looks_like([first()])
