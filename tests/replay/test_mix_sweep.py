"""A run of two classes of work against a real server, and the same run taken up again."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadgen.analysis.decision.goodput import goodputs
from loadgen.analysis.measured.trial import trials_of
from loadgen.analysis.summary import summarise
from loadgen.errors import RunFolderError
from loadgen.experiment.build import experiment, published
from loadgen.experiment.model import Experiment
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import RequestRecord, ServerStart, TrialRecord
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.repertoire import recorded
from loadgen.replay.sweep import Sweep

pytestmark = pytest.mark.live

TALK = """
version: 1
name: talk
description: Short answers with a pause before each.
min_context: 512
pool: 6
corpus: words
history: live
system_tokens: 5
first_user: {tokens: 8}
turns: 3
tool_result: {tokens: 6}
answer: {tokens: 6}
output: {tokens: 6, mode: exact}
tool_time_s: 0.1
user_turns: 1
sources: {}
"""
WORK = (
    TALK.replace("name: talk", "name: work").replace("tool_time_s: 0.1", "tool_time_s: 0").replace("live", "recorded")
)


class Nobody:
    """An observer that keeps what it was told in passing."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.notes.append(text)

    def waiting(self, text: str) -> None:
        """Not kept."""

    def server(self, start: ServerStart) -> None:
        """Not kept."""

    def planned(self, plan: Plan, left: int) -> None:
        """Not kept."""

    def trial_started(self, planned: PlannedTrial) -> None:
        """Not kept."""

    def request(self, record: RequestRecord) -> None:
        """Not kept."""

    def trial_ended(self, record: TrialRecord) -> None:
        """Not kept."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running server with three slots and the tiny model."""
    model = write_tiny_model(tmp_path_factory.mktemp("model") / "small.gguf")
    args = ["-m", str(model), "-np", "3", "-c", "3072", "-t", "1", "--poll", "0", "--metrics", "--port", "0"]
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


def asked(url: str, folder: Path) -> Experiment:
    """One talker and two workers on one server, one round."""
    return experiment(
        variants=[{"kind": "url", "name": "server", "url": url}],
        baseline="server",
        levels=(1, 3),
        mix={str(folder / "talk.yaml"): 1, str(folder / "work.yaml"): 2},
        slo={"ttft_s": 30, "classes": {"talk": {"tpot_s": 30}}},
        rounds=1,
        warmup_s=0.2,
        drift_check=False,
        check_output="off",
        time_budget_s=1,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, url: str) -> tuple[Run, Experiment, list[str]]:
    """The run, read back, with what was asked for and what was said."""
    folder = tmp_path_factory.mktemp("mix")
    (folder / "talk.yaml").write_text(TALK)
    (folder / "work.yaml").write_text(WORK)
    watcher, writer = Nobody(), RunWriter(folder / "run")
    try:
        ending = asyncio.run(Sweep(asked(url, folder), writer, watcher, asyncio.Event()).run())
    finally:
        writer.close()
    assert ending.what == "complete"
    return read_run(folder / "run"), asked(url, folder), watcher.notes


def test_every_agent_plays_its_class_in_every_trial(played: tuple[Run, Experiment, list[str]]) -> None:
    """Agent 0 of three talks, the others work, in warm-up and drain too; one agent alone works."""
    run, _, notes = played
    for request in run.requests:
        if request.variant == "server" and request.trial in {trial.trial for trial in run.trials}:
            expected = "talk" if request.level == 3 and request.agent == 0 else "work"
            assert (request.work_class, request.session.rpartition("-")[0]) == (expected, expected)
    assert "mix at 1: work 1; none for talk" in notes
    assert "mix at 3: talk 1, work 2" in notes


def test_a_trial_measures_each_class_for_about_as_long(played: tuple[Run, Experiment, list[str]]) -> None:
    """Workers never wait: they play more turns, as many as were planned for their class."""
    run, _, _ = played
    assert run.plan is not None
    (planned,) = [one for one in run.plan.trials if one.level == 3]
    (trial,) = [one for one in run.trials if one.round == 1 and one.level == 3]
    assert planned.class_turns is not None
    assert [(one.work_class, one.turns) for one in trial.segments] == [
        (name, planned.class_turns[name]) for name in ("talk", "work", "work")
    ]
    assert planned.class_turns["talk"] == planned.turns_per_agent <= planned.class_turns["work"]


def test_the_summary_has_results_for_each_class(played: tuple[Run, Experiment, list[str]]) -> None:
    """Rates add up to the trial's, and every class is held against its own limits."""
    run, experiment_, _ = played
    found = summarise(run)
    assert found["run"]["workload"] == "talk:1,work:2"
    alone, cell = found["cells"]
    assert [(one["name"], one["agents"]) for one in alone["classes"]] == [("work", 1)]
    assert [(one["name"], one["agents"]) for one in cell["classes"]] == [("talk", 1), ("work", 2)]
    assert [warning["kind"] for warning in found["warnings"] if warning["kind"] == "uneven_mix"] == ["uneven_mix"]
    # Whether the trial counts depends on how busy this machine is.
    (trial,) = [one for one in trials_of(run) if one.record.level == 3]
    parts = trial.classes.values()
    assert [part.record.level for part in parts] == [1, 2]
    assert trial.tasks_per_hour == pytest.approx(sum(part.tasks_per_hour or 0 for part in parts))
    (entry,) = goodputs({("server", 3): [trial]}, published(experiment_)["slo"])
    limits = [[limit["limit"] for limit in one["limits"]] for one in entry["classes"]]
    assert limits == [["ttft_s", "tpot_s"], ["ttft_s"]]
    assert [one["requests"]["attainment"]["value"] for one in entry["classes"]] == [1, 1]


def test_the_same_mix_is_made_again_without_a_server(played: tuple[Run, Experiment, list[str]]) -> None:
    """From the facts of the run; another pool in one class is refused."""
    run, experiment_, _ = played
    facts = run.manifest.workload
    again = recorded(facts, experiment_)
    assert again.facts == facts
    assert [one.name for one in again.classes] == ["talk", "work"]
    with pytest.raises(RunFolderError, match="is not what it was when the run began"):
        recorded(facts, experiment_.model_copy(update={"seed": 2}))
