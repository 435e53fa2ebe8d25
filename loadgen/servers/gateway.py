"""Variants that are model names at a gateway (llama-swap or alike): a request with the name brings up its server.

llama-swap swaps on any request for a model and answers when the new server is ready; `/running` tells what runs, and
`/upstream/MODEL/…` leads to that model's own server, whose control routes we read. Other gateways have only the chat
route, and their facts stay null. A model is left running when its trials are over: the next request swaps it away.
"""

import asyncio
import shlex
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import quote

import msgspec

from loadgen.client.chat import CHAT_PATH
from loadgen.client.control import Control, Health, key_refused, read_object
from loadgen.client.reply import Reply
from loadgen.client.server_error import read_error_body
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import TransportError, TransportTimeoutError
from loadgen.errors import RefusedError, TargetError, UnreachableError, VariantError
from loadgen.experiment.llama_flags import masked
from loadgen.experiment.variant import ModelVariant
from loadgen.servers.lease import Lease

AGAIN_S = 60.0
"""A model that is up answers with one token within seconds, on a slow machine within a minute."""

TELL_EVERY_S = 5.0
"""A swap that takes longer is told of again, with its time."""

_READY = "ready"
_OK, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _NO_METHOD, _TOO_MANY, _UNAVAILABLE = 200, 401, 403, 404, 405, 429, 503


class GatewayControl(Control):
    """The gateway's own routes, as far as one model is concerned: a list of models, and no control routes.

    Its health is that it lists models: /health of a gateway tells nothing, or asks every model for an answer.
    """

    _health_route = "/v1/models"

    def __init__(self, transport: HttpTransport, model: str) -> None:
        super().__init__(transport)
        self._model: str = model

    async def models(self) -> dict[str, Any] | None:
        """The model's own entry of the gateway's list, or its name alone where it isn't listed."""
        listing = await super().models()
        entries = (listing or {}).get("data")
        own = [entry for entry in entries if _id(entry) == self._model] if isinstance(entries, list) else []
        return {"data": own or [{"id": self._model}]} if listing is not None else None

    async def _post(self, route: str, body: bytes) -> Reply | None:  # noqa: ARG002 - as the base class has it
        """Nothing: a gateway has no tokenizer."""
        return None

    async def names(self) -> list[str]:
        """The models that it lists. Raises `RefusedError` for a llama-server router, which has a kind of its own."""
        listing = read_object(await self._checked("/v1/models"))
        entries = (listing or {}).get("data")
        entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        if any(isinstance(entry.get("status"), dict) for entry in entries):
            label = self._transport.endpoint.label
            raise RefusedError(f"{label} is a llama-server router; use kind: router with preset: {self._model}.")
        return sorted(name for entry in entries if (name := _id(entry)) is not None)

    async def running(self) -> dict[str, Mapping[str, Any]] | None:
        """llama-swap's running models by name; null for other gateways."""
        listing = read_object(await super()._get("/running"))
        entries = (listing or {}).get("running")
        if not isinstance(entries, list):
            return None
        return {entry["model"]: entry for entry in entries if isinstance(entry, dict) and "model" in entry}

    async def _get(self, route: str) -> Reply | None:
        """Control routes at the root would speak of the gateway, and of another model tomorrow."""
        if route == "/v1/models":
            return await super()._get(route)
        return Reply(_NOT_FOUND, {}, b"")


class UpstreamControl(Control):
    """The control routes of one model's own server behind llama-swap. `running` is the name that /running has for it.

    A look at a model that doesn't run would swap it in, so health asks first what runs.
    """

    def __init__(self, transport: HttpTransport, model: str, running: str | None) -> None:
        super().__init__(transport)
        self._gateway = GatewayControl(transport, model)
        self._name = model
        self._running = running

    async def health(self) -> Health:
        """Whether the model's server is up; absent where the gateway has stopped it meanwhile."""
        if self._running is not None:
            running = await self._gateway.running()
            if running is None:
                return await self._gateway.health()
            if self._running not in running:
                return Health.ABSENT
            if running[self._running].get("state", _READY) != _READY:
                return Health.LOADING
        return await super().health()

    def _path(self, route: str) -> str:
        return f"/upstream/{quote(self._name)}{route}"


async def swap_model(
    variant: ModelVariant,
    transport: HttpTransport,
    *,
    rivals: AbstractSet[str],
    wait_s: float,
    on_wait: Callable[[str], None],
) -> Lease:
    """Bring the variant's model up by one short request, after stopping those of `rivals` (of the same experiment).

    Returns when a second request is answered without a swap, so that swapping enters no measurement. Raises
    `TargetError`s.
    """
    gateway = GatewayControl(transport, variant.model)
    await gateway.wait_ready(wait_s, on_wait)
    names = await gateway.names()
    running = await gateway.running()
    if running is None and names and variant.model not in names:
        raise VariantError(_unknown(variant, names))
    for other in set(running or {}) - {variant.model}:
        if other in rivals:
            await _stop(gateway, transport, other, wait_s)
        else:
            on_wait(f"the gateway also runs {other}, which is no variant: it may take memory")
    start = time.monotonic()
    telling = asyncio.create_task(_tell(variant, on_wait))
    try:
        await _ask(variant, transport, names, max(wait_s, AGAIN_S))
    finally:
        telling.cancel()
    ready_s = time.monotonic() - start
    await _ask(variant, transport, names, AGAIN_S)
    control, command = await _upstream(variant, transport)
    return Lease(control=control or gateway, model=variant.model, ready_s=ready_s, command=command)


async def _upstream(variant: ModelVariant, transport: HttpTransport) -> tuple[Control | None, tuple[str, ...] | None]:
    """The way to the model's own server and its command; null where the gateway shows none."""
    running = await GatewayControl(transport, variant.model).running()
    if running is None:
        return None, None
    # An alias runs under its model's name: it is the one that runs, if only one does.
    name = variant.model if variant.model in running else next(iter(running)) if len(running) == 1 else None
    control = UpstreamControl(transport, variant.model, name)
    if await control.health() is not Health.READY and await control.models() is None:
        return None, None
    return control, _command(running.get(name or "", {}).get("cmd"))


async def _ask(variant: ModelVariant, transport: HttpTransport, names: list[str], timeout_s: float) -> None:
    """One token from the model. Raises `TargetError`s; a gateway that says 503 is asked again within the time."""
    message = {"role": "user", "content": "Hello"}
    body = msgspec.json.encode({"model": variant.model, "messages": [message], "max_tokens": 1, "stream": False})
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            reply = await transport.post(CHAT_PATH, body, max(deadline - time.monotonic(), 0.001))
        except TransportTimeoutError:
            raise UnreachableError(
                f"{variant.name}: the gateway has not answered for {variant.model} after {timeout_s:g} s; "
                "wait longer with --wait, or look at its log."
            ) from None
        except TransportError as error:
            raise UnreachableError(
                f"{variant.name}: the request that brings up {variant.model} failed: {error}."
            ) from None
        if reply.status == _OK:
            return
        if reply.status != _UNAVAILABLE or time.monotonic() >= deadline:
            raise _refused(variant, transport, reply, body, names)
        await asyncio.sleep(1.0)


def _refused(
    variant: ModelVariant, transport: HttpTransport, reply: Reply, sent: bytes, names: list[str]
) -> TargetError:
    if reply.status in (_UNAUTHORIZED, _FORBIDDEN):
        return key_refused(transport, CHAT_PATH, reply.status)
    error = read_error_body(reply.body)
    said = f"HTTP {reply.status} {error.one_line(sent, transport.redact) if error is not None else ''}".strip()
    if reply.status == _TOO_MANY:
        return VariantError(
            f"{variant.name}: the gateway answered {said}: it limits the requests at once. llama-swap takes 10 for a "
            "model unless its concurrencyLimit says more; set it above the highest concurrency."
        )
    if reply.status < 500 and names and variant.model not in names:  # noqa: PLR2004 - below lie refusals
        return VariantError(f"{_unknown(variant, names)} It answered {said}.")
    return VariantError(f"{variant.name}: the gateway could not bring up {variant.model}: {said}; look at its log.")


async def _stop(gateway: GatewayControl, transport: HttpTransport, model: str, wait_s: float) -> None:
    """Stop a running model, all of them with an older llama-swap, and wait until it is gone."""
    start = time.monotonic()
    try:
        reply = await transport.post(f"/api/models/unload/{quote(model)}", b"", AGAIN_S)
        if reply.status in (_NOT_FOUND, _NO_METHOD):
            await transport.get("/unload", AGAIN_S)
    except TransportError as error:
        raise UnreachableError(f"the gateway does not stop {model}: {error}.") from None
    while model in (await gateway.running() or {}):
        if time.monotonic() - start > max(wait_s, AGAIN_S):
            raise UnreachableError(f"the gateway still runs {model} after it was told to stop it; look at its log.")
        await asyncio.sleep(0.1)


async def _tell(variant: ModelVariant, on_wait: Callable[[str], None]) -> None:
    start = time.monotonic()
    while True:
        waited = int(time.monotonic() - start)
        on_wait(f"{variant.name}: waiting for the gateway to bring up {variant.model} ({waited} s)")
        await asyncio.sleep(TELL_EVERY_S)


def _unknown(variant: ModelVariant, names: list[str]) -> str:
    return f"{variant.name}: the gateway has no model {variant.model}; it lists {', '.join(names)}."


def _id(entry: Any) -> str | None:
    name = entry.get("id") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _command(text: Any) -> tuple[str, ...] | None:
    """The words of a command, keys masked; null where it isn't told or can't be read."""
    try:
        return masked(tuple(shlex.split(text))) or None if isinstance(text, str) else None
    except ValueError:
        return None
