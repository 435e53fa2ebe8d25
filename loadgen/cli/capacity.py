"""`loadgen capacity`: from a finished run, how many agents a server carries and how many servers a load takes."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.errors import ExperimentError, NoVerdictError, UsageError

if TYPE_CHECKING:
    from loadgen.analysis.capacity.limit import Limits
    from loadgen.analysis.capacity.prices import Prices
    from loadgen.records.run import Run

EXAMPLES = (
    "Examples:\n\n"
    "- `loadgen capacity RUN --agents 40 --slo 'ttft_p95<2s,tpot_p95<80ms,task_p95<5m'`\n"
    "- `loadgen capacity RUN --tasks-per-hour 600 --headroom 30% --spare 2 --server-price 1.20/h`\n"
    "- `loadgen capacity RUN --slo ttft=2s,attainment=95% --memory 24GiB --json | jq .parts[].variants[].largest`"
)
_LOAD = "The load"
_PRICES = "What it costs"


def capacity(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder to read.", show_default=False)],
    agents: Annotated[
        int | None,
        typer.Option("--agents", min=1, max=10**9, metavar="N", rich_help_panel=_LOAD, help="Agents at work at once."),
    ] = None,
    tasks_per_hour: Annotated[
        float | None,
        typer.Option(
            "--tasks-per-hour",
            metavar="X",
            min=0,
            rich_help_panel=_LOAD,
            help="Tasks per hour to get done, in place of --agents.",
        ),
    ] = None,
    headroom: Annotated[
        str,
        typer.Option(
            "--headroom", metavar="SHARE", rich_help_panel=_LOAD, help="What of a server's capacity stays free."
        ),
    ] = "20%",
    spare: Annotated[
        int,
        typer.Option("--spare", min=0, max=10**6, rich_help_panel=_LOAD, help="Servers that may be lost."),
    ] = 1,
    slo: Annotated[
        str | None,
        typer.Option(
            "--slo",
            metavar="LIMITS",
            help="What must be kept: percentiles such as ttft_p95<2s,tpot_p95<80ms,task_p95<5m, or limits for each "
            "request and the share that keeps them, such as ttft=2s,tpot=80ms,attainment=95%, or both.",
            show_default="the run's own",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory of one server, such as 24GiB: variants that leave too little of it are unsafe.",
            show_default="the run's own budget",
        ),
    ] = None,
    server_price: Annotated[
        str | None,
        typer.Option(
            "--server-price", metavar="PRICE/h", rich_help_panel=_PRICES, help="Of one server, such as 1.20/h."
        ),
    ] = None,
    energy_price: Annotated[
        str | None,
        typer.Option(
            "--energy-price",
            metavar="PRICE/kWh",
            rich_help_panel=_PRICES,
            help="Of energy, such as 0.30/kWh, where the run recorded power.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document (loadgen-capacity/1) to stdout.")
    ] = False,
) -> None:
    """Say how many agents each variant carries within limits, and how many servers a load takes.

    Numbers come from the run's measured levels and lie between them: never beyond the largest. Every one has its
    interval, and servers are counted by its lower end. Each fixed depth of a run has its own. Variants that are unsafe
    in memory, answer wrongly, or have no trial that counts are never recommended.
    """
    from loadgen.analysis.capacity.capacity import Asked, capacity_of
    from loadgen.analysis.capacity.servers import Demand
    from loadgen.cli.execute import stdout_console
    from loadgen.cli.option_values import size
    from loadgen.records.run_folder import read_run
    from loadgen.report.capacity_lines import print_capacity

    if agents is not None and tasks_per_hour is not None:
        raise UsageError("--agents and --tasks-per-hour both say how large the load is: give one of them")
    if tasks_per_hour is not None and not 0 < tasks_per_hour < float("inf"):
        raise UsageError(f"--tasks-per-hour {tasks_per_hour:g}: a load is above 0")
    asked = Asked(
        limits=_limits(slo),
        memory_budget_bytes=size("--memory", memory) if memory is not None else None,
        demand=Demand(agents, tasks_per_hour, _headroom(headroom), spare),
        prices=_prices(server_price, energy_price),
    )
    facts = read_run(run)
    _check_classes(asked.limits, facts)
    document = capacity_of(facts, asked)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")
        sys.stdout.flush()
    else:
        print_capacity(document, stdout_console())
    if all(entry["excluded"] for part in document["parts"] for entry in part["variants"]):
        raise NoVerdictError("no variant may be recommended; the reasons stand above")


def _limits(text: str | None) -> "Limits | None":
    from loadgen.analysis.capacity.limit import parse_limits

    if text is None:
        return None
    try:
        return parse_limits(text)
    except ValueError as error:
        raise ExperimentError(f"--slo {text}: {error}") from None


def _check_classes(limits: "Limits | None", run: "Run") -> None:
    """Raises `UsageError` for a limit on a class that the run didn't have."""
    from loadgen.experiment.mix import Share

    named = {Share(**one).name for one in run.manifest.experiment.get("mix") or ()}
    unknown = sorted((limits.classes if limits is not None else set()) - named)
    if unknown:
        there = f"there is {', '.join(sorted(named))}" if named else "it ran no mix of classes"
        raise UsageError(f"--slo: the run has no class {unknown[0]}; {there}")


def _headroom(text: str) -> float:
    """A share from 0 up to, but not, 1."""
    from loadgen.experiment.slo import parse_share

    if text.strip() in ("0", "0%", "0 %"):
        return 0.0
    try:
        share = parse_share(text)
    except ValueError as error:
        raise ExperimentError(f"--headroom {text}: {error}") from None
    if share >= 1:
        raise ExperimentError(f"--headroom {text}: that leaves nothing of a server")
    return share


def _prices(server: str | None, energy: str | None) -> "Prices":
    from loadgen.analysis.capacity.prices import Prices, parse_price

    found = []
    for option, text, per in (("--server-price", server, "h"), ("--energy-price", energy, "kWh")):
        try:
            found.append(None if text is None else parse_price(text, per))
        except ValueError as error:
            raise ExperimentError(f"{option}: {error}") from None
    return Prices(*found)
