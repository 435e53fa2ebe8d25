"""What `ab` and `sweep` do with an experiment: describe it, go on with a run of it, or run it."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadgen.cli.option_values import run_folder
from loadgen.cli.shared import Shared
from loadgen.errors import ExperimentError

if TYPE_CHECKING:
    from loadgen.experiment.model import Experiment

_PLAYED = ("workload", "mix")
"""Two ways to say what is played."""
_METRICS = frozenset({"metrics", "metrics_linger", "push_gateway", "metrics_textfile"})
_RESUMABLE = frozenset({"rounds", "time_budget", "as_json", "resume"}) | _METRICS
"""What may be given beside `--resume` without saying again what is run."""


def build(fields: Mapping[str, Any], shared: Shared, defaults: Mapping[str, Any]) -> "Experiment":
    """The experiment of `fields`, with what was given over them and `defaults` below them."""
    from loadgen.experiment.build import experiment
    from loadgen.experiment.server_log import with_server_logs

    variants, given = with_server_logs(fields["variants"], shared.server_log or ()), shared.given()
    if any(name in given for name in _PLAYED):
        # What is given in the place of the other goes over it too.
        fields = {name: value for name, value in fields.items() if name not in _PLAYED}
    return experiment(**{**defaults, **fields, **given, "variants": variants})


def start(
    asked: "Experiment", shared: Shared, name: str, *, command: str = "sweep", next_step: str | None = None
) -> None:
    """Run the experiment, or go on with a run of it, or with `--dry-run` describe it.

    `name` ends the run folder's; `command` is the one whose `--resume` goes on with it.
    """
    from loadgen.cli.live_metrics import live_metrics

    metrics = live_metrics(shared)
    if shared.dry_run:
        from loadgen.cli.plan import describe

        describe(asked, as_json=shared.as_json)
        return
    if shared.resume is not None:
        _resume(shared.resume, asked, shared, command)
        return
    from loadgen.cli.execute import execute

    with metrics if metrics is not None else contextlib.nullcontext():
        execute(
            asked,
            run_folder(shared.out, name),
            as_json=shared.as_json,
            next_step=next_step,
            command=command,
            metrics=metrics,
        )


def resume_as_recorded(shared: Shared, command: str = "sweep") -> None:
    """Go on with the run in the folder of `--resume`, as the folder has it.

    Raises `ExperimentError` where an option is given that would be another experiment.
    """
    if shared.resume is None:
        raise ExperimentError("--resume names the folder of a run")
    others = sorted(shared.typed - _RESUMABLE)
    if others:
        option = others[0].replace("_", "-")
        raise ExperimentError(
            f"--{option} beside --resume: a run goes on as it was recorded, with --rounds and --time-budget at most"
        )
    _resume(shared.resume, None, shared, command)


def _resume(folder: Path, asked: "Experiment | None", shared: Shared, command: str) -> None:
    from loadgen.cli.resume import resume

    if shared.out is not None and "out" in shared.typed:
        raise ExperimentError("--out beside --resume: a run goes on in its own folder")
    from loadgen.cli.live_metrics import live_metrics

    given, metrics = shared.given(), live_metrics(shared)
    with metrics if metrics is not None else contextlib.nullcontext():
        resume(
            folder,
            asked,
            as_json=shared.as_json,
            rounds=given.get("rounds"),
            time_budget_s=given.get("time_budget_s"),
            command=command,
            metrics=metrics,
        )
