"""A server that is ready to be measured, whether it ran already or we started it."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from loadgen.client.control import Control, Health
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import ExperimentError
from loadgen.experiment.model import Experiment, LaunchVariant, UrlVariant, Variant
from loadgen.records.model import Component, ServerFacts, ServerStart
from loadgen.servers.discovery import local_command
from loadgen.servers.launch import LaunchedServer, launch
from loadgen.servers.loadlog import read_ledger
from loadgen.servers.preflight import probe_drafts, read_facts
from loadgen.servers.verify import verify

LOG_BYTES = 1 << 20
"""How much of a log is read for the memory ledger: everything that a server prints while loading, with room."""


class Target:
    """One server under test, open for requests. Close it when its block is over."""

    def __init__(self, variant: Variant, transport: HttpTransport, server: LaunchedServer | None) -> None:
        self.variant = variant
        self.transport = transport
        self.control = Control(transport)
        self.server = server
        self.facts: ServerFacts | None = None

    @property
    def model(self) -> str | None:
        """The model name to send: llama-server serves one model and needs none."""
        if isinstance(self.variant, UrlVariant) and self.variant.model is not None:
            return self.variant.model
        if self.facts is not None and self.facts.kind != "llama-server":
            return self.facts.model
        return None

    @property
    def pid(self) -> int | None:
        """The server's process, where it is ours."""
        return self.server.pid if self.server is not None else None

    def alive(self) -> bool:
        """Whether our server's process is there; a server that ran already is taken to be."""
        return self.server is None or self.server.alive()

    def log_tail(self, lines: int) -> str:
        """The last lines of our server's log."""
        return "\n".join(self.server.log_tail(lines)) if self.server is not None else ""

    def command(self) -> Sequence[str] | None:
        """The server's command line: of our own, or of a process on this machine."""
        if self.server is not None:
            return self.server.command
        return local_command(self.transport.endpoint)

    def log(self) -> str | None:
        """What our server printed while loading."""
        if self.server is None:
            return None
        with self.server.log_path.open("rb") as log:
            return log.read(LOG_BYTES).decode("utf-8", errors="replace")

    def ledger(self) -> list[Component]:
        """Memory by component as the load log shows it; empty for a server that ran already."""
        log = self.log()
        return read_ledger(log) if log is not None else []

    def describe(self, *, run: str, round_: int) -> ServerStart:
        """The record of this start."""
        if self.facts is None:
            raise RuntimeError("a target is described after its facts are read")
        return ServerStart(
            run=run,
            round=round_,
            variant=self.variant.name,
            at_ns=time.monotonic_ns(),
            ready_s=self.server.ready_s if self.server is not None else None,
            command=list(self.server.command) if self.server is not None else None,
            target=self.transport.endpoint.label,
            log=self.server.log_path.name if self.server is not None else None,
            facts=self.facts,
            ledger=self.ledger(),
        )

    async def close(self) -> None:
        """Close connections; stop the server if it is ours."""
        await self.transport.close()
        if self.server is not None:
            await self.server.stop()


def api_key(experiment: Experiment) -> str | None:
    """The key in the variable that the user named. Raises `ExperimentError` where it isn't set."""
    if experiment.api_key_env is None:
        return None
    key = os.environ.get(experiment.api_key_env)
    if not key:
        raise ExperimentError(f"--api-key-env names {experiment.api_key_env}, which is not set in the environment")
    return key


async def open_target(
    variant: Variant,
    experiment: Experiment,
    *,
    log_path: Path,
    on_wait: Callable[[str], None],
    probe: bool = False,
) -> Target:
    """Start or find the server of `variant`, wait until it is ready, and read what it says of itself.

    `probe` sends one short request that must draft if anything does. Raises `TargetError`s; a server that was started
    is stopped again before.
    """
    server = None
    if isinstance(variant, LaunchVariant):
        server = await launch(
            variant,
            log_path=log_path,
            wait_s=experiment.wait_s,
            readiness=_readiness,
            on_wait=lambda what: on_wait(f"{variant.name}: waiting for {what}"),
        )
    target = None
    try:
        url = server.url if server is not None else variant.url  # type: ignore[union-attr] # a launch has a server
        key = server.api_key if server is not None else api_key(experiment)
        transport = HttpTransport(
            Endpoint.parse(url),
            api_key=key,
            ca_file=experiment.ca_file,
            insecure=experiment.insecure or server is not None,  # our own server, on loopback
            connect_s=experiment.deadlines.connect_s,
        )
        target = Target(variant, transport, server)
        await target.control.wait_ready(experiment.wait_s, on_wait)
        target.facts = await read_facts(target.control, command=target.command(), log=target.log())
        if probe and target.facts.kind == "llama-server":
            drafted = await probe_drafts(transport, target.model)
            target.facts = msgspec.structs.replace(target.facts, drafted=drafted)
        verify(variant, target.facts)
    except BaseException:
        if target is not None:
            await target.close()
        elif server is not None:
            await server.stop()
        raise
    return target


async def _readiness(url: str) -> bool | None:
    """True when the server is ready, false while it loads, null while nobody answers."""
    async with HttpTransport(Endpoint.parse(url), insecure=True) as transport:  # our own server, on loopback
        health = await Control(transport).health()
    if health is Health.ABSENT:
        return None
    return health is not Health.LOADING
