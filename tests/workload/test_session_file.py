"""Files of sessions: which format they are of, what is in them, what is wrong with them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import WorkloadError
from loadgen.workload.formats import FORMATS, the_format
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.session_file import read_sessions, stream_sessions


def own(name: str, **turn: Any) -> dict[str, Any]:
    """A row of our own format."""
    turns = [{"messages": [{"role": "user", "content": "hi"}], **turn}]
    return {"format": "agent-session/1", "session_id": name, "turns": turns}


def written(folder: Path, *rows: Any, name: str = "f.jsonl") -> Path:
    """A file of these rows; a text is a line as it is."""
    path = folder / name
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_sessions_come_in_their_order_with_the_format_by_which_they_were_known(tmp_path: Path) -> None:
    """A good file has no problems."""
    found = read_sessions(written(tmp_path, own("b"), own("a")))
    assert found.format is FORMATS["session"]
    assert [session.session_id for session in found.sessions] == ["b", "a"]
    assert found.problems == []


def test_a_packed_file_is_read_like_any_other(tmp_path: Path) -> None:
    """Whatever it is called."""
    path = tmp_path / "sessions"
    path.write_bytes(gzip.compress(json.dumps(own("a")).encode()))
    assert len(read_sessions(path).sessions) == 1


def test_bad_rows_are_counted_and_located_and_the_others_read(tmp_path: Path) -> None:
    """What is wrong with a row, and what is wrong between rows: the line, and the field."""
    path = written(tmp_path, own("a"), "{", own("b", delay=1), own("c", delay_s=-1), own("a"), own("d", spawn=["x"]))
    found = read_sessions(path)
    assert [session.session_id for session in found.sessions] == ["a"]
    assert [str(problem) for problem in found.problems] == [
        "f.jsonl:2: skipped: no JSON: expecting property name enclosed in double quotes at character 3",
        "f.jsonl:3: skipped: turns[0] has no field 'delay'",
        "f.jsonl:4: session 'c' skipped: turns[0].delay_s is no time from 0 on",
        "f.jsonl:1: session 'a' skipped: its id stands twice",
        "f.jsonl:6: session 'd' skipped: turns[0].spawn names 'x', which isn't there, or was skipped",
    ]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("{", "f.jsonl:2: skipped: no JSON"),
        (own("b", delay=1), "f.jsonl:2: skipped: turns"),
        (own("b", delay_s=-1), "f.jsonl:2: session 'b' skipped"),
    ],
)
def test_strict_ends_at_the_first_problem(tmp_path: Path, row: Any, what: str) -> None:
    """With the sentence that would have been counted."""
    path = written(tmp_path, own("a"), row)
    assert len(read_sessions(path).sessions) == 1
    with pytest.raises(WorkloadError, match=f"^{what}"):
        read_sessions(path, strict=True)


def test_a_format_is_found_behind_rows_that_are_broken(tmp_path: Path) -> None:
    """The broken ones are told, not taken for the file's kind."""
    found = read_sessions(written(tmp_path, "nonsense", 5, own("a")))
    assert [session.session_id for session in found.sessions] == ["a"]
    assert [problem.line for problem in found.problems] == [1, 2]


def test_a_file_of_no_known_format_is_one_sentence(tmp_path: Path) -> None:
    """It names the line, the formats, and the option."""
    path = written(tmp_path, {"a": 1})
    with pytest.raises(
        WorkloadError, match=r"f\.jsonl: line 1 is of none of the known formats \(session, mlperf, .*--fo"
    ):
        read_sessions(path)


def test_a_file_without_rows_or_without_sessions_is_one_sentence(tmp_path: Path) -> None:
    """With the first problem, where there is one."""
    with pytest.raises(WorkloadError, match=r"f\.jsonl holds no row\.$"):
        read_sessions(written(tmp_path))
    with pytest.raises(WorkloadError, match=r"f\.jsonl holds no row\. f\.jsonl:1: skipped: no JSON"):
        read_sessions(written(tmp_path, "{"))
    bad = written(tmp_path, own("a", delay_s=-1))
    with pytest.raises(
        WorkloadError, match=r"holds no session of the format session\. The first problem: f\.jsonl:1: "
    ):
        read_sessions(bad)


def test_a_named_format_is_taken_at_its_word(tmp_path: Path) -> None:
    """Rows of another kind are then broken rows."""
    path = written(tmp_path, own("a"), {"conversation_id": "t"})
    found = read_sessions(path, format_name="session")
    assert [problem.line for problem in found.problems] == [2]
    with pytest.raises(WorkloadError, match=r"holds no session of the format mlperf\. The first problem: f\.jsonl:1: "):
        read_sessions(path, format_name="mlperf")
    with pytest.raises(WorkloadError, match="no format is called 'mlpref'; there are session, mlperf, "):
        the_format("mlpref")


def test_a_stream_gives_sessions_without_looking_across_them(tmp_path: Path) -> None:
    """A child that isn't there is nothing that a row says."""
    found, stream = stream_sessions(written(tmp_path, own("a", spawn=["x"]), "{"))
    one, two = stream
    assert found.name == "session"
    assert isinstance(one, RecordedSession)
    assert isinstance(two, Problem)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    """Nothing is read before the first row is asked for, but the sentence comes all the same."""
    with pytest.raises(WorkloadError, match="can't be read: No such file"):
        read_sessions(tmp_path / "gone.jsonl")
    with pytest.raises(WorkloadError, match="can't be read: No such file"):
        read_sessions(tmp_path / "gone.jsonl", format_name="session")
