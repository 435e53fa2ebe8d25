"""Runs, written to a folder as loadgen writes them."""

from pathlib import Path

from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter


def written(path: Path, run: Run) -> Path:
    """The folder, new, with all facts of the run but its token events."""
    writer = RunWriter(path)
    writer.manifest(run.manifest)
    if run.plan is not None:
        writer.plan(run.plan)
    for start in run.starts:
        writer.start(start)
    for trial in run.trials:
        writer.trial(trial)
    for request in run.requests:
        writer.request(request, [])
    for check in run.checks:
        writer.check(check)
    for entry in run.journal:
        writer.journal(entry)
    writer.close()
    return path
