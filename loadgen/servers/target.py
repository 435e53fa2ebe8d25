"""A server that is ready to be measured, whether it ran already or we started it."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from loadgen.client.control import Control, Health
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import ExperimentError
from loadgen.experiment.model import Experiment
from loadgen.experiment.variant import (
    LaunchVariant,
    ModelVariant,
    RequestVariant,
    RouterVariant,
    SwitchVariant,
    UrlVariant,
    Variant,
)
from loadgen.records.model import Component, Sample, ServerFacts, ServerStart
from loadgen.servers.attribution import Attribution, attribute
from loadgen.servers.discovery import local_command
from loadgen.servers.gateway import swap_model
from loadgen.servers.host_use import read_host_use, samples_of
from loadgen.servers.launch import LaunchedServer, launch
from loadgen.servers.lease import Lease
from loadgen.servers.loadlog import read_ledger
from loadgen.servers.log_tail import tail
from loadgen.servers.preflight import probe_drafts, read_facts
from loadgen.servers.router import load_preset
from loadgen.servers.switch import run_switch
from loadgen.servers.verify import verify
from loadgen.units import s_to_ns

LOG_BYTES = 1 << 20
"""How much of a log is read for the memory ledger: everything that a server prints while loading, with room."""


class Target:
    """One server under test, open for requests. Close it when its block is over."""

    def __init__(self, variant: Variant, transport: HttpTransport, server: LaunchedServer | None) -> None:
        self.variant = variant
        self.transport = transport
        self.server = server
        self.lease = Lease(control=Control(transport))
        self.facts: ServerFacts | None = None
        self.attribution = Attribution()
        # Times in the log count from here.
        self._began_ns = time.monotonic_ns() - s_to_ns(server.ready_s) if server is not None else None

    @property
    def control(self) -> Control:
        """The control routes of the variant's own server, also behind a router or a gateway."""
        return self.lease.control

    @property
    def model(self) -> str | None:
        """The model name to send: a single llama-server serves one model and needs none."""
        if self.lease.model is not None:
            return self.lease.model
        if isinstance(self.variant, (UrlVariant, SwitchVariant, RequestVariant)) and self.variant.model is not None:
            return self.variant.model
        if self.facts is not None and self.facts.kind != "llama-server":
            return self.facts.model
        return None

    @property
    def body(self) -> Mapping[str, Any]:
        """Extra fields of every request: what makes the variant where it is one by its requests."""
        return self.variant.body if isinstance(self.variant, RequestVariant) else {}

    @property
    def pid(self) -> int | None:
        """The server's process, where it is ours."""
        return self.server.pid if self.server is not None else None

    def alive(self) -> bool:
        """Whether our server's process is there; a server that ran already is taken to be."""
        return self.server is None or self.server.alive()

    async def is_up(self) -> bool:
        """Whether something answers at its address, and our process is there where it is ours."""
        return self.alive() and await self.control.health() is not Health.ABSENT

    def log_tail(self, lines: int) -> str:
        """The last lines of our server's log, or of the command that brought it up."""
        return "\n".join(tail(self._log_path, lines)) if self._log_path is not None else ""

    def command(self) -> Sequence[str] | None:
        """The server's command line: of our own, as a router or gateway tells it, or of a process on this machine."""
        if self.server is not None:
            return self.server.command
        if isinstance(self.variant, (RouterVariant, ModelVariant)):  # what listens is not what serves
            return self.lease.command
        return local_command(self.transport.endpoint)

    def log(self) -> str | None:
        """What our server printed while loading, or the command that brought it up."""
        if self._log_path is None:
            return None
        with self._log_path.open("rb") as log:
            return log.read(LOG_BYTES).decode("utf-8", errors="replace")

    def ledger(self) -> list[Component]:
        """Memory by component: of our own server as its log shows it by now, else as it was told or predicted."""
        found = read_ledger(self.log() or "") if self.server is not None else []
        return found or list(self.attribution.ledger)

    def host_samples(self, *, run: str) -> list[Sample]:
        """What the server's log told of host memory while it worked; none where it is no file.

        Reads the whole log: call it in a thread, when the server's block is over.
        """
        if self.attribution.followed is not None:
            return self.attribution.followed.samples(run=run, variant=self.variant.name)
        if self.server is None or self._began_ns is None:
            return []
        try:
            with self.server.log_path.open(encoding="utf-8", errors="replace") as log:
                use = read_host_use(log)
        except OSError:
            return []
        return samples_of(use, run=run, variant=self.variant.name, began_ns=self._began_ns, now_ns=time.monotonic_ns())

    def describe(self, *, run: str, round_: int) -> ServerStart:
        """The record of this start."""
        if self.facts is None:
            raise RuntimeError("a target is described after its facts are read")
        command = self.server.command if self.server is not None else self.lease.command
        return ServerStart(
            run=run,
            round=round_,
            variant=self.variant.name,
            at_ns=time.monotonic_ns(),
            ready_s=self.server.ready_s if self.server is not None else self.lease.ready_s,
            command=list(command) if command is not None else None,
            target=self.transport.endpoint.label,
            log=self._log_path.name if self._log_path is not None else None,
            facts=self.facts,
            ledger=self.ledger(),
            ledger_missing=self.attribution.missing,
            environment=self.server.environment if self.server is not None else None,
        )

    async def close(self) -> None:
        """Give back what was brought up: unload a preset, stop our own server, close connections."""
        try:
            await self.lease.release()
        finally:
            await self.transport.close()
            if self.server is not None:
                await self.server.stop()

    @property
    def _log_path(self) -> Path | None:
        return self.server.log_path if self.server is not None else self.lease.log_path


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
    patient: bool = False,
) -> Target:
    """Bring up or find the server of `variant`, wait until it is ready, and read what it says of itself.

    `probe` sends one short request that must draft if anything does; a variant by its requests is probed in any case.
    `patient` waits all of `wait_s` for a server at an address where nobody answers: one that died may be started again.
    Raises `TargetError`s; what was brought up is given back before.
    """
    on_wait = _changes(on_wait)
    server = await _launched(variant, experiment, log_path, on_wait) if isinstance(variant, LaunchVariant) else None
    target = None
    try:
        transport = HttpTransport(
            Endpoint.parse(server.url if server is not None else variant.url),  # type: ignore[union-attr] # all others have one
            api_key=server.api_key if server is not None else api_key(experiment),
            ca_file=experiment.ca_file,
            insecure=experiment.insecure or server is not None,  # our own server, on loopback
            connect_s=experiment.deadlines.connect_s,
        )
        target = Target(variant, transport, server)
        target.lease = await _lease(variant, experiment, transport, log_path, on_wait, patient=patient)
        command, log = target.command(), target.log()
        target.facts = await read_facts(target.control, command=command, log=log)
        if target.facts.kind == "llama-server" and (probe or isinstance(variant, RequestVariant)):
            target.facts = await _probed(target, target.facts)
        target.attribution = await attribute(variant, target.facts, transport.endpoint, command=command, own_log=log)
        target.facts = target.attribution.facts or target.facts
        verify(variant, target.facts)
    except BaseException:
        if target is not None:
            await target.close()
        elif server is not None:
            await server.stop()
        raise
    return target


async def _launched(
    variant: LaunchVariant, experiment: Experiment, log_path: Path, on_wait: Callable[[str], None]
) -> LaunchedServer:
    return await launch(
        variant,
        log_path=log_path,
        wait_s=experiment.wait_s,
        readiness=_readiness,
        on_wait=lambda what: on_wait(f"{variant.name}: waiting for {what}"),
    )


async def _lease(
    variant: Variant,
    experiment: Experiment,
    transport: HttpTransport,
    log_path: Path,
    on_wait: Callable[[str], None],
    *,
    patient: bool,
) -> Lease:
    """What each kind of variant does to be up and ready."""
    wait_s = experiment.wait_s
    control = Control(transport)
    match variant:
        case RouterVariant():
            rivals = _rivals(variant, experiment)
            return await load_preset(variant, transport, rivals=rivals, wait_s=wait_s, on_wait=on_wait)
        case ModelVariant():
            rivals = _rivals(variant, experiment)
            return await swap_model(variant, transport, rivals=rivals, wait_s=wait_s, on_wait=on_wait)
        case SwitchVariant():
            return await run_switch(variant, control, log_path=log_path, wait_s=wait_s, on_wait=on_wait)
        case _:
            await control.wait_ready(wait_s, on_wait, patient=patient)
            return Lease(control=control)


def _rivals(variant: RouterVariant | ModelVariant, experiment: Experiment) -> set[str]:
    """Presets or models of the other variants at the same server, which may not run beside this one's."""
    if experiment.coresident:
        return set()
    here = Endpoint.parse(variant.url)
    return {
        name
        for other in experiment.variants
        if isinstance(other, (RouterVariant, ModelVariant)) and Endpoint.parse(other.url) == here
        if (name := _served(other)) != _served(variant)
    }


def _served(variant: RouterVariant | ModelVariant) -> str:
    return variant.preset if isinstance(variant, RouterVariant) else variant.model


async def _probed(target: Target, facts: ServerFacts) -> ServerFacts:
    """The facts with what a probe drafted, for fields of a request also without them."""
    probe = partial(probe_drafts, target.transport, target.model, control=target.control)
    if not target.body:
        return msgspec.structs.replace(facts, drafted=await probe())
    return msgspec.structs.replace(facts, drafted=await probe(extra=target.body), drafted_plain=await probe())


def _changes(on_wait: Callable[[str], None]) -> Callable[[str], None]:
    """`on_wait` for texts that differ from the last."""
    last = ""

    def tell(text: str) -> None:
        nonlocal last
        if text != last:
            last = text
            on_wait(text)

    return tell


async def _readiness(url: str) -> bool | None:
    """True when the server is ready, false while it loads, null while nobody answers."""
    async with HttpTransport(Endpoint.parse(url), insecure=True) as transport:  # our own server, on loopback
        health = await Control(transport).health()
    if health is Health.ABSENT:
        return None
    return health is not Health.LOADING
