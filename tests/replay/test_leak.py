"""A server that leaks on purpose raises the alarm of a whole run; a steady one over the same time does not."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loadgen.analysis.memory.wording import growing
from loadgen.analysis.summary import summarise
from loadgen.experiment.model import Experiment
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.sweep import Sweep
from tests.replay.notes import Notes
from tests.servers.test_loadlog import SWA

NO_CACHE = "srv    load_model: prompt cache is disabled - use `--cache-ram N` to enable it\n"
"""Without it nobody knows what a prompt cache may hold, and growth on its way there is no leak."""


@contextmanager
def imitated(kind: str, folder: Path) -> Iterator[dict[str, Any]]:
    """A variant whose server is a process of its own and leaks or doesn't; its log says that it has no cache."""
    log = folder / f"{kind}.log"
    log.write_text(SWA + NO_CACHE)
    command = [sys.executable, "-m", "tests.servers.standins.leaking", kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield {"kind": "url", "name": kind, "url": child.stdout.readline().strip(), "server_log": str(log)}
        child.communicate()


async def test_a_leaking_server_raises_the_alarm(tmp_path: Path) -> None:
    """Both allocate 10 MiB a second and one keeps it; seconds are too short to call the other steady, and no leak."""
    with imitated("steady", tmp_path) as steady, imitated("leak", tmp_path) as leak:
        asked = Experiment.model_validate(
            {
                "variants": [steady, leak], "baseline": "steady", "levels": (1,), "workload": "demo", "rounds": 2,
                "time_budget_s": 1, "check_output": "off", "drift_check": False, "memory_source": "process",
            }
        )  # fmt: skip
        writer = RunWriter(tmp_path / "run")
        try:
            await Sweep(asked, writer, Notes(), asyncio.Event()).run()
        finally:
            writer.close()
    entries = {entry["variant"]: entry for entry in summarise(read_run(tmp_path / "run"))["memory"]}
    assert {name: entry["leak"] for name, entry in entries.items()} == {"steady": None, "leak": True}
    (sentence,) = growing(list(entries.values()))
    assert sentence.startswith("Memory of leak keeps growing, by ")
    assert entries["leak"]["growth_bytes_per_hour"]["low"] > 0
    assert entries["leak"]["source"].startswith("process:")
