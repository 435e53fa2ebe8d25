"""The format of our own: written and read, and picky."""

import io
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.formats import recognise, session
from loadgen.workload.recorded import Cancel, Problem, RecordedSession, RecordedTurn
from loadgen.workload.rows import Row

GOOD: dict[str, Any] = {
    "format": "agent-session/1",
    "session_id": "t1",
    "turns": [{"messages": [{"role": "user", "content": "hi"}], "delay_s": 1, "cancel": {"after_tokens": 5}}],
}


def read(*values: Any) -> list[RecordedSession | Problem]:
    """What is read of these rows."""
    return list(session.read(iter([Row(line, value) for line, value in enumerate(values, 1)]), "f.jsonl"))


def lines_of(*sessions: RecordedSession) -> list[bytes]:
    """The lines of a file of these sessions."""
    file = io.BytesIO()
    assert session.write(sessions, file) == len(sessions)
    return file.getvalue().splitlines()


def test_a_row_is_a_session() -> None:
    """What it leaves out has its plain value."""
    turn = RecordedTurn(messages=[{"role": "user", "content": "hi"}], delay_s=1.0, cancel=Cancel(after_tokens=5))
    assert read(GOOD) == [RecordedSession(session_id="t1", turns=[turn])]


def test_a_written_session_is_known_by_its_format_and_holds_no_more_than_it_says() -> None:
    """The format's name comes first; fields that have their plain value aren't written."""
    turn = RecordedTurn(messages=[{"role": "user", "content": "é\U0001f600"}])
    (line,) = lines_of(RecordedSession(session_id="a", turns=[turn]))
    assert line.decode() == (
        '{"format":"agent-session/1","session_id":"a","turns":[{"messages":[{"role":"user","content":"é\U0001f600"}]}]}'
    )
    found = recognise(json.loads(line))
    assert found is not None
    assert found.name == "session"


NUMBERS = st.integers(0, 9) | st.just(10**30)
MESSAGES = st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5) | NUMBERS | st.none()), max_size=2)
CANCELS = st.builds(Cancel, after_tokens=st.none() | st.integers(0, 9), then=st.sampled_from(["drop", "resume"]))
TURNS = st.builds(
    RecordedTurn,
    messages=MESSAGES,
    assistant=st.none() | st.just({"role": "assistant", "content": "ok"}),
    delay_s=st.floats(0, 1e9),
    delay_kind=st.sampled_from(["arrival", "tool", "user", "subagent"]),
    kind=st.sampled_from([None, "edit", "extract", "tool_call", "prose"]),
    input_tokens=st.none() | st.integers(0, 1 << 40),
    tool_times_s=st.none() | st.lists(st.floats(0, 10), max_size=2),
    history_reset=st.sampled_from([None, "compact", "edit"]),
    spawn=st.lists(st.text(max_size=2), max_size=2),
    join=st.none() | st.lists(st.text(max_size=2), max_size=2),
    cancel=st.none() | CANCELS,
    extra=st.dictionaries(st.text(max_size=2), st.none() | st.booleans() | st.text(max_size=2), max_size=2),
)


@given(
    st.lists(
        st.builds(
            RecordedSession,
            session_id=st.text(max_size=4),
            turns=st.lists(TURNS, max_size=3),
            parent_session_id=st.none() | st.text(max_size=4),
            tools=st.none() | st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=3)), max_size=2),
            source=st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        ),
        max_size=3,
    )
)
def test_what_is_written_is_read_back(sessions: list[RecordedSession]) -> None:
    """Every field of every session, through JSON."""
    assert read(*(json.loads(line) for line in lines_of(*sessions))) == sessions


def changed(place: str, value: Any) -> dict[str, Any]:
    """The good row with one field set: of the row, of its turn (`turn.x`) or of the turn's `cancel` (`cancel.x`)."""
    row = msgspec.json.decode(msgspec.json.encode(GOOD))
    where, _, name = place.rpartition(".")
    turn = row["turns"][0]
    {"": row, "turn": turn, "cancel": turn["cancel"]}[where][name] = value
    return row  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ([], "the row is no JSON object"),
        ({}, "format is not 'agent-session/1'"),
        (changed("format", "agent-session/2"), "format is not 'agent-session/1'"),
        (changed("sesion_id", "x"), "a session has no field 'sesion_id'"),
        (changed("turn.delay", 1), "turns[0] has no field 'delay'"),
        (changed("cancel.after", 1), "turns[0].cancel has no field 'after'"),
        (changed("session_id", 5), "session_id: expected `str`, got `int`"),
        (changed("turns", 5), "turns: expected `array`, got `int`"),
        (changed("turns", [5]), "turns[0]: expected `object`, got `int`"),
        (changed("turn.messages", ["x"]), "turns[0].messages[0]: expected `object`, got `str`"),
        (changed("turn.delay_s", "1"), "turns[0].delay_s: expected `float`, got `str`"),
        (changed("turn.delay_kind", "nap"), "turns[0].delay_kind: invalid enum value 'nap'"),
        (changed("turn.kind", 1), "turns[0].kind: expected `str | null`, got `int`"),
        (changed("cancel.then", "x"), "turns[0].cancel.then: invalid enum value 'x'"),
        ({"format": "agent-session/1", "session_id": "x"}, "object missing required field `turns`"),
        ({"format": "agent-session/1", "session_id": "x", "turns": [{}]}, "turns[0]: object missing required field"),
    ],
)
def test_what_breaks_the_format_is_named_with_its_field(row: Any, what: str) -> None:
    """An unknown field is an error: a typing error would silently change what is played."""
    good, problem = read(GOOD, row)
    assert isinstance(good, RecordedSession)
    assert str(problem).startswith(f"f.jsonl:2: skipped: {what}")
