"""The command to run next: a sweep of one server can't say what speculation does, `ab` can."""

import asyncio
import shlex

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import LoadgenError
from loadgen.experiment.llama_flags import masked, replaced, speculation_of
from loadgen.servers.discovery import local_command, router_command


def suggest(url: str, levels: str) -> str:
    """Sentences that end with an `ab` command, built from the flags that the server's process or router shows."""
    command = _command_of(url)
    if command is None:
        return (
            "One server is one variant, so this sweep can't say what speculation does. Run next, with the command that "
            f"starts this server:\n  loadgen ab -c {levels} -- llama-server -m model.gguf … --spec-type …"
        )
    shown = shlex.join(masked(replaced(replaced(command, "--host", value=None), "--port", value=None)))
    if not speculation_of(command[1:]).types:
        shown += " --spec-type ngram-simple"
        hint = " (--spec-type ngram-simple needs no draft model; put there what you consider)"
    else:
        hint = ""
    return (
        "One server is one variant, so this sweep can't say what speculation does. Run next, with this server "
        f"stopped{hint}:\n  loadgen ab -c {levels} -- {shown}"
    )


def _command_of(url: str) -> list[str] | None:
    endpoint = Endpoint.parse(url)
    local = local_command(endpoint)
    if local is not None:
        return local
    try:
        return asyncio.run(_from_router(endpoint))
    except LoadgenError:
        return None


async def _from_router(endpoint: Endpoint) -> list[str] | None:
    async with HttpTransport(endpoint) as transport:
        return await router_command(Control(transport), None)
