"""Reading rows with an importer, and rows that nobody should write."""

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import msgspec
from hypothesis import strategies as st

from loadgen.workload.formats import Reader
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row
from loadgen.workload.session_check import checked

FILE = "rows.jsonl"


def read(module: ModuleType | Reader, *values: Any) -> tuple[list[RecordedSession], list[Problem]]:
    """The sessions and the problems of rows, one a line."""
    rows: Iterator[Row | Problem] = (Row(line, value) for line, value in enumerate(values, 1))
    found = list(module.read(rows, FILE))
    sessions = [one for one in found if isinstance(one, RecordedSession)]
    return sessions, [one for one in found if isinstance(one, Problem)]


def only(module: ModuleType | Reader, *values: Any) -> RecordedSession:
    """The one session of rows that have no problem, and which can be played."""
    sessions, problems = read(module, *values)
    assert problems == []
    assert checked(sessions, FILE) == (sessions, [])
    (session,) = sessions
    return session


def texts(module: ModuleType | Reader, *values: Any) -> list[str]:
    """The problems of rows as they are shown."""
    return [str(problem) for problem in read(module, *values)[1]]


def survives(module: ModuleType | Reader, values: list[Any]) -> None:
    """An importer gives sessions and problems for any rows; the sessions can be written, and read again as the same."""
    sessions, problems = read(module, *values)
    for value in values:
        assert module.looks_like(value) in {True, False}
    assert all(problem.file == FILE and problem.text for problem in problems)
    for session in sessions:
        assert session.turns
        assert msgspec.json.decode(msgspec.json.encode(session), type=RecordedSession) == session
    checked(sessions, FILE)


NUMBERS = (
    st.integers(-2, 5000)
    | st.sampled_from([float("nan"), float("inf"), -float("inf"), 10**400, -1, 1e300, 0.5, 2**63, True])
    | st.sampled_from(["12", "1e5", "2026-01-01T00:00:00Z", "2026-13-01", "0001-01-01T00:00:00+23:00", "9" * 5000, "²"])
)
WORDS = (
    st.sampled_from(["", "a", "b", "c1", "<x>", "done", "null", "{", '[{"role": "user", "content": "q"}]']) | st.text()
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
"""JSON values, with numbers and words that a careless reader breaks on."""


def objects_of(fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Objects with these fields, each mostly as it should be; some lack a few, some are anything else."""
    mostly = {name: st.one_of(right, right, right, right, VALUES) for name, right in fields.items()}
    right = dict(fields)
    return st.one_of(
        st.fixed_dictionaries(right), st.fixed_dictionaries(mostly), st.fixed_dictionaries({}, optional=mostly), VALUES
    )


def in_full(session: RecordedSession) -> list[list[tuple[str, int]]]:
    """The tokens of each whole prompt of a session of made-up text, each as its place in the text of its seed."""
    before: list[tuple[str, int]] = []
    prompts = []
    for turn in session.turns:
        prompts.append(([] if turn.history_reset else before) + _tokens(*turn.messages))
        before = prompts[-1] + _tokens(*([turn.assistant] if turn.assistant else []))
    return prompts


def _tokens(*messages: dict[str, Any]) -> list[tuple[str, int]]:
    pieces = [piece for message in messages for piece in message.get("pieces", [message])]
    return [(piece["seed"], number) for piece in pieces for number in range(piece["tokens"])]


def same(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many elements two lists have in common at their beginning."""
    parted = (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(parted, min(len(one), len(other)))
