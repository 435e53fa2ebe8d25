"""`loadgen export`: a finished run for other programs."""

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TextIO

import typer

from loadgen.cli.option_values import seconds
from loadgen.errors import UsageError

EXAMPLES = (
    "Examples:\n\n- `loadgen export openmetrics runs/20260101-120000-ab -o run.om`, then "
    "`promtool tsdb create-blocks-from openmetrics run.om DATA`\n"
    "- `loadgen export csv runs/20260101-120000-ab --what cells -o cells.csv`"
)

app = typer.Typer(no_args_is_help=True, help="Write a finished run for Prometheus, or for a spreadsheet.")

Folder = Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.", show_default=False)]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="File to write; it is replaced.", show_default="stdout"),
]


class Rows(StrEnum):
    """What a row of the CSV is; the names of `loadgen.report.csv_rows.What`."""

    REQUESTS = "requests"
    TRIALS = "trials"
    CELLS = "cells"


@app.command()
def openmetrics(
    run: Folder,
    out: Out = None,
    step: Annotated[
        str | None,
        typer.Option(
            "--step",
            metavar="TIME",
            help="Time between two points.",
            show_default="1s to 60s, some 500 points in all",
        ),
    ] = None,
) -> None:
    """Write the run's metrics with the times at which they were so, for old runs to appear in Grafana.

    The same names and labels as `--metrics` serves. Busy slots and deferred requests are not recorded and are missing.
    Give the file to `promtool tsdb create-blocks-from openmetrics FILE DATA`, DATA being Prometheus' data folder.
    """
    from loadgen.analysis.summary import summarise
    from loadgen.metrics.openmetrics import openmetrics as lines
    from loadgen.records.run_folder import read_run

    step_s = seconds("--step", step) if step is not None else None
    if step_s is not None and step_s <= 0:
        raise UsageError("--step: points need some time between them")
    facts = read_run(run)
    _write(out, lines(facts, summarise(facts), step_s))


@app.command(name="csv")
def csv_(
    run: Folder,
    out: Out = None,
    what: Annotated[Rows, typer.Option("--what", help="What a row is.")] = Rows.REQUESTS,
) -> None:
    """Write requests, trials or cells as comma-separated values with one line of names. Not measured is empty."""
    from loadgen.analysis.summary import summarise
    from loadgen.records.run_folder import read_run
    from loadgen.report.csv_rows import What, rows

    facts = read_run(run)
    found = rows(What(what.value), facts, summarise(facts))
    with _opened(out) as file:
        writer = csv.DictWriter(file, list(found[0]) if found else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def _write(out: Path | None, lines: Iterable[str]) -> None:
    with _opened(out) as file:
        file.writelines(lines)


@contextmanager
def _opened(out: Path | None) -> Iterator[TextIO]:
    """Stdout, or a file that takes the place of an earlier one when it is whole. Raises `UsageError`."""
    if out is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    partial = out.with_name(f"{out.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            yield file
        partial.replace(out)
    except OSError as error:
        raise UsageError(f"{out} can't be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
