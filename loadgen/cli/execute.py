"""Run an experiment from the command line: progress, run folder, report, exit code."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.output_check import judge
from loadgen.analysis.summary import summarise
from loadgen.cli.audience import Audience
from loadgen.cli.live_metrics import LiveMetrics, Published
from loadgen.cli.progress import ProgressDisplay
from loadgen.cli.race_policy import RacePolicy
from loadgen.cli.until_known import Shown, UntilKnown
from loadgen.errors import LoadgenError, NoVerdictError, RunInterruptedError
from loadgen.experiment.model import Experiment
from loadgen.experiment.stop_policy import StopPolicy
from loadgen.records.output_check import OutputCheck
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter, read_run, write_summary
from loadgen.replay.ending import Ending
from loadgen.replay.sweep import Sweep
from loadgen.report.terminal import print_report

PLAIN_WIDTH = 128
"""Columns where stdout is no terminal: a pipe or a file has no width, and the table reads best in one piece."""


def execute(
    experiment: Experiment,
    out: Path,
    *,
    as_json: bool,
    random_weights: bool = False,
    next_step: str | None = None,
    policy: StopPolicy | None = None,
    command: str = "sweep",
    metrics: LiveMetrics | None = None,
) -> None:
    """Run `experiment` into the new folder `out` and report. See `carry_out`."""
    carry_out(
        experiment,
        RunWriter(out),
        as_json=as_json,
        random_weights=random_weights,
        next_step=next_step,
        policy=policy,
        command=command,
        metrics=metrics,
    )


def carry_out(
    experiment: Experiment,
    writer: RunWriter,
    *,
    as_json: bool,
    random_weights: bool = False,
    next_step: str | None = None,
    policy: StopPolicy | None = None,
    earlier: Run | None = None,
    repeats: Run | None = None,
    command: str = "sweep",
    metrics: LiveMetrics | None = None,
) -> None:
    """Run `experiment` into an open run folder and report.

    Args:
        experiment: what to run.
        writer: the run folder; it is closed here.
        as_json: print the summary as one JSON document.
        random_weights: the model's text is noise.
        next_step: printed below the report.
        policy: decides after preset rounds what is still measured; null: until it is known, and
            of a tuning run what its race says.
        earlier: the facts in this folder so far, where a run is resumed.
        repeats: a run whose plan is carried out again.
        command: the command whose `--resume` goes on with it.
        metrics: where the metrics of the run go; null: nowhere.

    Raises `RunInterruptedError` after Ctrl-C and `NoVerdictError` where an asked comparison (or, with one variant, the
    sweep) has no valid trials or an output check failed; the report is printed before.
    """
    out = writer.path
    chosen = policy if policy is not None else _policy(experiment, out)
    try:
        with ProgressDisplay(Console(stderr=True)) as display:
            display.note(f"run folder: {out}")
            audience = Audience(display, metrics.recorder if metrics is not None else None)
            looking = chosen
            if metrics is not None:
                metrics.open(display.note)
                looking = Published(chosen, out, audience)
            ending = asyncio.run(
                _run(
                    lambda interrupted: Sweep(
                        experiment,
                        writer,
                        audience,
                        interrupted,
                        random_weights=random_weights,
                        judge=_judge,
                        earlier=earlier,
                        repeats=repeats,
                        policy=Shown(looking, display, experiment.baseline) if repeats is None else None,
                        meter=audience if metrics is not None else None,
                    ),
                    display,
                )
            )
    finally:
        writer.close()
        _discard_if_empty(out)
    if not (out / "manifest.json").exists():
        raise RunInterruptedError("interrupted before anything was measured")
    summary = recompute(out)
    show(summary, as_json=as_json)
    if next_step and not as_json:
        stdout_console().print(f"\n{next_step}", highlight=False, markup=False, soft_wrap=True)
    if metrics is not None:
        metrics.finish(audience, summary, linger=ending.what != "interrupted")
    error = _error_of(ending, summary, f"loadgen {command} --resume {out}")
    if error is not None:
        raise error


def _policy(experiment: Experiment, folder: Path) -> StopPolicy:
    """What is still measured: of a tuning run, taken up again too, its race decides, of any other what is known."""
    return RacePolicy(experiment, folder) if experiment.tune is not None else UntilKnown(experiment, folder)


async def _run(sweep: Callable[[asyncio.Event], Sweep], display: ProgressDisplay) -> Ending:
    interrupted = asyncio.Event()

    def stop() -> None:
        if interrupted.is_set():
            # Asked twice: go now. Everything that ended is on disk, and the supervisors end our servers.
            os._exit(RunInterruptedError.exit_code)
        display.note("stopping: finishing what is being written (Ctrl-C again to leave at once)")
        interrupted.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    return await sweep(interrupted).run()


def _judge(check: OutputCheck, baseline: OutputCheck | None) -> str | None:
    """Why an output check failed; null when it didn't."""
    judgement = judge(check, baseline)
    return "; ".join(judgement.reasons) if judgement.result == "failed" else None


def _discard_if_empty(out: Path) -> None:
    """Remove a run folder in which nothing was measured and no server said anything."""
    measured = (out / "manifest.json").exists()
    if not measured and not any(log.stat().st_size for log in (out / "logs").glob("*")):
        shutil.rmtree(out, ignore_errors=True)


def recompute(folder: Path, facts: Run | None = None) -> dict[str, Any]:
    """Compute the summary of a run folder anew and store it there; `facts`: what was read of it, where it was."""
    summary = summarise(facts if facts is not None else read_run(folder))
    write_summary(folder, summary)
    return summary


def stdout_console() -> Console:
    """The console for reports: as wide as the terminal, or wide enough for the table."""
    return Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)


def show(summary: dict[str, Any], *, as_json: bool) -> None:
    """Print a summary to stdout: as one JSON document, or as the report."""
    if as_json:
        sys.stdout.write(json.dumps(summary, indent=1, allow_nan=False) + "\n")
        sys.stdout.flush()
    else:
        print_report(summary, stdout_console())


def _error_of(ending: Ending, summary: dict[str, Any], go_on: str) -> LoadgenError | None:
    if ending.what == "interrupted":
        return RunInterruptedError(f"interrupted; what was measured is kept. Go on with it: {go_on}")
    failed = [entry["variant"] for entry in summary["output_check"] if entry["result"] == "failed"]
    if failed:
        return NoVerdictError(f"the output check failed for {', '.join(failed)}; the reasons stand above")
    if ending.what in ("server_died", "gave_up"):
        return NoVerdictError(f"the run ended early: {ending.detail}")
    missing = unanswered(summary)
    if missing:
        return NoVerdictError(f"no valid trials for {', '.join(missing)}; the reasons stand above")
    return None


def unanswered(summary: dict[str, Any]) -> list[str]:
    """What was asked and has no valid pair of trials, or none at equal depth (with one variant, no valid trial).

    Of a tuning run that is the confirmation: candidates drop out of its race.
    """
    tuning = summary["tuning"]
    if tuning is not None and tuning["confirmed_rounds"]:
        return []
    if tuning is not None:
        return [f"{tuning['finalist'] or 'any candidate'} against {tuning['baseline']} at {tuning['agents']}"]
    comparisons = [one for one in summary["comparisons"] if one["metric"] == "tasks_per_hour"]
    if comparisons:
        return [
            f"{one['variant']} against {one['baseline']} at {_place(one)}"
            for one in comparisons
            if not one["rounds"] or one["not_comparable"]
        ]
    return [f"{cell['variant']} at {_place(cell)}" for cell in summary["cells"] if cell["valid_trials"] == 0]


def _place(entry: dict[str, Any]) -> str:
    return f"{entry['concurrency']}{deep(entry[ASKED])}"
