"""`loadgen rerun`: a whole run once more, exactly."""

from pathlib import Path
from typing import Annotated

import typer

from loadgen.cli.option_values import run_folder
from loadgen.cli.options import Json, Out

EXAMPLES = "Example:\n\n- `loadgen rerun runs/20261129-201500-ab`"


def rerun(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of the run to repeat.", show_default=False)],
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Do a run again exactly: the same servers, work, seeds, trial lengths and rounds, into a new run folder.

    Refused where the workload is not what it was. What then differs between the two is noise, or a machine, build or
    model that has changed: the report of each names its own.
    """
    from loadgen.cli.resume import repeat

    repeat(run, run_folder(out, "rerun"), as_json=as_json)
