"""A whole run in this process, against a real server."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from loadgen.analysis.trial import trials_of
from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import RequestRecord, ServerStart, TrialRecord
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.ending import Ending
from loadgen.replay.sweep import Sweep

pytestmark = pytest.mark.live


class Watcher:
    """An observer that keeps what it is told; `interrupts` is set as soon as a trial has ended."""

    def __init__(self, interrupts: asyncio.Event | None = None) -> None:
        self.trials: list[TrialRecord] = []
        self.requests: list[RequestRecord] = []
        self.plans: list[Plan] = []
        self.left: int | None = None
        self.started: list[PlannedTrial] = []
        self.servers: list[ServerStart] = []
        self._interrupts = interrupts

    def note(self, text: str) -> None:
        """Not kept."""

    def waiting(self, text: str) -> None:
        """Not kept."""

    def server(self, start: ServerStart) -> None:
        """Keep it."""
        self.servers.append(start)

    def planned(self, plan: Plan, left: int) -> None:
        """Keep it."""
        self.plans.append(plan)
        self.left = left

    def trial_started(self, planned: PlannedTrial) -> None:
        """Keep it."""
        self.started.append(planned)

    def request(self, record: RequestRecord) -> None:
        """Keep it."""
        self.requests.append(record)

    def trial_ended(self, record: TrialRecord) -> None:
        """Keep it, and interrupt the run."""
        self.trials.append(record)
        if self._interrupts is not None:
            self._interrupts.set()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server with two slots and the tiny model."""
    model = write_tiny_model(tmp_path_factory.mktemp("model") / "small.gguf")
    args = ["-m", str(model), "-np", "2", "-c", "2048", "-t", "1", "--poll", "0", "--metrics", "--port", "0"]
    command = [sys.executable, "-m", "loadgen.servers.embedded", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        address = next(line.partition("listening on ")[2].strip() for line in process.stdout if "listening on " in line)
        # Read on, so that the server never waits for us.
        reader = threading.Thread(target=process.stdout.read)
        reader.start()
        yield address
        process.kill()
        reader.join()


LONG_PROMPTS = """
version: 1
name: long-prompts
description: Prompts far longer than answers, so that a prompt that was sent before is worth keeping in a cache.
min_context: 1024
corpus: words
history: recorded
system_tokens: 20
first_user: {tokens: 300}
turns: 2
tool_result: {tokens: 10}
answer: {tokens: 8}
output: {tokens: 8, mode: exact}
tool_time_s: 0
user_turns: 1
sources: {}
"""


def experiment(url: str, workload: str) -> Experiment:
    """One running server at one and two agents, one round."""
    return Experiment.model_validate(
        {
            "variants": [{"kind": "url", "name": "server", "url": url}],
            "baseline": "server",
            "levels": (1, 2),
            "workload": workload,
            "rounds": 1,
            "time_budget_s": 1,
        }
    )


async def run(
    folder: Path,
    url: str,
    watcher: Watcher,
    interrupted: asyncio.Event,
    *,
    workload: str = "demo",
    salted: bool = True,
) -> Ending:
    """Run the experiment into `folder`."""
    writer = RunWriter(folder)
    try:
        return await Sweep(experiment(url, workload), writer, watcher, interrupted, salted=salted).run()
    finally:
        writer.close()


def first_turns(run_: Run) -> tuple[int, int]:
    """Cached and prompt tokens of the first turns of all trials."""
    found = [trial.first_turns for trial in trials_of(run_)]
    return sum(cached for cached, _ in found), sum(prompt for _, prompt in found)


async def test_without_salts_trials_read_each_others_cache(tmp_path: Path, url: str) -> None:
    """The detector of contamination sees what salts prevent: cached first turns without them, none with them."""
    workload = tmp_path / "long.yaml"
    workload.write_text(LONG_PROMPTS)
    for salted in (True, False):
        folder = tmp_path / f"salted-{salted}"
        await run(folder, url, Watcher(), asyncio.Event(), workload=str(workload), salted=salted)
    cached, prompt = first_turns(read_run(tmp_path / "salted-True"))
    assert prompt > 0
    assert cached == 0
    cached, prompt = first_turns(read_run(tmp_path / "salted-False"))
    assert 0 < cached < prompt


async def test_an_observer_is_told_what_the_folder_keeps(tmp_path: Path, url: str) -> None:
    """Whoever watches a run sees the records of the run folder, in the same order."""
    watcher = Watcher()
    ending = await run(tmp_path / "run", url, watcher, asyncio.Event())
    back = read_run(tmp_path / "run")
    assert ending == Ending("complete", None)
    assert watcher.requests == back.requests
    assert watcher.trials == back.trials
    assert watcher.plans == [back.plan]
    assert watcher.servers == back.starts
    assert [planned.trial for planned in watcher.started] == [trial.trial for trial in back.trials]
    assert [entry.what for entry in back.journal] == ["started", "complete"]


async def test_a_segment_is_k_turns_from_boundary_to_boundary(tmp_path: Path, url: str) -> None:
    """Each agent's segment begins when its last warm-up turn ended and ends with its k-th measured turn."""
    await run(tmp_path / "run", url, Watcher(), asyncio.Event())
    back = read_run(tmp_path / "run")
    for trial in back.trials:
        requests = [one for one in back.requests if one.trial == trial.trial]
        for segment in trial.segments:
            own = [one for one in requests if one.agent == segment.agent]
            warm = [one for one in own if one.phase == "warmup"]
            measured = [one for one in own if one.phase == "segment"]
            assert len(measured) == segment.turns == trial.turns_per_agent
            assert segment.start_ns == warm[-1].end_ns == measured[0].ready_ns
            assert segment.end_ns == measured[-1].end_ns
            assert all(later.ready_ns == earlier.end_ns for earlier, later in pairwise(own))
            assert {one.trial for one in warm} == {trial.trial}


async def test_agents_keep_working_until_the_last_segment_has_ended(tmp_path: Path, url: str) -> None:
    """Load stays what it was: no agent is idle between its own segment's end and the last one's."""
    await run(tmp_path / "run", url, Watcher(), asyncio.Event())
    back = read_run(tmp_path / "run")
    (trial,) = [one for one in back.trials if one.round == 1 and one.level == 2]
    last = max(segment.end_ns for segment in trial.segments)
    for segment in trial.segments:
        if segment.end_ns < last:
            drained = [
                one
                for one in back.requests
                if one.trial == trial.trial and one.agent == segment.agent and one.phase == "drain"
            ]
            busy_until = max((one.end_ns for one in drained), default=segment.end_ns)
            # The last wait may reach past the end of the trial: then no request was due before it.
            assert busy_until >= last or last - busy_until < 1_000_000_000


async def test_an_interrupted_run_keeps_its_trials(tmp_path: Path, url: str) -> None:
    """Ctrl-C between trials ends the run there, and the folder says so."""
    interrupted = asyncio.Event()
    ending = await run(tmp_path / "run", url, Watcher(interrupted), interrupted)
    back = read_run(tmp_path / "run")
    assert ending.what == "interrupted"
    assert back.trials[0].complete
    assert [entry.what for entry in back.journal] == ["started", "interrupted"]
