"""`loadgen sweep`: an experiment file, or running servers, over concurrencies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadgen.cli.options import SERVERS
from loadgen.cli.shared import Shared, shares_options
from loadgen.cli.start import build, resume_as_recorded, start
from loadgen.errors import ExperimentError

if TYPE_CHECKING:
    from loadgen.experiment.document import ExperimentDocument

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen sweep experiment.yaml` (`loadgen init` writes one)\n"
    "- `loadgen sweep experiment.yaml -c 1..4 --time-budget 2h --dry-run`\n"
    "- `loadgen sweep http://127.0.0.1:8080 -c 1,2,4,8`\n"
    "- `loadgen sweep --variant off=http://127.0.0.1:8080 --variant mtp=http://127.0.0.1:8081`\n"
    "- `loadgen sweep --resume runs/20260101-120000-sweep`\n\n"
    "Each option also reads a variable: `LOADGEN_TIME_BUDGET=2h` is `--time-budget 2h`. An option goes before its "
    "variable (`LOADGEN_CORESIDENT=0` takes one back), a variable before the file, the file before the default."
)
LEVELS = (1, 2, 4, 8)
LEVELS_TEXT = "1,2,4,8"
DEFAULTS = {"levels": LEVELS, "time_budget_s": 900.0, "wait_s": 120.0}
FILE_DEFAULTS = {**DEFAULTS, "wait_s": 600.0}
"""A file's servers are mostly started by us: a large model loads for minutes."""
_SUFFIXES = (".yaml", ".yml")


@shares_options(concurrency=LEVELS_TEXT, wait="2m; 10m with a file")
def sweep(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="URL|FILE", help="Address of a running server, or an experiment file.", show_default=False
        ),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant",
            metavar="NAME=URL",
            rich_help_panel=SERVERS,
            help="A running server by name; repeatable. The first is the baseline.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            rich_help_panel=SERVERS,
            help="Model name to send.",
            show_default="the first that the server lists",
        ),
    ] = None,
    *,
    shared: Shared,
) -> None:
    """Run an experiment file, measure a server that runs already, or compare several.

    One server is one variant: its sweep shows how tasks per hour and waiting grow with the agents, not what
    speculation does. The `ab` command for that is printed at the end.
    """
    if target is None and not variant and model is None and shared.resume is not None:
        resume_as_recorded(shared)
        return
    if target is not None and is_file(target):
        if variant or model is not None:
            raise ExperimentError("--variant and --model go with addresses; write them into the file")
        document = _read(Path(target))
        start(build(document.fields, shared, FILE_DEFAULTS), shared, document.path.stem)
        return
    variants = url_variants(target, variant or [], model)
    asked = build({"variants": variants, "baseline": variants[0]["name"]}, shared, DEFAULTS)
    step = None
    if target is not None and not shared.dry_run and shared.resume is None:
        from loadgen.cli.next_command import suggest

        step = suggest(target, shared.concurrency or LEVELS_TEXT)
    start(asked, shared, "sweep", next_step=step)


def is_file(target: str) -> bool:
    """Whether a target is an experiment file, there or not, rather than an address."""
    if "://" in target:
        return False
    return target.endswith(_SUFFIXES) or Path(target).exists()


def _read(path: Path) -> "ExperimentDocument":
    from loadgen.experiment.document import read_experiment

    if path.is_dir():
        raise ExperimentError(f"{path} is a folder; to go on with the run in it: loadgen sweep --resume {path}")
    document = read_experiment(path)
    for note in document.notes:
        typer.echo(f"note: {note}", err=True)
    return document


def url_variants(url: str | None, named: list[str], model: str | None) -> list[dict[str, Any]]:
    """The variants that the arguments name, the baseline first. Raises `ExperimentError` where they name none."""
    if (url is None) == (not named):
        raise ExperimentError(
            "name a server: loadgen sweep URL, or --variant NAME=URL for each of several; or an experiment file"
        )
    if url is not None:
        return [{"kind": "url", "name": "server", "url": url, "model": model}]
    variants: list[dict[str, Any]] = []
    for text in named:
        name, equals, address = text.partition("=")
        if not equals or not name or not address:
            raise ExperimentError(f"--variant {text!r} is not NAME=URL, such as off=http://127.0.0.1:8080")
        variants.append({"kind": "url", "name": name, "url": address, "model": model})
    return variants
