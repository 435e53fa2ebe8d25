"""Options that several commands share, each declared once; `option_values` makes of their texts what they mean."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

LOAD = "What is run"
COMPARISON = "What is compared, and how strictly"
SERVERS = "How the servers are reached and started"
MEMORY = "Memory and power"
METRICS = "Metrics for Prometheus"
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
    FROZEN = "frozen"


class OutputLength(StrEnum):
    """How answers end."""

    NATURAL = "natural"
    EXACT = "exact"


class Thinking(StrEnum):
    """Whether the model is told to reason before it answers."""

    ON = "on"
    OFF = "off"
    SERVER = "server"


class ContextFull(StrEnum):
    """What becomes of a workload that doesn't fit."""

    REFUSE = "refuse"
    FINISH = "finish"
    COMPACT = "compact"
    FAIL = "fail"


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
MIX = _option(
    "--mix",
    panel=LOAD,
    metavar="CLASSES",
    help="Classes of work that run together, in place of --workload: workloads with their shares of the agents, such "
    "as chat:1,batch-agents-4k:3. Each gets results, and with --slo CLASS:LIMITS an objective, of its own.",
    show_default="none",
)
CORPUS = _option(
    "--corpus",
    panel=LOAD,
    metavar="DIR",
    help="Folder whose text files made-up prompts are of, such as your own source tree.",
    show_default="Python's standard library",
)
HISTORY = _option(
    "--history",
    panel=LOAD,
    help="Whose answers go back into prompts: the workload's own, those that the model just gave, or those of the "
    "baseline, recorded first and replayed for every variant (frozen).",
    show_default="the workload's; recorded for sessions from a file",
)
TOOL_TIME_CAP = _option(
    "--tool-time-cap", panel=LOAD, metavar="TIME", help="Longest wait for a tool.", show_default="none"
)
TIME_SCALE = _option("--time-scale", panel=LOAD, min=0.0, help="Factor on every wait; 0: no waits.")
DEPTH = _option(
    "--depth",
    panel=LOAD,
    metavar="LIST",
    help="Measure at these prompt depths, each at every concurrency: tokens in a list such as 2k,16k,48k (k: 1,024).",
    show_default="all turns of the workload alike",
)
OUTPUT_LENGTH = _option(
    "--output-length",
    panel=LOAD,
    help="Let answers end by themselves (natural), or have the server ignore end-of-text (exact), which biases "
    "acceptance.",
    show_default="the workload's; natural for sessions from a file",
)
CONTEXT_FULL = _option(
    "--context-full",
    panel=LOAD,
    help="Of a workload that doesn't fit a slot's context: refuse it, finish sessions before the turn that doesn't "
    "fit, go on from a summary (compact), or send that turn all the same and end there (fail); the share is told.",
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
THINKING = _option(
    "--thinking",
    panel=LOAD,
    help="Tell the chat template to let the model reason or not (enable_thinking in every request); server: tell it "
    "nothing. --body chat_template_kwargs=… goes before it.",
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
    "request); CLASS:ttft=1s for one class of a --mix.",
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
SERIES = _option(
    "--series",
    panel=METRICS,
    metavar="NAME",
    help="What this comparison is called where runs of it follow each other: a label of all its metrics.",
    show_default="the model's alias",
)
METRICS_ADDRESS = _option(
    "--metrics",
    panel=METRICS,
    metavar="HOST:PORT",
    help="Serve Prometheus metrics of the run there, such as 127.0.0.1:9464.",
    show_default="none",
)
METRICS_LINGER = _option(
    "--metrics-linger",
    panel=METRICS,
    metavar="TIME",
    help="How long metrics are served behind the run, so that the last values are scraped.",
    show_default="60s",
)
PUSH_GATEWAY = _option(
    "--push-gateway",
    panel=METRICS,
    metavar="URL",
    help="Push the final values to a Prometheus Pushgateway; they replace those of the last run of the same series.",
    show_default="none",
)
METRICS_TEXTFILE = _option(
    "--metrics-textfile",
    panel=METRICS,
    metavar="DIR",
    help="Write the final values there for the textfile collector of node_exporter.",
    show_default="none",
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
