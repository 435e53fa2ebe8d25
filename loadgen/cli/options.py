"""Options that several commands share, and how their text becomes an experiment."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from loadgen.errors import ExperimentError
from loadgen.units import parse_duration_s

MAX_LEVEL = 4096
"""Far above what one llama-server serves; a typing error such as 1..100000 would plan for days."""

Concurrency = Annotated[
    str,
    typer.Option(
        "--concurrency", "-c", metavar="LIST", help="Agents at work at once: a list or a range, such as 1,2,4 or 1..8."
    ),
]
WorkloadName = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="NAME|FILE",
        help="What the agents do: a built-in name or a YAML file.",
        show_default="the largest that fits a slot",
    ),
]
TimeBudget = Annotated[
    str, typer.Option("--time-budget", metavar="TIME", help="Time for the whole run, such as 90s, 15m or 1h30m.")
]
Rounds = Annotated[
    int | None, typer.Option("--rounds", min=1, help="Rounds to run.", show_default="as many as fit the time budget")
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Cap on the output tokens of a turn.")]
Body = Annotated[
    list[str] | None,
    typer.Option(
        "--body",
        metavar="KEY=VALUE",
        help="Extra field of every request, JSON or text; repeatable. By default no sampling fields are sent.",
    ),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Run folder to write.", show_default="runs/TIME-NAME")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document (loadgen-summary/1) to stdout; progress to stderr.")
]
ApiKeyEnv = Annotated[
    str | None, typer.Option("--api-key-env", metavar="NAME", help="Environment variable that holds the API key.")
]
CaFile = Annotated[
    Path | None, typer.Option("--ca", metavar="FILE", help="Certificate authority to trust for https targets.")
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Don't check the certificate of https targets.")]
Wait = Annotated[str, typer.Option("--wait", metavar="TIME", help="How long to wait for a server that still loads.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be run, and run nothing.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything that is drawn: the same seed is the same work.")]
MinEffect = Annotated[
    float, typer.Option("--min-effect", min=0.001, max=0.99, help="Smallest difference worth acting on (a share).")
]
RequestRate = Annotated[
    float | None,
    typer.Option("--max-request-rate", min=0.01, help="Safety ceiling in requests a second over all agents."),
]

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def parse_levels(text: str) -> tuple[int, ...]:
    """Concurrency levels in `1,2,4`, `1..8` or `1..4,8`, ascending and each once.

    Raises `ExperimentError` where the text holds anything else, or a level below 1.
    """
    levels: set[int] = set()
    for part in text.replace(" ", "").split(","):
        span = _RANGE.fullmatch(part)
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if first > last:
                raise ExperimentError(f"--concurrency {text}: the range {part} runs backwards")
            if last > MAX_LEVEL:
                raise ExperimentError(f"--concurrency {text}: more than {MAX_LEVEL} agents can't be run")
            levels.update(range(first, last + 1))
        elif part.isdecimal():
            levels.add(int(part))
        else:
            raise ExperimentError(f"--concurrency {text}: {part!r} is no number; write a list or range such as 1,2,4")
    if min(levels) < 1:
        raise ExperimentError(f"--concurrency {text}: concurrency counts agents and starts at 1")
    if max(levels) > MAX_LEVEL:
        raise ExperimentError(f"--concurrency {text}: more than {MAX_LEVEL} agents can't be run")
    return tuple(sorted(levels))


def parse_body(fields: list[str] | None) -> dict[str, Any]:
    """Extra request fields in `key=value` texts; a value that is JSON is taken as such, any other as text."""
    body: dict[str, Any] = {}
    for field in fields or []:
        key, equals, value = field.partition("=")
        if not equals or not key:
            raise ExperimentError(f"--body {field!r} is not KEY=VALUE, such as temperature=0.6")
        if key in {"messages", "stream", "stream_options", "max_tokens", "model"}:
            raise ExperimentError(f"--body {key}=… would break the measurement: loadgen sets that field itself")
        try:
            body[key] = json.loads(value)
        except ValueError:
            body[key] = value
    return body


def seconds(option: str, text: str) -> float:
    """The duration in an option's text, in seconds. Raises `ExperimentError` naming the option."""
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise ExperimentError(f"{option}: {error}") from None


def run_folder(out: Path | None, name: str) -> Path:
    """The run folder to write: as asked for, or `runs/TIME-NAME`."""
    if out is not None:
        return out
    return Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
