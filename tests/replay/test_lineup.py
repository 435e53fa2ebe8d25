"""The servers of a run, and what becomes of one that dies."""

import asyncio
import json
from pathlib import Path

import psutil

from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.run_folder import RunWriter
from loadgen.replay.lineup import Lineup
from loadgen.servers.target import Target
from tests.replay.notes import Notes


def kill(target: Target) -> None:
    """End a server's process, and wait until it is gone."""
    assert target.pid is not None
    process = psutil.Process(target.pid)
    process.kill()
    psutil.wait_procs([process], timeout=30)


async def test_a_server_that_dies_between_two_trials_is_a_death_like_any_other(tmp_path: Path) -> None:
    """It is written down and started again once; the second death loses the variant."""
    model = write_tiny_model(tmp_path / "small.gguf")
    args = ["-m", str(model), "-np", "1", "-c", "512", "-t", "1", "--poll", "0"]
    variant = {"kind": "embedded", "name": "off", "program": "embedded", "args": args}
    asked = Experiment.model_validate({"variants": [variant], "baseline": "off", "levels": [1], "workload": "demo"})
    writer, observer = RunWriter(tmp_path / "run"), Notes()
    lineup = Lineup(asked, writer, observer, asyncio.Event())
    try:
        first = await lineup.open("off", round_=1)
        kill(first)
        second = await lineup.idle(first, trial="t-1", round_=1)
        assert second is not None
        assert second is not first
        assert await second.is_up()
        kill(second)
        assert await lineup.idle(second, trial="t-2", round_=1) is None
        assert lineup.why_lost("off") == "its server died more than once"
    finally:
        await lineup.close()
        writer.close()
    starts = [json.loads(line) for line in (tmp_path / "run" / "starts.jsonl").read_text().splitlines()]
    assert [one["variant"] for one in starts] == ["off", "off"]
    marks = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    assert [one["detail"].partition(";")[0] for one in marks if one["what"] == "server_lost"] == [
        "the server of off died before t-1",
        "the server of off died before t-2",
    ]
