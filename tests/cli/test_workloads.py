"""`loadgen workloads`: lists, profiles with their sources, samples, and files of sessions."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loadgen.cli.app import app
from loadgen.errors import LoadgenError, UsageError, WorkloadError
from tests.cli.conftest import loadgen

ROWS = [
    {"conversation_id": "t1", "turn": 1, "role": "user", "system": "You fix bugs.", "content": "Fix issue 12"},
    {
        "conversation_id": "t1",
        "turn": 2,
        "role": "assistant",
        "reasoning_content": "look first",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}],
    },
    {
        "conversation_id": "t1",
        "turn": 3,
        "role": "tool",
        "tool_results": [{"tool_call_id": "c1", "content": "a.py"}],
        "delay_seconds": 0.21,
    },
    {"conversation_id": "t1", "turn": 4, "role": "assistant", "content": "done"},
]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """One conversation of two turns in MLPerf's form, and a line that is none."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + "{broken\n")
    return path


def _error(*words: str) -> LoadgenError:
    error = CliRunner().invoke(app, ["workloads", *words]).exception
    assert isinstance(error, LoadgenError)
    return error


def test_the_list_names_every_profile_and_format() -> None:
    """Also whether a format was tried with a file of the real thing."""
    out = loadgen("workloads", "list").out
    assert "batch-agents-8k" in out
    assert "mlperf" in out
    assert "unverified" in out


def test_every_number_of_a_profile_has_its_source_or_is_assumed() -> None:
    """As the file has it, in one line each."""
    lines = loadgen("workloads", "show", "file-edit").out.splitlines()
    assert lines[lines.index("system_tokens  70") + 1].strip() == "assumed"
    after = lines[next(n for n, line in enumerate(lines) if line.startswith("tool_time_s")) + 1]
    assert after.strip().startswith("MLPerf Endpoints")


def test_the_list_says_how_much_of_a_profile_is_assumed() -> None:
    """Of how many parameters, and what the name of the tiers alone stands for."""
    lines = loadgen("workloads", "list").out.splitlines()
    (row,) = [line for line in lines if line.startswith("file-edit ")]
    assert row.split()[1:5] == ["2,048", "9", "of", "10"]
    assert any(line.startswith("batch-agents alone: the largest of its sizes that a slot holds") for line in lines)


def test_a_profile_is_shown_with_its_caution_and_what_is_assumed() -> None:
    """The numbers of its sub-agents too, under names of their own."""
    out = loadgen("workloads", "show", "coding-agent-64k").out
    assert "\ncaution: truncated: real sessions of this kind rarely fit 64k" in out
    assert "\nassumed: 4 of 15 parameters\n" in out
    lines = loadgen("workloads", "show", "subagent-fanout-8k").out.splitlines()
    names = [line.split()[0] for line in lines if not line.startswith(" ") and line]
    assert {"subagents.at_turn", "subagents.count", "subagents.turns", "subagents.shared_prefix.tools"} <= set(names)


def test_the_name_of_the_tiers_shows_what_it_stands_for() -> None:
    """All of them, and the one that is played where the server doesn't say what a slot holds."""
    out = " ".join(loadgen("workloads", "show", "batch-agents").out.split())
    tiers = "batch-agents-2k, batch-agents-4k, batch-agents-8k, batch-agents-16k, batch-agents-32k"
    assert out.startswith(f"batch-agents is the largest of {tiers} that a slot of the server holds")
    assert "batch-agents-4k: Always-busy coding agents" in out


def test_a_sample_has_sub_agents_and_tools(tmp_path: Path) -> None:
    """Parents first; what is written can be read and played again."""
    out = loadgen("workloads", "sample", "subagent-fanout-8k", "-n", "1").out
    rows = [json.loads(line) for line in out.splitlines()]
    parent, *children = rows
    assert parent["session_id"] == "subagent-fanout-8k-000"
    assert {child["parent_session_id"] for child in children} == {parent["session_id"]}
    assert [name for turn in parent["turns"] for name in turn.get("spawn", ())] == [
        row["session_id"] for row in children
    ]
    assert all(row["tools"] for row in rows)
    path = tmp_path / "s.jsonl"
    path.write_text(out)
    assert loadgen("workloads", "check", str(path)).out.strip().endswith("nothing was skipped")


def test_figures_of_a_profile_tell_what_is_to_be_known_of_it(tmp_path: Path) -> None:
    """Its caution, below the figures."""
    path = tmp_path / "mine.yaml"
    builtin = Path(__file__).parents[2] / "workloads" / "demo.yaml"
    path.write_text(builtin.read_text() + "caution: none of this is real\n")
    assert loadgen("workloads", "stats", str(path)).out.endswith("note: none of this is real\n")


def test_a_sample_is_sessions_that_can_be_read_again(tmp_path: Path) -> None:
    """One JSON line a session, which `check` takes."""
    out = loadgen("workloads", "sample", "demo", "-n", "2").out
    assert [json.loads(line)["session_id"] for line in out.splitlines()] == ["demo-000", "demo-001"]
    path = tmp_path / "s.jsonl"
    path.write_text(out)
    checked = loadgen("workloads", "check", str(path))
    assert checked.out.strip().endswith("session, 2 sessions, 7 turns; nothing was skipped")


def test_more_sessions_than_there_are_can_not_be_sampled() -> None:
    """The pool is named."""
    assert "demo has 64 sessions" in str(_error("sample", "demo", "-n", "65"))


def test_an_import_gives_sessions_and_an_export_the_same_rows(rows: Path, tmp_path: Path) -> None:
    """What was skipped is said with its line, and nothing is overwritten."""
    mine, back = tmp_path / "mine.jsonl", tmp_path / "back.jsonl"
    done = loadgen("workloads", "import", str(rows), "-o", str(mine))
    assert "rows.jsonl:5: skipped: no JSON" in done.err
    assert done.err.strip().endswith("1 sessions from mlperf")
    (session,) = [json.loads(line) for line in mine.read_text().splitlines()]
    assert [turn["delay_s"] for turn in session["turns"][1:]] == [0.21]
    assert loadgen("workloads", "import", str(mine), "-o", str(back), "--to", "mlperf").code == 0
    assert [json.loads(line) for line in back.read_text().splitlines()] == ROWS
    again = _error("import", str(rows), "-o", str(mine))
    assert isinstance(again, UsageError)
    assert "exists already" in str(again)


def test_strict_stops_at_the_first_broken_row(rows: Path) -> None:
    """With the file, the line and what is wrong."""
    error = _error("check", "--strict", str(rows))
    assert isinstance(error, WorkloadError)
    assert str(error).startswith("rows.jsonl:5: skipped: no JSON")


def test_figures_of_a_file_as_json(rows: Path) -> None:
    """Turns, waits by kind, kinds of answers, and what fits."""
    found = json.loads(loadgen("workloads", "stats", "--json", str(rows)).out)
    assert (found["sessions"], found["turns"], found["tokens"]) == (1, 2, "estimated")
    assert found["waits_s"]["tool"]["p50"] == 0.21
    assert found["kinds"] == {"prose": 1, "tool_call": 1}
    assert found["fits"]["4096"] == 1


def test_figures_of_a_profile_are_those_of_its_sessions() -> None:
    """A name in place of a file."""
    out = loadgen("workloads", "stats", "demo").out
    assert "64 sessions, 272 turns" in out


def test_rows_of_another_format_can_not_be_given_back(tmp_path: Path) -> None:
    """Sessions that didn't come from MLPerf rows have none to give back, and no file is left."""
    mine, back = tmp_path / "mine.jsonl", tmp_path / "back.jsonl"
    mine.write_text(loadgen("workloads", "sample", "demo", "-n", "1").out)
    assert isinstance(_error("import", str(mine), "-o", str(back), "--to", "mlperf"), WorkloadError)
    assert not back.exists()
