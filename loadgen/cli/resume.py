"""Taking a run up again where it ended, and doing a whole run once more."""

from pathlib import Path
from typing import Any

import typer

from loadgen.cli.execute import carry_out, recompute, show
from loadgen.cli.live_metrics import LiveMetrics
from loadgen.errors import RunFolderError
from loadgen.experiment.build import experiment, published
from loadgen.experiment.llama_flags import MASK
from loadgen.experiment.model import Experiment
from loadgen.records.looks import closed_cells, measured_cells
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run
from loadgen.replay.plan import remaining

_FREE = ("rounds", "time_budget_s", "at_least", "fail_on", "series")
"""How long a run may be, how it is judged and called, is no part of what it measures: a resumed run may get others."""


def resume(
    folder: Path,
    asked: Experiment | None,
    *,
    as_json: bool,
    rounds: int | None = None,
    time_budget_s: float | None = None,
    command: str = "sweep",
    metrics: LiveMetrics | None = None,
) -> None:
    """Go on with the run in `folder`: trials that are missing or incomplete, with the same seeds in the same order.

    Args:
        folder: the run folder.
        asked: the experiment as given on the command line now; null: as the folder has it.
        as_json: print the summary as JSON.
        rounds: more rounds than the run had planned: for what no look at the results found known, and without looks.
        time_budget_s: another time budget for the whole run, what it took before included.
        command: the command whose `--resume` this is.
        metrics: where the metrics of the run go; null: nowhere.

    A run from which nothing is missing is reported as it is. Raises `RunFolderError` where the folder is none, or the
    run is another experiment.
    """
    earlier = read_run(folder)
    chosen = _same(earlier, asked) if asked is not None else _recorded(earlier)
    kept = experiment(**earlier.manifest.experiment)
    changes = {"rounds": rounds or kept.rounds, "time_budget_s": time_budget_s or kept.time_budget_s}
    done = _why_done(earlier, rounds)
    if done is not None:
        typer.echo(done, err=True)
        show(recompute(folder), as_json=as_json)
        return
    carry_out(
        chosen.model_copy(update=changes),
        RunWriter.resume(folder),
        as_json=as_json,
        random_weights=earlier.manifest.random_weights,
        earlier=earlier,
        command=command,
        metrics=metrics,
    )


def repeat(folder: Path, out: Path, *, as_json: bool) -> None:
    """Carry out the plan of the run in `folder` again, into the new folder `out`.

    Raises `RunFolderError` where the run has no plan, lacks secrets, or its workload has changed.
    """
    earlier = read_run(folder)
    if earlier.plan is None:
        raise RunFolderError(f"{folder} ended before its trials were planned; there is nothing to repeat")
    carry_out(
        _recorded(earlier),
        RunWriter(out),
        as_json=as_json,
        random_weights=earlier.manifest.random_weights,
        repeats=earlier,
    )


def _why_done(run: Run, rounds: int | None) -> str | None:
    """Why nothing is left to do: no planned trial is missing or incomplete, or everything is known; null otherwise."""
    if run.plan is None:
        return None
    cells = measured_cells(run.plan.trials, str(run.manifest.experiment["baseline"]), closed_cells(run.journal))
    if remaining(run.plan, run.trials, {trial.trial for trial in run.trials}, cells):
        return None
    if not cells:
        return "nothing is missing from this run: everything asked is known; only a new run measures more of it"
    if rounds is not None and rounds > run.plan.rounds:
        return None
    return "nothing is missing from this run; --rounds N adds rounds"


def _recorded(run: Run) -> Experiment:
    """The experiment as the manifest has it. Raises `RunFolderError` where secrets are missing from it."""
    asked = run.manifest.experiment
    if _masked(asked["variants"]) or _masked(asked.get("body")) or MASK in (asked.get("memory_source") or ""):
        raise RunFolderError(
            "the run's arguments held keys, which are not kept: give the same command or experiment file again, "
            "with --resume and the run folder"
        )
    return experiment(**run.manifest.experiment)


def _masked(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_masked(member) for member in value.values())
    if isinstance(value, list):
        return any(_masked(member) for member in value)
    return isinstance(value, str) and (value == MASK or value.endswith(f"={MASK}"))


def _same(run: Run, asked: Experiment) -> Experiment:
    """The experiment that was asked for, if it is that of the run. Raises `RunFolderError` that names what differs."""
    ours, theirs = published(asked), published(experiment(**run.manifest.experiment))
    different = [name for name in ours if name not in _FREE and ours[name] != theirs.get(name)]
    if different:
        raise RunFolderError(
            f"the run was made with other values of {', '.join(different)}; resume it with the same command, or with "
            "--resume alone, or start a new run"
        )
    return asked
