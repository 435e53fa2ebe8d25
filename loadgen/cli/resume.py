"""Taking a run up again where it ended, and doing a whole run once more."""

from pathlib import Path
from typing import Any

from loadgen.cli.execute import carry_out
from loadgen.errors import RunFolderError
from loadgen.experiment.build import experiment, published
from loadgen.experiment.llama_flags import MASK
from loadgen.experiment.model import Experiment
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run

_LENGTH = ("rounds", "time_budget_s")
"""How long a run may be is no part of what it measures: a resumed run may get more."""


def resume(
    folder: Path,
    asked: Experiment | None,
    *,
    as_json: bool,
    rounds: int | None = None,
    time_budget_s: float | None = None,
) -> None:
    """Go on with the run in `folder`: trials that are missing or incomplete, with the same seeds in the same order.

    Args:
        folder: the run folder.
        asked: the experiment as given on the command line now; null: as the folder has it.
        as_json: print the summary as JSON.
        rounds: more rounds than the run had planned.
        time_budget_s: another time budget for the whole run, what it took before included.

    Raises `RunFolderError` where the folder is none, is whole already, or belongs to another experiment.
    """
    earlier = read_run(folder)
    chosen = _same(earlier, asked) if asked is not None else _recorded(earlier)
    if asked is not None:
        rounds, time_budget_s = asked.rounds, asked.time_budget_s
    changes = {"rounds": rounds or chosen.rounds, "time_budget_s": time_budget_s or chosen.time_budget_s}
    carry_out(
        chosen.model_copy(update=changes),
        RunWriter.resume(folder),
        as_json=as_json,
        random_weights=earlier.manifest.random_weights,
        earlier=earlier,
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


def _recorded(run: Run) -> Experiment:
    """The experiment as the manifest has it. Raises `RunFolderError` where secrets are missing from it."""
    if _masked(run.manifest.experiment["variants"]) or _masked(run.manifest.experiment.get("body")):
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
    different = [name for name in ours if name not in _LENGTH and ours[name] != theirs.get(name)]
    if different:
        raise RunFolderError(
            f"the run was made with other values of {', '.join(different)}; resume it with the same command, or with "
            "--resume alone, or start a new run"
        )
    return asked
