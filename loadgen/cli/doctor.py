"""`loadgen doctor`: can this server be measured, and what would have to change?"""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.option_values import seconds
from loadgen.cli.options import MEMORY, ApiKeyEnv, CaFile, Insecure, MemorySource, Wait
from loadgen.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadgen.client.transport import HttpTransport
    from loadgen.experiment.model import Experiment
    from loadgen.experiment.variant import Variant
    from loadgen.records.model import Component, ServerFacts
    from loadgen.servers.checkup import Finding

EXAMPLES = (
    "Examples:\n\n- `loadgen doctor http://127.0.0.1:8080`\n- `loadgen doctor https://host/v1 --api-key-env KEY`\n"
    "- `loadgen doctor http://127.0.0.1:8080 --server-log journal:llama.service`"
)

_MARKS = {"ok": ("ok     ", "green"), "note": ("note   ", "yellow"), "problem": ("problem", "red")}
_NAME = "server"


def doctor(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server.", show_default=False)],
    api_key_env: ApiKeyEnv = None,
    ca: CaFile = None,
    insecure: Insecure = False,
    wait: Wait = "2m",
    memory_source: MemorySource = None,
    server_log: Annotated[
        str | None,
        typer.Option(
            "--server-log",
            metavar="LOG",
            rich_help_panel=MEMORY,
            help="Log of the server: a file, journal:UNIT or docker:NAME.",
        ),
    ] = None,
) -> None:
    """Look at a running server: model, slots, context, caches, metrics, speculation, sampling, limits, memory.

    Sends one short request, or two where the first drafts nothing, to see whether anything is drafted.
    """
    from loadgen.experiment.build import experiment

    asked = experiment(
        variants=[{"kind": "url", "name": _NAME, "url": url, "server_log": _log(server_log)}],
        baseline=_NAME,
        levels=(1,),
        api_key_env=api_key_env,
        ca_file=str(ca) if ca is not None else None,
        insecure=insecure,
        wait_s=seconds("--wait", wait),
        memory_source=memory_source,
    )
    _print(asyncio.run(_look(url, asked)))


def _log(text: str | None) -> str | None:
    """Raises `ExperimentError` naming the option."""
    from loadgen.experiment.server_log import parse_server_log

    try:
        return None if text is None else str(parse_server_log(text))
    except ValueError as error:
        raise ExperimentError(f"--server-log: {error}") from None


async def _look(url: str, asked: "Experiment") -> "list[Finding]":
    from loadgen.client.control import Control
    from loadgen.client.endpoint import Endpoint
    from loadgen.client.transport import HttpTransport
    from loadgen.servers.checkup import check_up
    from loadgen.servers.target import api_key

    transport = HttpTransport(
        Endpoint.parse(url), api_key=api_key(asked), ca_file=asked.ca_file, insecure=asked.insecure
    )
    async with transport:
        await Control(transport).wait_ready(asked.wait_s, lambda text: typer.echo(text, err=True))
        facts, findings = await check_up(transport)
        return [*findings, *await _memory(asked, asked.variants[0], transport, facts)]


async def _memory(
    asked: "Experiment", variant: "Variant", transport: "HttpTransport", facts: "ServerFacts"
) -> "list[Finding]":
    """What a run would see of the server's memory: its use, and what it is for."""
    from loadgen.replay.watched import watched
    from loadgen.servers.attribution import attribute
    from loadgen.servers.checkup import Finding
    from loadgen.servers.discovery import local_command, local_pid
    from loadgen.telemetry.preview import look

    pid = local_pid(transport.endpoint)
    seen = await asyncio.to_thread(look, asked.memory_source, watched(variant), pid)
    found = [Finding("ok" if one.tells else "note", one.text) for one in seen]
    if not seen and asked.memory_source != "none":
        fix = "name a source, such as --memory-source http://HOST:9400/metrics"
        found.append(Finding("note", "its memory can't be seen from here", fix))
    command = local_command(transport.endpoint)
    told = await attribute(variant, facts, transport.endpoint, command=command, own_log=None)
    return found if told.missing is None and not told.ledger else [*found, _ledger(told.ledger, told.missing)]


def _ledger(ledger: "Sequence[Component]", missing: str | None) -> "Finding":
    from loadgen.servers.checkup import Finding
    from loadgen.units import bytes_to_mib

    total = f"{bytes_to_mib(sum(line.bytes for line in ledger)):,.2f} MiB"
    fix = "start the server with -lv 4 and name its log: --server-log FILE, journal:UNIT or docker:NAME"
    if missing is None:
        return Finding("ok", f"its log tells what its memory is for: {total} held from the start")
    if ledger:
        return Finding("note", f"its memory is predicted, {total} held from the start: {missing}", fix)
    return Finding("note", f"what its memory is for can't be told: {missing}", fix)


def _print(findings: "list[Finding]") -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        mark, colour = _MARKS[finding.level]
        console.print(Text.assemble((mark, colour), "  ", finding.text))
        if finding.fix is not None:
            console.print(Text(f"         {finding.fix}", style="dim"))
