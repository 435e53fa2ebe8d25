"""`loadgen memory`: what a llama-server command will take, from the headers of its models, without loading them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.errors import ExperimentError, UsageError

if TYPE_CHECKING:
    from loadgen.analysis.memory.document import Predicted
    from loadgen.analysis.memory.grid import Room
    from loadgen.experiment.serving import Serving
    from loadgen.footprint.served_models import Models
    from loadgen.records.model import Component

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen memory --budget 24GiB -- llama-server -m model.gguf -np 4 -c 32768 --spec-type draft-mtp`\n"
    "- `loadgen memory --slots 1,2,4,8 --n-max 0,3,7 --context 8192,32768 -- llama-server -m model-00001-of-00003.gguf "
    "--spec-type draft-mtp`\n"
    "- `loadgen memory --compare-log server.log -- llama-server -m model.gguf -np 4`"
)

_LIST = "LIST"
_MOST_NUMBERS = 64
_LOG_CHARACTERS = 1 << 24
"""Of a log, from its begin: buffers are printed while the server loads."""


def memory(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="-- COMMAND", help="Your llama-server command, with its model file.", show_default=False
        ),
    ],
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="SIZE", help="Memory that there is, such as 24GiB: marks what fits."),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            "--memory-margin",
            metavar="SIZE",
            help="Memory that is to stay free.",
            show_default="the larger of 1 GiB and 5 %",
        ),
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option("--slots", metavar=_LIST, help="Slots in the table.", show_default="1,2,4,8 and the command's"),
    ] = None,
    n_max: Annotated[
        str | None,
        typer.Option(
            "--n-max",
            metavar=_LIST,
            help="Draft tokens in the table; 0 is no speculation.",
            show_default="0,1,3,7 and the command's",
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(
            "--context", metavar=_LIST, help="Tokens of context a slot, one table each.", show_default="the command's"
        ),
    ] = None,
    compare_log: Annotated[
        Path | None,
        typer.Option(
            "--compare-log",
            metavar="FILE",
            help="Load log (-lv 4) of a server started with the command: what it says beside what is predicted. "
            "Estimates in the table are then fitted to it.",
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the arithmetic of every component.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Predict the memory of a llama-server command from the headers of its GGUF files, without loading them.

    Model, KV, recurrent state and their like are exact; compute buffers are estimated, unless a log says.
    """
    from loadgen.analysis.memory.check import check, fit
    from loadgen.analysis.memory.document import Predicted
    from loadgen.analysis.memory.grid import axes, grid
    from loadgen.analysis.memory.notes import notes
    from loadgen.experiment.command import Command
    from loadgen.experiment.pasted import variant_from_command
    from loadgen.experiment.serving import serving_of
    from loadgen.footprint.prediction import predict

    variant = variant_from_command(command)
    serving = serving_of(Command(variant.program, variant.args, variant.env))
    room = _room(budget, margin)
    ledger = _ledger(compare_log) if compare_log is not None else []
    models, remarks = _models(serving)
    prediction = predict(models, serving)
    fitted = fit(prediction, ledger)
    lengths = _numbers("--n-max", n_max, 0)
    if not serving.drafts and any(lengths or ()):
        raise ExperimentError("--n-max needs speculation in the command: add --spec-type, for example draft-mtp.")
    varied = axes(
        models,
        serving,
        _numbers("--slots", slots, 1),
        lengths,
        _numbers("--context", context, 1),
    )
    _show(
        Predicted(
            variant=variant.name,
            prediction=predict(models, serving, fitted),
            room=room,
            varied=varied,
            cells=grid(models, serving, varied, room, fitted),
            notes=[*remarks, *notes(models, serving, prediction)],
            checks=check(prediction, ledger) if ledger else (),
        ),
        explain=explain,
        as_json=as_json,
    )


def _room(budget: str | None, margin: str | None) -> "Room":
    from loadgen.analysis.memory.grid import Room

    return Room(_size("--budget", budget), _size("--memory-margin", margin))


def _size(option: str, text: str | None) -> int | None:
    from loadgen.units import parse_size

    if text is None:
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        raise ExperimentError(f"{option}: {error}") from None


def _numbers(option: str, text: str | None, least: int) -> tuple[int, ...] | None:
    """Whole numbers of a list, each once. Raises `ExperimentError` naming the option."""
    if text is None:
        return None
    parts = text.replace(" ", "").split(",")
    # Nine digits are more than any context; thousands of columns are a typing error.
    if len(parts) > _MOST_NUMBERS or not all(part.isascii() and part.isdecimal() and len(part) <= 9 for part in parts):  # noqa: PLR2004
        raise ExperimentError(f"{option} {text}: write up to {_MOST_NUMBERS} whole numbers, such as 1,2,4")
    numbers = tuple(sorted({int(part) for part in parts}))
    if numbers[0] < least:
        raise ExperimentError(f"{option} {text}: the least is {least}")
    return numbers


def _models(serving: "Serving") -> "tuple[Models, list[str]]":
    """The models, and what is to be said of their files."""
    from loadgen.footprint.served_models import Models
    from loadgen.gguf.architecture import read_architecture
    from loadgen.gguf.model_file import read_model

    files = [read_model(Path(path)) for path in (serving.model, serving.draft_model) if path is not None]
    remarks = [remark for file in files for remark in file.remarks()]
    found = [read_architecture(file) for file in files]
    return Models(found[0], found[1] if len(found) > 1 else None), remarks


def _ledger(path: Path) -> "list[Component]":
    from loadgen.servers.loadlog import read_ledger

    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            ledger = read_ledger(file.read(_LOG_CHARACTERS))
    except (OSError, ValueError) as error:
        raise UsageError(f"can't read --compare-log {path}: {getattr(error, 'strerror', None) or error}") from error
    if not ledger:
        raise UsageError(
            f"--compare-log {path} says nothing of memory: llama-server prints its buffers while it loads, at -lv 4."
        )
    return ledger


def _show(predicted: "Predicted", *, explain: bool, as_json: bool) -> None:
    import json

    if as_json:
        from loadgen.analysis.memory.document import document

        typer.echo(json.dumps(document(predicted), indent=1))
        return
    from rich.console import Console

    from loadgen.report.memory_prediction import print_prediction

    print_prediction(predicted, Console(highlight=False), explain=explain)
