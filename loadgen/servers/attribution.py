"""What the memory of a server is for: as its load log says, else as its model's header and its command let predict.

A log that can't be read ends nothing: the reason is kept, and what can be predicted is.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from loadgen.client.endpoint import Endpoint
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.server_log import ServerLog, parse_server_log
from loadgen.experiment.variant import LaunchVariant, RouterVariant, Variant
from loadgen.records.model import Component, ServerFacts
from loadgen.servers import loadlog
from loadgen.servers.followed_log import FollowedLog
from loadgen.servers.predicted_ledger import NotPredictableError, predicted_ledger
from loadgen.servers.server_log import LogError, file_of, read_last_load
from loadgen.servers.settings import read_settings

_LLAMA = "llama-server"
_NO_BUFFERS = "tells no buffers of its last load: llama-server prints them at -lv 4"
_UNNAMED = "nobody named its log (--server-log)"


@dataclass(frozen=True)
class Attribution:
    """The ledger of one server, and how it came about.

    Attributes:
        ledger: of the load log, or predicted; empty where neither can be had.
        missing: why no log told it, in one or two half-sentences; null where one did.
        facts: what the server says of itself, with the settings that its log tells.
        followed: its log from now on, where it is a file that is not ours.
    """

    ledger: tuple[Component, ...] = ()
    missing: str | None = None
    facts: ServerFacts | None = None
    followed: FollowedLog | None = None


async def attribute(
    variant: Variant,
    facts: ServerFacts,
    endpoint: Endpoint,
    *,
    command: Sequence[str] | None,
    own_log: str | None,
    path: str | None = None,
) -> Attribution:
    """The ledger of a server that is up.

    Args:
        variant: whose server it is.
        facts: what it says of itself.
        endpoint: where it answers.
        command: its command line, where it is known.
        own_log: what it printed while loading, where loadgen started it.
        path: where programs are looked for; null: as the environment says.
    """
    source = _named(variant)
    if source is None and facts.kind != _LLAMA:
        return Attribution()
    if source is None:
        ledger = loadlog.read_ledger(own_log) if own_log is not None else []
        if ledger:
            return Attribution(ledger=tuple(ledger))
        missing = _UNNAMED if not isinstance(variant, LaunchVariant) else f"its log {_NO_BUFFERS}"
        return await _predicted(missing, variant, facts, endpoint, command)
    port = _port(variant, command)
    try:
        text = await read_last_load(source, port=port, path=path)
        ledger = _ledger(text, port, facts)
    except LogError as error:
        return await _predicted(f"its log ({source}): {error}", variant, facts, endpoint, command)
    settings = read_settings(command, "\n".join(loadlog.lines_of(text.splitlines(), port)))
    return Attribution(
        ledger=tuple(ledger), facts=msgspec.structs.replace(facts, settings=settings), followed=_followed(source, port)
    )


def _named(variant: Variant) -> ServerLog | None:
    text = None if isinstance(variant, LaunchVariant) else variant.server_log
    return parse_server_log(text) if text is not None else None


def _port(variant: Variant, command: Sequence[str] | None) -> int | None:
    """A router prints what its servers print, each line behind the port of its own."""
    text = flags.value_of(tuple(command or ()), "--port") if isinstance(variant, RouterVariant) else None
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


def _ledger(text: str, port: int | None, facts: ServerFacts) -> list[Component]:
    """The log's ledger. Raises `LogError` where it tells nothing, or of another server."""
    ledger = loadlog.read_ledger(text, port)
    if not ledger:
        raise LogError(f"it {_NO_BUFFERS}")
    slots = loadlog.read_facts(text, port).slots
    if None not in (slots, facts.slots) and slots != facts.slots:
        raise LogError(f"it tells of a server with {slots} slots, and this one has {facts.slots}")
    return ledger


def _followed(source: ServerLog, port: int | None) -> FollowedLog | None:
    if source.kind != "file":
        return None
    try:
        return FollowedLog(file_of(source), port)
    except OSError:  # gone since it was read
        return None


async def _predicted(
    missing: str, variant: Variant, facts: ServerFacts, endpoint: Endpoint, command: Sequence[str] | None
) -> Attribution:
    environment: Mapping[str, str | None] | None = {} if isinstance(variant, RouterVariant) else None
    try:
        ledger = await asyncio.to_thread(predicted_ledger, command, facts, endpoint, environment)
    except NotPredictableError as error:
        return Attribution(missing=f"{missing}; nor can it be predicted: {error}")
    return Attribution(ledger=tuple(ledger), missing=missing)
