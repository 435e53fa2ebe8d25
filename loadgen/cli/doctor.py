"""`loadgen doctor`: can this server be measured, and what would have to change?"""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from loadgen.cli.options import ApiKeyEnv, CaFile, Insecure, Wait, seconds

if TYPE_CHECKING:
    from loadgen.experiment.model import Experiment
    from loadgen.servers.checkup import Finding

EXAMPLES = "Examples:\n\n- `loadgen doctor http://127.0.0.1:8080`\n- `loadgen doctor https://host/v1 --api-key-env KEY`"

_MARKS = {"ok": ("ok     ", "green"), "note": ("note   ", "yellow"), "problem": ("problem", "red")}


def doctor(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the server.", show_default=False)],
    api_key_env: ApiKeyEnv = None,
    ca: CaFile = None,
    insecure: Insecure = False,
    wait: Wait = "2m",
) -> None:
    """Look at a running server: model, slots, context, caches, metrics, speculation, sampling, limits.

    Sends one short request, or two where the first drafts nothing, to see whether anything is drafted.
    """
    from loadgen.experiment.build import experiment

    asked = experiment(
        variants=[{"kind": "url", "name": "server", "url": url}],
        baseline="server",
        levels=(1,),
        api_key_env=api_key_env,
        ca_file=str(ca) if ca is not None else None,
        insecure=insecure,
        wait_s=seconds("--wait", wait),
    )
    _print(asyncio.run(_look(url, asked)))


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
        _, findings = await check_up(transport)
    return findings


def _print(findings: "list[Finding]") -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    for finding in findings:
        mark, colour = _MARKS[finding.level]
        console.print(Text.assemble((mark, colour), "  ", finding.text))
        if finding.fix is not None:
            console.print(Text(f"         {finding.fix}", style="dim"))
