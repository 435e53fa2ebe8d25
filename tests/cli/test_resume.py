"""Runs that are taken up again, and runs that are done once more."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadgen.records.run_folder import read_run
from tests.cli.conftest import API_KEY, Running, loadgen

pytestmark = pytest.mark.live

SHORT = ("--workload", "demo", "--time-budget", "1s", "--warmup", "0.5s")
"""Trials as short as they get."""
OPTIONS = (*SHORT, "-c", "1,2", "--rounds", "2")


def summary(folder: Path) -> dict[str, Any]:
    """The summary of a run."""
    document: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return document


def counted(folder: Path) -> list[tuple[int, str, int]]:
    """Round, variant and level of every trial that ran to its end, drift check left out."""
    return sorted((t.round, t.variant, t.level) for t in read_run(folder).trials if t.round > 0 and t.complete)


WHOLE = sorted((round_, variant, level) for round_ in (1, 2) for variant in ("off", "mtp-3") for level in (1, 2))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, command: list[str]) -> tuple[Path, tuple[str, ...], list[str]]:
    """A run killed (kill -9) in its third trial: folder, options, command."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run = Running("ab", *OPTIONS, "--out", str(folder), *command)
    run.until("2/9")
    run.process.kill()
    run.process.communicate()
    return folder, OPTIONS, command


def test_a_key_is_not_kept_so_the_command_is_needed_again(killed: tuple[Path, tuple[str, ...], list[str]]) -> None:
    """A run whose arguments held a key can't be resumed from its folder alone, and says what to give."""
    folder, _, _ = killed
    result = loadgen("sweep", "--resume", str(folder))
    assert result.code == 2
    assert "give the same command" in result.err
    assert API_KEY not in result.err + (folder / "manifest.json").read_text()


def test_a_run_is_resumed_only_as_the_same_experiment(killed: tuple[Path, tuple[str, ...], list[str]]) -> None:
    """Another workload or seed would mix two experiments: exit 2, naming what differs."""
    folder, options, command = killed
    result = loadgen("ab", *options, "--seed", "2", "--resume", str(folder), *command)
    assert result.code == 2
    assert "other values of seed" in result.err


def test_a_killed_run_is_finished(killed: tuple[Path, tuple[str, ...], list[str]]) -> None:
    """Only missing and torn trials are done, in the planned order, under names of their own; the run is then whole."""
    folder, options, command = killed
    planned = read_run(folder).plan
    first = [(t.trial, t.start_ns) for t in read_run(folder).trials]
    traces = {one.trial for one in read_run(folder).requests}
    result = loadgen("ab", *options, "--resume", str(folder), *command)
    assert "resuming: 2 of 9 trials are there" in result.err
    run = read_run(folder)
    assert [(t.trial, t.start_ns) for t in run.trials[: len(first)]] == first
    assert counted(folder) == WHOLE
    assert run.plan == planned
    assert planned is not None
    torn = planned.trials[2]
    assert [t.trial for t in run.trials if (t.round, t.variant, t.level) == (torn.round, torn.variant, torn.level)] == [
        f"{torn.trial}.2" if torn.trial in traces else torn.trial
    ]
    assert [t.order for t in run.trials[len(first) :]] == list(range(2, 9))
    assert [t.attempt for t in run.trials[len(first) + 1 :]] == [1] * 6
    document = summary(folder)
    assert (document["run"]["complete"], document["run"]["resumed"]) == (True, 1)
    assert "resumed" in result.out


def test_the_finished_run_is_not_run_again(killed: tuple[Path, tuple[str, ...], list[str]]) -> None:
    """Resuming a whole run reports it and measures nothing."""
    folder, options, command = killed
    trials = len(read_run(folder).trials)
    result = loadgen("ab", *options, "--resume", str(folder), *command)
    assert "nothing is missing" in result.err
    assert len(read_run(folder).trials) == trials
    assert summary(folder)["run"]["resumed"] == 1


def test_more_rounds_go_behind_the_planned_ones(killed: tuple[Path, tuple[str, ...], list[str]]) -> None:
    """--rounds adds rounds to a run and moves the drift check to the new end."""
    folder, _, command = killed
    options = [*SHORT, "-c", "1,2", "--rounds", "3"]
    loadgen("ab", *options, "--resume", str(folder), *command)
    assert counted(folder) == sorted(WHOLE + [(3, variant, level) for variant in ("off", "mtp-3") for level in (1, 2)])
    last = read_run(folder).trials[-1]
    assert last.drift
    assert last.trial.endswith(".2")


def test_an_interrupted_run_goes_on_where_it_was(
    tmp_path: Path, tiny_model: Path, running: Callable[..., Running]
) -> None:
    """After Ctrl-C the folder alone is enough, and a run being written is not written twice."""
    command = ["--", "embedded", "-m", str(tiny_model), "-np", "2", "-c", "2048", "-t", "1", "--poll", "0"]
    command += ["--spec-type", "draft-mtp", "--spec-synth-len", "3"]
    folder = tmp_path / "run"
    run = running("ab", *SHORT, "-c", "1", "--rounds", "2", "--out", str(folder), *command)
    run.until("1/5")
    busy = loadgen("sweep", "--resume", str(folder))
    assert busy.code == 2
    assert "another loadgen is writing" in busy.err
    run.process.send_signal(signal.SIGINT)
    stopped = run.finish()
    assert stopped.code == 130
    assert f"loadgen ab --resume {folder}" in stopped.err
    loadgen("sweep", "--resume", str(folder))
    assert counted(folder) == [(1, "mtp", 1), (1, "off", 1), (2, "mtp", 1), (2, "off", 1)]
    again = tmp_path / "again"
    loadgen("rerun", str(folder), "--out", str(again))
    first, second = read_run(folder), read_run(again)
    assert second.manifest.rerun_of == "run"
    assert first.plan is not None
    assert second.plan is not None
    assert second.plan.trials == first.plan.trials
    assert counted(again) == counted(folder)


def test_a_changed_workload_can_t_be_resumed(tmp_path: Path, tiny_model: Path, running: Callable[..., Running]) -> None:
    """A workload file that was edited meanwhile would mix two kinds of work: refused, naming the workload."""
    workload = tmp_path / "own.yaml"
    builtin = Path(__file__).parents[2] / "workloads" / "demo.yaml"
    workload.write_text(builtin.read_text())
    command = ["--", "embedded", "-m", str(tiny_model), "-np", "1", "-c", "1024", "-t", "1", "--poll", "0"]
    command += ["--spec-type", "draft-mtp", "--spec-synth-len", "3"]
    folder = tmp_path / "run"
    run = running(
        "ab", "--workload", str(workload), *SHORT[2:], "-c", "1", "--rounds", "2", "--out", str(folder), *command
    )
    run.until("1/5")
    run.process.send_signal(signal.SIGINT)
    run.finish()
    workload.write_text(builtin.read_text().replace("output: {tokens: 96", "output: {tokens: 64"))
    result = loadgen("sweep", "--resume", str(folder))
    assert result.code == 2
    assert "is not what it was when the run began" in result.err
