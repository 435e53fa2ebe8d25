"""Files of spans, logs and lengths become workloads that can be played."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadgen.workload.made_up import filled
from loadgen.workload.replayed import replay
from loadgen.workload.session_file import read_sessions
from loadgen.workload.session_stats import describe
from loadgen.workload.sizing import Ratio
from tests.workload.formats import test_claude_code as claude
from tests.workload.formats import test_codex as codex
from tests.workload.formats import test_exgentic as exgentic
from tests.workload.formats import test_mooncake as mooncake
from tests.workload.formats import test_otel as otel
from tests.workload.formats import test_weka as weka
from tests.workload.formats.reading import same

FILES: dict[str, list[Any]] = {
    "otel": [otel.trace(otel.FIRST, otel.SECOND)],
    "exgentic": [exgentic.run("r1"), exgentic.run("r2")],
    "claude_code": [claude.TASK[0], claude.CALLED, *claude.SUB],
    "codex": codex.TASK,
    "mooncake": [mooncake.row(0, 1300, 100, [1, 2, 3]), mooncake.row(9000, 1500, 40, [1, 2, 4])],
    "weka": [weka.document(weka.request(0.0, 640, 80), weka.agent(1.0, weka.request(2.0, 128, 5)))],
}
TURNS = {"otel": 2, "exgentic": 2, "claude_code": 3, "codex": 2, "mooncake": 2, "weka": 2}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_recognised_read_and_played(name: str, tmp_path: Path) -> None:
    """The format is told by the first row, nothing is lost, and every turn has a prompt."""
    path = tmp_path / "given.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in FILES[name]))
    file = read_sessions(path, strict=True)
    assert file.format.name == name
    assert sum(len(session.turns) for session in file.sessions) == TURNS[name]
    assert describe(file.sessions)["turns"] == TURNS[name]
    workload = replay(file.sessions, name=name)
    assert len(workload.sessions) == sum(session.parent_session_id is None for session in file.sessions)


def test_made_up_prompts_share_their_text(tmp_path: Path) -> None:
    """Two prompts with the same first block begin with the same text, a block of it."""
    path = tmp_path / "lengths.jsonl"
    rows = [mooncake.row(0, 1300, 9, [1, 2, 3]), mooncake.row(1, 1400, 9, [1, 5, 6])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = (filled(session, sizer=Ratio(3.0))[0].messages for session in read_sessions(path).sessions)
    shared = same(first[0]["content"], second[0]["content"])
    assert 512 * 3 <= shared < 512 * 3 + 3
