"""A whole run in this process, against a real server."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from loadgen.analysis.measured.trial import trials_of
from loadgen.analysis.summary import summarise
from loadgen.cell_key import CellKey
from loadgen.errors import WorkloadError
from loadgen.experiment.model import Experiment
from loadgen.experiment.stop_policy import Decision
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.looks import closed_cells
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
            "warmup_s": 0.2,
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


class Known:
    """A policy that looks after round 1 and finds everything known."""

    def looks(self, rounds: int) -> Sequence[int]:
        """After the first round."""
        del rounds
        return [1]

    def after(self, round_: int) -> Decision:
        """Nothing is open."""
        return Decision(open=frozenset(), note=f"look after round {round_}")


class Stops(Watcher):
    """An observer that interrupts the run as soon as a trial of a round has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.interrupted = asyncio.Event()

    def trial_ended(self, record: TrialRecord) -> None:
        """Keep it; pilots go on."""
        super().trial_ended(record)
        if record.round:
            self.interrupted.set()


async def compared(url: str, writer: RunWriter, watcher: Watcher, interrupted: asyncio.Event, **known: Any) -> Ending:
    """Two equal variants at one agent, three rounds."""
    fields = {
        "variants": [{"kind": "url", "name": name, "url": url} for name in ("off", "again")],
        "baseline": "off", "aa": True, "levels": (1,), "drift_check": False, "rounds": 3, "check_output": "off",
    }  # fmt: skip
    asked = Experiment.model_validate(experiment(url, "demo").model_dump() | fields)
    try:
        return await Sweep(asked, writer, watcher, interrupted, policy=Known(), **known).run()
    finally:
        writer.close()


async def test_a_run_ends_when_everything_is_known(tmp_path: Path, url: str) -> None:
    """Interrupted within round 1, it takes the look when that round is whole; then no other round begins.

    The journal tells what the look closed, and nothing of it is left to resume.
    """
    folder, stops = tmp_path / "run", Stops()
    stopped = await compared(url, RunWriter(folder), stops, stops.interrupted)
    assert stopped.what == "interrupted"
    watcher = Watcher()
    earlier = read_run(folder)
    ending = await compared(url, RunWriter.resume(folder), watcher, asyncio.Event(), earlier=earlier)
    assert ending == Ending("complete", "everything asked is known after 1 of 3 rounds")
    assert [one.round for one in watcher.trials] == [1]
    back = read_run(folder)
    assert back.plan is not None
    assert (back.plan.rounds, back.plan.looks) == (3, [1])
    assert sorted((one.round, one.variant) for one in back.trials) == [(0, "off"), (1, "again"), (1, "off")]
    assert [entry.what for entry in back.journal] == ["started", "interrupted", "resumed", "looked", "complete"]
    assert closed_cells(back.journal) == {CellKey("again", 1): 1}
    idle = Watcher()
    again = await compared(url, RunWriter.resume(folder), idle, asyncio.Event(), earlier=back)
    assert (again.what, idle.left, idle.trials) == ("complete", 0, [])


GROWING = LONG_PROMPTS.replace("turns: 2", "turns: 12").replace(
    "first_user: {tokens: 300}", "first_user: {tokens: 100}"
)
"""Sessions that grow from about 140 to 500 tokens."""


async def test_segments_stay_near_the_depth_that_was_asked_for(tmp_path: Path, url: str) -> None:
    """Pilots and trials at each depth; every measured prompt lies within a fifth of it, as the server counts it."""
    workload = tmp_path / "growing.yaml"
    workload.write_text(GROWING)
    asked = experiment(url, str(workload)).model_copy(
        update={"levels": (2,), "depths": (200, 400), "check_output": "off", "rounds": 2, "drift_check": False}
    )
    writer = RunWriter(tmp_path / "run")
    try:
        ending = await Sweep(asked, writer, Watcher(), asyncio.Event()).run()
    finally:
        writer.close()
    assert ending == Ending("complete", None)
    back = read_run(tmp_path / "run")
    assert sorted(one.trial for one in back.trials) == [
        "pilot-server-c2-d200",
        "pilot-server-c2-d400",
        *(f"r{number}-server-c2-d{depth}" for number in (1, 2) for depth in (200, 400)),
    ]
    for trial in trials_of(back):
        depth = trial.record.depth
        assert depth is not None
        assert all(0.8 * depth <= (one.depth or 0) <= 1.2 * depth for one in trial.answers)
        assert len(trial.answers) == 2 * trial.record.turns_per_agent
    cells = summarise(back)["cells"]
    assert [cell["depth_asked"] for cell in cells] == [200, 400]
    assert [cell["trials"] for cell in cells] == [2, 2]


async def test_a_depth_that_the_workload_never_has_ends_the_run_before_it_begins(tmp_path: Path, url: str) -> None:
    """With the depths there are, before any trial."""
    asked = experiment(url, "demo").model_copy(update={"depths": (100_000,)})
    writer = RunWriter(tmp_path / "run")
    try:
        with pytest.raises(WorkloadError, match=r"Workload demo has no prompt within 20% of 100,000 tokens"):
            await Sweep(asked, writer, Watcher(), asyncio.Event()).run()
    finally:
        writer.close()
