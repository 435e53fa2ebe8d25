"""`loadgen init`: an experiment file to change."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from loadgen.errors import ExperimentError

EXAMPLES = "Examples:\n\n- `loadgen init`\n- `loadgen init night.yaml && loadgen sweep night.yaml --dry-run`"


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")] = Path("experiment.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
) -> None:
    """Write a commented experiment file: every kind of variant, a matrix, set acceptance, overhead."""
    text = files("loadgen.experiment").joinpath("template.yaml").read_text(encoding="utf-8")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ExperimentError(f"{path} exists already; --force replaces it") from None
    except OSError as error:
        raise ExperimentError(f"can't write {path}: {error.strerror}") from None
    typer.echo(
        f"{path} is written; change it, look at it: loadgen sweep {path} --dry-run, run it: loadgen sweep {path}"
    )
