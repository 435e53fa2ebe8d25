"""What is recorded outlives the process that recorded it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loadgen.errors import UsageError
from loadgen.recording.call import Call
from loadgen.recording.journal import Journal, journal_path
from loadgen.workload.recorded import Cancel

ASK = {"role": "user", "content": "Fix it — now"}
ANSWER = {"role": "assistant", "content": "Done."}
MORE = {"role": "user", "content": "x" * 1000}


def call(*messages: dict[str, Any], **fields: Any) -> Call:
    """A call of these messages."""
    return Call(begun_s=1.5, ended_s=2.25, messages=list(messages), answer=ANSWER, **fields)


FIRST = call(ASK, model="m", cancel=Cancel(after_tokens=2), tools=[{"type": "function"}])
SECOND = call(ASK, ANSWER, MORE, input_tokens=7, response_id="r1", heading=1)
THIRD = call(ASK, ANSWER, MORE, ANSWER, {"role": "user", "content": "on"})


def journal(path: Path) -> Journal:
    """A journal of three calls, let go."""
    found = Journal(path)
    for number, one in enumerate((FIRST, SECOND, THIRD)):
        found.append(one, number - 1 if number else None)
    found.close()
    return found


def read(path: Path) -> Journal:
    """A journal that is there, let go again."""
    found = Journal(path)
    found.close()
    return found


def test_calls_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Every field; what a prompt has in common with an earlier one is written once; nobody else can read it."""
    path = tmp_path / "j"
    journal(path)
    assert read(path).calls == [FIRST, SECOND, THIRD]
    assert path.read_text().count("x" * 1000) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_prompt_that_differs_in_the_middle_is_written_from_there(tmp_path: Path) -> None:
    """Also where it differs only as JSON does: 1 is not true."""
    path = tmp_path / "j"
    found = Journal(path)
    one, other = (call({**ASK, "n": value}, MORE) for value in (1, True))
    found.append(one, None)
    found.append(other, 0)
    found.close()
    assert [list(map(repr, one.messages)) for one in read(path).calls] == [
        list(map(repr, written.messages)) for written in (one, other)
    ]


@pytest.mark.parametrize("left", [1, 40, -1])
def test_a_line_that_was_cut_off_goes_and_the_journal_goes_on(tmp_path: Path, left: int) -> None:
    """What ended before it stays."""
    path = tmp_path / "j"
    journal(path)
    data = path.read_bytes()
    last = data.rindex(b"\n", 0, -1) + 1
    path.write_bytes(data[: last + left] if left > 0 else data[:-1])
    found = Journal(path)
    assert (found.calls, found.damaged) == ([FIRST, SECOND], True)
    found.append(THIRD, 1)
    found.close()
    again = read(path)
    assert (again.calls, again.damaged) == ([FIRST, SECOND, THIRD], False)


def test_one_recording_writes_a_journal(tmp_path: Path) -> None:
    """Another is told so."""
    path = tmp_path / "j"
    held = Journal(path)
    tried = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from loadgen.recording.journal import *; from pathlib import *; Journal(Path({str(path)!r}))",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"another recording writes {path}" in tried.stderr
    held.close()


@pytest.mark.parametrize(
    "content",
    [
        "{}\n",
        '{"format":"agent-session/1"}\n',
        "no json\n",
        '{"format":"agent-session-journal/1"}\n{"base":7,"kept":1}\n',
    ],
)
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, content: str) -> None:
    """With what to do."""
    path = tmp_path / "j"
    path.write_text(content)
    with pytest.raises(UsageError, match="is no journal of a recording"):
        Journal(path)
    assert path.read_text() == content


def test_a_journal_that_is_not_needed_goes(tmp_path: Path) -> None:
    """When all of it is elsewhere."""
    found = Journal(tmp_path / "j")
    found.close(remove=True)
    assert not (tmp_path / "j").exists()
    assert journal_path(tmp_path / "s.jsonl").name == "s.jsonl.journal"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Before anything is recorded."""
    with pytest.raises(UsageError, match=r"can't write .*No such file"):
        Journal(tmp_path / "nowhere" / "j")


def test_every_line_is_json(tmp_path: Path) -> None:
    """The first says what the file is."""
    path = tmp_path / "j"
    journal(path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert rows[0] == {"format": "agent-session-journal/1"}
    assert [row["kept"] for row in rows[1:]] == [0, 2, 4]
