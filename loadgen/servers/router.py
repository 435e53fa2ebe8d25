"""Variants that are presets of a running llama-server router: loaded before their trials and unloaded after them.

The router answers a load at once and reports how it goes in `/models`: `loading`, then `loaded`, or `unloaded` again
with `failed` and an exit code. It also unloads on its own: the least recently used model above `--models-max`, or an
idle one. Every control call says `autoload=false`, so that looking at a preset never loads it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from loadgen.client.control import Control, Health, read_object
from loadgen.client.reply import Reply
from loadgen.client.server_error import read_error_body
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import TransportError
from loadgen.errors import RefusedError, TargetError, UnreachableError, VariantError
from loadgen.experiment.llama_flags import masked
from loadgen.experiment.variant import RouterVariant
from loadgen.servers.lease import Lease
from loadgen.servers.load_failure import ending

START = "llama-server --models-preset FILE --models-max 1 --no-models-autoload"
"""How a router is started in which nothing is loaded or unloaded but what we ask for."""

ORDER_S = 30.0
"""A load or unload is answered at once, or after the router has stopped another model (10 s and then by force)."""

_LOADED, _LOADING, _SLEEPING, _UNLOADED, _FAILED = "loaded", "loading", "sleeping", "unloaded", "failed"
_RUNNING = (_LOADED, _LOADING, _SLEEPING)
_OK, _NOT_FOUND = 200, 404
_LIMIT = "model limit reached"
"""The router is still unloading another model: to be asked again."""


@dataclass(frozen=True)
class Preset:
    """What a router says of one of its presets. `args` is the command of its server while it runs."""

    name: str
    status: str
    failed: bool = False
    exit_code: int | None = None
    args: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class RouterControl(Control):
    """The control routes of one preset, and the router's own."""

    def __init__(self, transport: HttpTransport, preset: str) -> None:
        super().__init__(transport)
        self._model = preset
        self._args: tuple[str, ...] = ()

    async def health(self) -> Health:
        """Whether the preset is loaded, and has been since `load`.

        A preset that was unloaded meanwhile is absent, also when it was loaded again since; one that sleeps or loads
        is loading.
        """
        health = await super().health()
        if health is not Health.READY:
            return health
        presets = await self._presets()
        if presets is None:
            return Health.LOADING
        preset = presets.get(self._model or "")
        if preset is None or preset.status not in _RUNNING or (self._args and preset.args != self._args):
            return Health.ABSENT
        return Health.READY if preset.status == _LOADED else Health.LOADING

    async def models(self) -> dict[str, Any] | None:
        """The preset's own entry of the router's list."""
        listing = read_object(await self._checked("/models"))
        entries = (listing or {}).get("data")
        own = [entry for entry in entries if _is(entry, self._model)] if isinstance(entries, list) else []
        return {"data": own} if listing is not None else None

    async def presets(self) -> dict[str, Preset]:
        """All presets by name. Raises `RefusedError` where the server is no router."""
        presets = await self._presets()
        if not presets:
            label = self._transport.endpoint.label
            raise RefusedError(f"{label} is no router with presets; start one with `{START}`, or use kind: url.")
        return presets

    async def load(self, variant: str, wait_s: float, on_wait: Callable[[str], None]) -> Preset:
        """Load the preset, which must not run, and wait until it is loaded.

        Raises `VariantError` where its server ends while loading, `UnreachableError` where that takes too long.
        """
        start = time.monotonic()
        ordered, began = False, False
        while True:
            ordered = ordered or await self._order("load", variant)
            preset = await self._news()
            if preset is not None and ordered:
                if preset.status == _LOADED:
                    self._args = preset.args
                    return preset
                if preset.failed or (began and preset.status == _UNLOADED):
                    raise VariantError(_failure(variant, preset))
                began = began or preset.status == _LOADING
            waited = time.monotonic() - start
            if waited >= wait_s:
                raise UnreachableError(
                    f"{variant}: preset {self._model} is still loading after {wait_s:g} s; wait longer with --wait."
                )
            on_wait(f"{variant}: waiting for the router to load {self._model} ({int(waited)} s)")
            await asyncio.sleep(self._poll_s)

    async def unload(self, wait_s: float, on_wait: Callable[[str], None] = lambda _what: None) -> None:
        """Unload the preset if it runs, and wait until it is gone. Raises `UnreachableError` where it stays."""
        start = time.monotonic()
        ordered = False
        while True:
            preset = await self._news()
            if preset is not None and preset.status not in _RUNNING:
                return
            ordered = ordered or await self._order("unload", self._model or "")
            waited = time.monotonic() - start
            if waited >= max(wait_s, ORDER_S):
                raise UnreachableError(
                    f"{self._transport.endpoint.label} has not unloaded {self._model} after {waited:.0f} s; "
                    "look at the router's log."
                )
            on_wait(f"waiting for the router to unload {self._model} ({int(waited)} s)")
            await asyncio.sleep(self._poll_s)

    def _path(self, route: str) -> str:
        if route in ("/health", "/models", "/models/load", "/models/unload"):
            return route
        return f"{route}?model={quote(self._model or '', safe='')}&autoload=false"

    async def _order(self, what: str, variant: str) -> bool:
        """Send an order; false where it is to be sent again. Raises `TargetError`s for a refusal."""
        body = msgspec.json.encode({"model": self._model})
        try:
            reply = await self._transport.post(self._path(f"/models/{what}"), body, ORDER_S)
        except TransportError:
            return False
        if reply.status == _OK or (what == "unload" and reply.status != _NOT_FOUND):
            return True  # 400: it doesn't run any more
        said = _said(reply, body, self._transport)
        if _LIMIT in said:
            return False
        if reply.status == _NOT_FOUND and "model" not in said:
            raise RefusedError(
                f"{self._transport.endpoint.label} has no /models/{what}; start a router with `{START}`."
            )
        raise VariantError(f"{variant}: the router refused to {what} {self._model}: {said}")

    async def _news(self) -> Preset | None:
        """The preset as it is now; null where the router doesn't answer. `UnreachableError` where it is gone."""
        presets = await self._presets()
        if presets is None and await super().health() is Health.ABSENT:
            raise UnreachableError(f"the router at {self._transport.endpoint.label} is gone.")
        return (presets or {}).get(self._model or "")

    async def _presets(self) -> dict[str, Preset] | None:
        """Null where the router doesn't answer; empty where it is none."""
        reply = await self._checked("/models")
        listing = read_object(reply)
        if listing is None:
            return None if reply is None or reply.status != _NOT_FOUND else {}
        entries = listing.get("data")
        found = [_preset(entry) for entry in entries] if isinstance(entries, list) else []
        return {preset.name: preset for preset in found if preset is not None}


async def load_preset(
    variant: RouterVariant,
    transport: HttpTransport,
    *,
    rivals: AbstractSet[str],
    wait_s: float,
    on_wait: Callable[[str], None],
) -> Lease:
    """Load the variant's preset anew, after unloading those of `rivals` (presets of the same experiment).

    A preset that runs already is loaded again, so that every block starts from the same state. Models that the router
    runs beside are told to `on_wait` and left alone. Raises `TargetError`s; what was being loaded is unloaded before.
    """
    await Control(transport).wait_ready(wait_s, on_wait)
    presets = await RouterControl(transport, variant.preset).presets()
    name = _known(variant, presets)
    for rival in presets.values():
        if rival.status in _RUNNING and rival.name != name:
            if rival.name in rivals or rivals & set(rival.aliases):
                await RouterControl(transport, rival.name).unload(wait_s, on_wait)
            else:
                on_wait(f"the router also runs {rival.name}, which is no variant: it takes memory and may take turns")
    control = RouterControl(transport, name)
    await control.unload(wait_s, on_wait)
    start = time.monotonic()

    async def release() -> None:
        try:
            await control.unload(ORDER_S)
        except TargetError:
            return  # the router is gone or hangs: nothing of ours is left to undo

    try:
        loaded = await control.load(variant.name, wait_s, on_wait)
    except BaseException:
        await asyncio.shield(release())
        raise
    return Lease(
        control=control,
        model=name,
        ready_s=time.monotonic() - start,
        command=masked(loaded.args) or None,
        release=release,
    )


def _known(variant: RouterVariant, presets: Mapping[str, Preset]) -> str:
    """The name under which the router keeps the preset; it may be given by an alias."""
    for preset in presets.values():
        if variant.preset == preset.name or variant.preset in preset.aliases:
            return preset.name
    raise VariantError(
        f"{variant.name}: the router has no preset {variant.preset}; it has {', '.join(sorted(presets))}. "
        "A router reads its presets when it starts."
    )


def _is(entry: Any, name: str | None) -> bool:
    return isinstance(entry, dict) and entry.get("id") == name


def _preset(entry: Any) -> Preset | None:
    """One entry of the list; null where it isn't one of a router: a single llama-server's has no status."""
    status = entry.get("status") if isinstance(entry, dict) else None
    value = status.get("value") if isinstance(status, dict) else None
    if not isinstance(status, dict) or not isinstance(value, str) or not isinstance(entry.get("id"), str):
        return None
    exit_code = status.get("exit_code")
    return Preset(
        name=entry["id"],
        status=value,
        failed=value == _FAILED or status.get("failed") is True,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        args=_texts(status.get("args")),
        aliases=_texts(entry.get("aliases")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(member) for member in value) if isinstance(value, list) else ()


def _failure(variant: str, preset: Preset) -> str:
    if not preset.failed:
        return f"{variant}: preset {preset.name} was unloaded while it loaded: another client uses the router."
    how = f"its server {ending(preset.exit_code)}" if preset.exit_code is not None else "its server ended"
    return (
        f"{variant}: the router could not load preset {preset.name}: {how} while loading. The reason is in the "
        "router's own output, where the lines of each server begin with its port in brackets."
    )


def _said(reply: Reply, sent: bytes, transport: HttpTransport) -> str:
    error = read_error_body(reply.body)
    return f"HTTP {reply.status} {error.one_line(sent, transport.redact) if error is not None else ''}".strip()
