"""Options that several commands share, each declared once, and how their text becomes an experiment."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loadgen.errors import ExperimentError
from loadgen.experiment import levels
from loadgen.units import parse_duration_s, parse_size

if TYPE_CHECKING:
    from loadgen.experiment.slo import Slo

LOAD = "What is run"
COMPARISON = "What is compared, and how strictly"
SERVERS = "How the servers are reached and started"
MEMORY = "Memory and power"
OUTPUT = "What is written and printed"
"""Panels of `--help`."""


class CheckOutput(StrEnum):
    """How closely answers are looked at before anything is measured."""

    ON = "on"
    OFF = "off"
    FULL = "full"


class History(StrEnum):
    """Whose answers go back into prompts."""

    RECORDED = "recorded"
    LIVE = "live"


class ContextFull(StrEnum):
    """What becomes of a workload that doesn't fit."""

    REFUSE = "refuse"
    FINISH = "finish"


class Field(StrEnum):
    """What may differ between servers; the names of `loadgen.experiment.model.Difference`."""

    MODEL = "model"
    SLOTS = "slots"
    CONTEXT_PER_SLOT = "context_per_slot"
    CACHE = "cache"
    SAMPLING = "sampling"
    CHAT_TEMPLATE = "chat_template"
    KV = "kv"
    DEVICE = "device"
    THREADS = "threads"
    BATCH = "batch"
    BUILD = "build"


def _option(*names: str, panel: str, **how: Any) -> Any:
    """An option that also reads the environment variable of its long name: `LOADGEN_TIME_BUDGET`."""
    name = names[0].partition("/")[0].removeprefix("--").replace("-", "_").upper()
    return typer.Option(*names, envvar=f"LOADGEN_{name}", show_envvar=False, rich_help_panel=panel, **how)


CONCURRENCY = _option(
    "--concurrency",
    "-c",
    panel=LOAD,
    metavar="LIST",
    help="Agents at work at once: a list or a range, such as 1,2,4 or 1..8.",
)
WORKLOAD = _option(
    "--workload",
    panel=LOAD,
    metavar="NAME|FILE",
    help="What the agents do: a built-in name, a YAML file, or recorded sessions (.json, .jsonl, .gz, .zst).",
    show_default="the largest that fits a slot",
)
HISTORY = _option(
    "--history",
    panel=LOAD,
    help="Whose answers go back into prompts: the workload's own, or those that the model just gave.",
    show_default="the workload's; recorded for sessions from a file",
)
TOOL_TIME_CAP = _option(
    "--tool-time-cap", panel=LOAD, metavar="TIME", help="Longest wait for a tool.", show_default="none"
)
TIME_SCALE = _option("--time-scale", panel=LOAD, min=0.0, help="Factor on every wait; 0: no waits.")
CONTEXT_FULL = _option(
    "--context-full",
    panel=LOAD,
    help="Of a workload that doesn't fit a slot's context: refuse it, or finish sessions before the turn that doesn't "
    "fit and tell the share.",
)
TIME_BUDGET = _option(
    "--time-budget", panel=LOAD, metavar="TIME", help="Time for the whole run, such as 90s, 15m or 1h30m."
)
WARMUP = _option(
    "--warmup",
    panel=LOAD,
    metavar="TIME",
    help="How long agents play before a trial measures, at least; each plays a whole turn besides.",
)
ROUNDS = _option("--rounds", panel=LOAD, min=1, help="Rounds to run.", show_default="as many as fit the time budget")
MAX_TOKENS = _option(
    "--max-tokens", panel=LOAD, min=1, help="Cap on the output tokens of a turn.", show_default="the workload's"
)
BODY = _option(
    "--body",
    panel=LOAD,
    metavar="KEY=VALUE",
    help="Extra field of every request, JSON or text; repeatable. By default no sampling fields are sent.",
)
SEED = _option("--seed", panel=LOAD, help="Seed of everything that is drawn: the same seed is the same work.")
REQUEST_RATE = _option(
    "--max-request-rate", panel=LOAD, min=0.01, help="Safety ceiling in requests a second over all agents."
)
MIN_EFFECT = _option(
    "--min-effect", panel=COMPARISON, min=0.001, max=0.99, help="Smallest difference worth acting on (a share)."
)
AGENTS = _option(
    "--agents",
    panel=COMPARISON,
    min=1,
    metavar="N",
    help="Decide for N agents: what to run, what it gains or loses, what it takes. N is measured too.",
    show_default="no single answer",
)
SLO = _option(
    "--slo",
    panel=COMPARISON,
    metavar="LIMITS",
    help="What requests and tasks must keep, such as ttft=2s,tpot=80ms,task=10m,attainment=95% (also step-gap, "
    "request).",
)
STOP = _option(
    "--stop-when-known/--all-rounds",
    panel=COMPARISON,
    help="Look at the results after preset rounds, and measure no further what is settled. With --rounds: all rounds.",
    show_default="stop when known",
)
PRECISION = _option(
    "--precision",
    panel=COMPARISON,
    min=0.001,
    max=0.99,
    help="A comparison whose interval is this narrow (half its width, a share) is known too.",
)
ADD_LEVELS = _option(
    "--add-levels/--no-add-levels",
    panel=LOAD,
    help="Where time allows, also measure both sides of a width at which kernels switch.",
    show_default="add",
)
ALLOW_DIFFERENT = _option(
    "--allow-different",
    panel=COMPARISON,
    metavar="FIELD",
    help="A difference between servers, beside speculation, that may stay and would else stop the run; repeatable: "
    + ", ".join(Field)
    + ".",
)
CHECK_OUTPUT = _option(
    "--check-output",
    panel=COMPARISON,
    help="Before measuring, look whether answers keep to their own session and acceptance is alike across slots; "
    "full: also whether a variant changes greedy answers.",
    show_default="on",
)
DRIFT_CHECK = _option(
    "--drift-check/--no-drift-check",
    panel=COMPARISON,
    help="Repeat the first trial at the end, to see whether the machine changed.",
    show_default="on",
)
WAIT = _option("--wait", panel=SERVERS, metavar="TIME", help="How long to wait for a server that still loads.")
RESTART_PER_LEVEL = _option(
    "--restart-per-level",
    panel=SERVERS,
    help="Start launched servers anew at every level, and alternate variants there.",
)
CORESIDENT = _option(
    "--coresident",
    panel=SERVERS,
    help="Keep launched servers up side by side: they share the device, and all must fit its memory.",
)
API_KEY_ENV = _option(
    "--api-key-env", panel=SERVERS, metavar="NAME", help="Environment variable that holds the API key."
)
CA = _option("--ca", panel=SERVERS, metavar="FILE", help="Certificate authority to trust for https targets.")
INSECURE = _option(
    "--insecure",
    panel=SERVERS,
    help="Don't check the certificate of https targets.",
)
MEMORY_SOURCE = _option(
    "--memory-source",
    panel=MEMORY,
    metavar="SOURCE",
    help="Where memory and power are read while the run goes on: auto, none, process, nvidia, amd, apple, an "
    "exporter's address such as http://HOST:9400/metrics (with #METRIC=MiB for a metric of your own), or "
    "command:PROGRAM ARGUMENTS, which prints bytes (no shell).",
    show_default="auto",
)
MEMORY_BUDGET = _option(
    "--memory-budget",
    panel=MEMORY,
    metavar="SIZE",
    help="Memory that a server may take, such as 24GiB.",
    show_default="what the device has",
)
MEMORY_MARGIN = _option(
    "--memory-margin",
    panel=MEMORY,
    metavar="SIZE",
    help="Memory to keep free of the budget: variants that leave less are unsafe.",
    show_default="the larger of 1GiB and 5 %",
)
SERVER_LOG = _option(
    "--server-log",
    panel=MEMORY,
    metavar="[NAME=]LOG",
    help="Log of a server that loadgen does not start, where it prints what its memory is for (-lv 4): a file, "
    "journal:UNIT or docker:NAME. With several servers, NAME= says whose; repeatable.",
    show_default="predicted from the model file and the command, where both can be seen",
)
OUT = _option("--out", panel=OUTPUT, metavar="DIR", help="Run folder to write.", show_default="runs/TIME-NAME")
JSON = _option(
    "--json", panel=OUTPUT, help="Print one JSON document (loadgen-summary/1) to stdout; progress to stderr."
)
DRY_RUN = _option("--dry-run", panel=OUTPUT, help="Print what would be run, and run nothing.")
RESUME = _option(
    "--resume",
    panel=OUTPUT,
    metavar="DIR",
    help="Go on with an interrupted run in its folder: what is missing is run, with the same seeds. --rounds and "
    "--time-budget may be longer than before.",
)

TimeBudget = Annotated[str, TIME_BUDGET]
Rounds = Annotated[int | None, ROUNDS]
Seed = Annotated[int, SEED]
Wait = Annotated[str, WAIT]
ApiKeyEnv = Annotated[str | None, API_KEY_ENV]
CaFile = Annotated[Path | None, CA]
Insecure = Annotated[bool, INSECURE]
MemorySource = Annotated[str | None, MEMORY_SOURCE]
Out = Annotated[Path | None, OUT]
Json = Annotated[bool, JSON]


def parse_levels(text: str) -> tuple[int, ...]:
    """The concurrency levels in an option's text. Raises `ExperimentError` naming the option."""
    try:
        return levels.parse_levels(text)
    except ValueError as error:
        raise ExperimentError(f"--concurrency {text}: {error}") from None


def parse_objective(text: str) -> "Slo":
    """The limits in an option's text. Raises `ExperimentError` naming the option."""
    from loadgen.experiment.slo import parse_slo

    try:
        return parse_slo(text)
    except ValueError as error:
        raise ExperimentError(f"--slo {text}: {error}") from None


def parse_body(fields: list[str] | None) -> dict[str, Any]:
    """Extra request fields in `key=value` texts; a value that is JSON is taken as such, any other as text."""
    from loadgen.experiment.model import RESERVED_FIELDS

    body: dict[str, Any] = {}
    for field in fields or []:
        key, equals, value = field.partition("=")
        if not equals or not key:
            raise ExperimentError(f"--body {field!r} is not KEY=VALUE, such as temperature=0.6")
        if key in RESERVED_FIELDS:
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


def size(option: str, text: str) -> int:
    """The bytes in an option's text. Raises `ExperimentError` naming the option."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise ExperimentError(f"{option}: {error}") from None


def run_folder(out: Path | None, name: str) -> Path:
    """The run folder to write: as asked for, or `runs/TIME-NAME`."""
    if out is not None:
        return out
    return Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{name}"
