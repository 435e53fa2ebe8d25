"""Run an experiment from the command line: progress, run folder, report, exit code."""

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from loadgen.analysis.summary import summarise
from loadgen.cli.progress import ProgressDisplay
from loadgen.errors import LoadgenError, NoVerdictError, RunInterruptedError
from loadgen.experiment.model import Experiment
from loadgen.records.run_folder import RunWriter, read_run, write_summary
from loadgen.replay.sweep import Ending, Sweep
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
) -> None:
    """Run `experiment` into the folder `out` and report.

    `next_step` is printed below the report. Raises `RunInterruptedError` after Ctrl-C and `NoVerdictError` where an
    asked comparison (or, with one variant, the sweep) has no valid trials; the report is printed before.
    """
    progress = Console(stderr=True)
    writer = RunWriter(out)
    try:
        with ProgressDisplay(progress) as display:
            display.note(f"run folder: {out}")
            ending = asyncio.run(_run(experiment, writer, display, random_weights=random_weights))
    finally:
        writer.close()
        _discard_if_empty(out)
    if not (out / "manifest.json").exists():
        raise RunInterruptedError("interrupted before anything was measured")
    summary = recompute(out)
    show(summary, as_json=as_json)
    if next_step and not as_json:
        stdout_console().print(f"\n{next_step}", highlight=False, markup=False, soft_wrap=True)
    _raise_for(ending, summary, out)


async def _run(experiment: Experiment, writer: RunWriter, display: ProgressDisplay, *, random_weights: bool) -> Ending:
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
    return await Sweep(experiment, writer, display, interrupted, random_weights=random_weights).run()


def _discard_if_empty(out: Path) -> None:
    """Remove a run folder in which nothing was measured and no server said anything."""
    measured = (out / "manifest.json").exists()
    if not measured and not any(log.stat().st_size for log in (out / "logs").glob("*")):
        shutil.rmtree(out, ignore_errors=True)


def recompute(folder: Path) -> dict[str, Any]:
    """Compute the summary of a run folder anew and store it there."""
    summary = summarise(read_run(folder))
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


def _raise_for(ending: Ending, summary: dict[str, Any], out: Path) -> None:
    error = _error_of(ending, summary, out)
    if error is not None:
        raise error


def _error_of(ending: Ending, summary: dict[str, Any], out: Path) -> LoadgenError | None:
    if ending.what == "interrupted":
        return RunInterruptedError(f"interrupted; what was measured is in {out}")
    if ending.what in ("server_died", "gave_up"):
        return NoVerdictError(f"the run ended early: {ending.detail}")
    missing = unanswered(summary)
    if missing:
        return NoVerdictError(f"no valid trials for {', '.join(missing)}; the reasons stand above")
    return None


def unanswered(summary: dict[str, Any]) -> list[str]:
    """What was asked and has no valid pair of trials (or, with one variant, no valid trial)."""
    comparisons = [one for one in summary["comparisons"] if one["metric"] == "tasks_per_hour"]
    if comparisons:
        return [
            f"{one['variant']} against {one['baseline']} at {one['concurrency']}"
            for one in comparisons
            if not one["rounds"]
        ]
    return [f"{cell['variant']} at {cell['concurrency']}" for cell in summary["cells"] if cell["valid_trials"] == 0]
