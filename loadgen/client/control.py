"""llama-server's routes beside chat: health, properties, slots, models, metrics and tokenizer."""

import asyncio
import time
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from loadgen.client.chunk import replace_surrogates
from loadgen.client.endpoint import Endpoint
from loadgen.client.metrics_text import read_metrics
from loadgen.client.reply import Reply
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import (
    ConnectFailedError,
    ConnectionLostError,
    MalformedReplyError,
    TlsFailedError,
    TransportError,
    TransportTimeoutError,
)
from loadgen.errors import RefusedError, UnreachableError

QUICK_S = 5.0
"""Answers of control routes take milliseconds, but llama-server answers `/metrics` and `/slots` between two decode
steps, and a step with a long prompt in it takes seconds. What is later counts as missing."""
TOKENIZE_S = 30.0
"""Some hundred thousand characters of sample text take a tokenizer seconds."""
POLL_S = 0.1
"""Between two looks at a server that is loading or draining: short beside a model load, rare beside decode steps."""
ABSENT_S = 2.0
"""How long nobody may answer before we say so: a server that has just been started listens within this time."""

_PROCESSING = "llamacpp:requests_processing"
_DEFERRED = "llamacpp:requests_deferred"
_OK, _UNAUTHORIZED, _FORBIDDEN, _UNAVAILABLE = 200, 401, 403, 503
_BYTES = 256


class _Token(msgspec.Struct):
    """A token as `/tokenize` tells it: its text, or its bytes where they are no whole characters."""

    piece: str | list[Annotated[int, msgspec.Meta(ge=0, lt=_BYTES)]]


class _Tokens(msgspec.Struct):
    tokens: list[_Token]


class Health(StrEnum):
    """What a server's health route tells."""

    READY = "ready"
    LOADING = "loading"
    """It is starting, or accepts connections without answering yet."""
    ABSENT = "absent"
    """Nobody answers."""
    FOREIGN = "foreign"
    """Something answers, but not as llama-server does: another server with the chat API, or none at all."""


class Control:
    """The control routes of the server behind `transport`.

    A route that the server doesn't have, or that doesn't answer in time, gives None. `poll_s` and `absent_s` are the
    pace of waiting (seconds). Behind a router or a gateway the routes of one model lie elsewhere: see `_path`.
    """

    _model: str | None = None
    """The model that a POST names, where the server before it needs the name."""

    _health_route = "/health"

    def __init__(self, transport: HttpTransport, *, poll_s: float = POLL_S, absent_s: float = ABSENT_S) -> None:
        self._transport = transport
        self._poll_s = poll_s
        self._absent_s = absent_s

    @property
    def endpoint(self) -> Endpoint:
        """Where the server is."""
        return self._transport.endpoint

    async def health(self) -> Health:
        """The state of the server. Raises `RefusedError` where its certificate is not accepted."""
        try:
            reply = await self._transport.get(self._path(self._health_route), QUICK_S)
        except TlsFailedError as error:
            raise RefusedError(f"{error}; give its CA file with --ca, or allow it with --insecure.") from None
        except (ConnectFailedError, ConnectionLostError):
            return Health.ABSENT
        except TransportTimeoutError:
            return Health.LOADING
        except MalformedReplyError:
            return Health.FOREIGN
        if reply.status == _UNAVAILABLE:
            return Health.LOADING
        value = read_object(reply)
        return Health.READY if value is not None and value.get("status") == "ok" else Health.FOREIGN

    async def wait_ready(self, wait_s: float, on_wait: Callable[[str], None], *, patient: bool = False) -> None:
        """Returns when the server is ready and accepts our key; `on_wait` gets a text once a second of waiting.

        Raises `UnreachableError` where nobody answers (for `absent_s`, with `patient` for all of `wait_s`) or the
        server still loads after `wait_s`, and `RefusedError` for a wrong key, certificate or address.
        """
        label = self._transport.endpoint.label
        start = time.monotonic()
        absent_since: float | None = None
        said = ""
        while not await self._is_ready(health := await self.health()):
            now = time.monotonic()
            late = now - start >= wait_s
            absent_since = (absent_since or now) if health is Health.ABSENT else None
            if absent_since is not None and (late or not (patient or now - absent_since < self._absent_s)):
                raise UnreachableError(f"nobody answers at {label}; start the server or check the port.")
            if late:
                raise UnreachableError(f"{label} is still loading after {wait_s:g} s; wait longer with --wait.")
            what = "no answer yet" if health is Health.ABSENT else "loading"
            text = f"{label}: {what} ({int(now - start)} s)"
            if text != said:
                said = text
                on_wait(text)
            await asyncio.sleep(self._poll_s)

    async def props(self) -> dict[str, Any] | None:
        """`/props`, or None. Raises `RefusedError` where the key is not accepted."""
        return read_object(await self._checked("/props"))

    async def models(self) -> dict[str, Any] | None:
        """`/v1/models` (its list is `data`), or None. Raises `RefusedError` where the key is not accepted."""
        return read_object(await self._checked("/v1/models"))

    async def slots(self) -> list[dict[str, Any]] | None:
        """`/slots`, one object a slot, or None."""
        value = read_json(await self._get("/slots"))
        if not isinstance(value, list) or not all(isinstance(slot, dict) for slot in value):
            return None
        return value

    async def metrics(self) -> dict[str, float] | None:
        """`/metrics` by name, labelled series as `name{label="value"}`, or None. Values are finite."""
        reply = await self._get("/metrics")
        return read_metrics(reply.body) if reply is not None and reply.status == _OK else None

    async def tokenize(self, text: str) -> int | None:
        """The number of tokens in `text`, or None."""
        tokens = await self.tokens(text)
        return len(tokens) if tokens is not None else None

    async def tokens(self, text: str) -> list[Any] | None:
        """The token ids of `text`, or None."""
        value = read_object(await self._post("/tokenize", self._text(text, {})))
        tokens = value.get("tokens") if value is not None else None
        return tokens if isinstance(tokens, list) else None

    async def tokenize_pieces(self, text: str) -> list[bytes] | None:
        """The tokens of `text`, each as the bytes that it stands for, or None."""
        reply = await self._post("/tokenize", self._text(text, {"with_pieces": True}))
        if reply is None or reply.status != _OK:
            return None
        try:
            said = msgspec.json.decode(reply.body, type=_Tokens)
        except msgspec.MsgspecError:
            return None
        return [one.piece.encode() if isinstance(one.piece, str) else bytes(one.piece) for one in said.tokens]

    async def input_tokens(self, body: bytes) -> int | None:
        """The prompt tokens of a chat request, template and tools included, or None. Nothing is evaluated."""
        reply = await self._post("/v1/chat/completions/input_tokens", body)
        value = read_object(reply)
        tokens = value.get("input_tokens") if value is not None else None
        return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None

    async def wait_idle(self, timeout_s: float) -> bool:
        """Waits until no request is processed or queued; False where that takes longer than `timeout_s`.

        True at once where the server has neither `/metrics` nor `/slots`. A route that doesn't answer in time belongs
        to a busy server.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._is_idle():  # noqa: ASYNC110 -- a server can only be asked
                    await asyncio.sleep(self._poll_s)
        except TimeoutError:
            return False
        return True

    async def _is_idle(self) -> bool:
        reply = await self._get("/metrics")
        if reply is None:
            return False
        values = read_metrics(reply.body) if reply.status == _OK else None
        if values is not None and _PROCESSING in values:
            return values[_PROCESSING] == 0 and values.get(_DEFERRED, 0) == 0
        reply = await self._get("/slots")
        if reply is None:
            return False
        slots = read_json(reply)
        return not any(isinstance(slot, dict) and slot.get("is_processing") for slot in slots or ())

    async def _is_ready(self, health: Health) -> bool:
        if health is Health.READY:
            # llama-server answers /health without a key; /props tells whether ours is right.
            await self._checked("/props")
            return True
        if health is not Health.FOREIGN:
            return False
        reply = await self._checked("/v1/models")
        if reply is None or reply.status == _UNAVAILABLE:
            return False
        listing = read_object(reply)
        if listing is None or not isinstance(listing.get("data"), list):
            url = self._transport.endpoint.url("/v1/models")
            raise RefusedError(f"{url} answered {reply.status} and no list of models; check the address.")
        return True

    def _path(self, route: str) -> str:
        """Where a control route is at this server: at its root."""
        return route

    def _text(self, text: str, fields: dict[str, Any]) -> bytes:
        named = {"model": self._model} if self._model is not None else {}
        return msgspec.json.encode({"content": replace_surrogates(text), **named, **fields})

    async def _post(self, route: str, body: bytes) -> Reply | None:
        try:
            return await self._transport.post(self._path(route), body, TOKENIZE_S)
        except TransportError:
            return None

    async def _get(self, route: str) -> Reply | None:
        try:
            return await self._transport.get(self._path(route), QUICK_S)
        except TransportError:
            return None

    async def _checked(self, route: str) -> Reply | None:
        reply = await self._get(route)
        if reply is not None and reply.status in (_UNAUTHORIZED, _FORBIDDEN):
            raise key_refused(self._transport, route, reply.status)
        return reply


def key_refused(transport: HttpTransport, path: str, status: int) -> RefusedError:
    """The error for a reply that asks for a key, or for another one."""
    if transport.has_key:
        hint = "it doesn't accept the key in the variable that --api-key-env names"
    else:
        hint = "it needs a key; name the variable that holds it with --api-key-env"
    return RefusedError(f"{transport.endpoint.url(path)} answered {status}: {hint}.")


def read_json(reply: Reply | None) -> Any:
    """The JSON of a reply with status 200, or None."""
    if reply is None or reply.status != _OK:
        return None
    try:
        return msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        return None


def read_object(reply: Reply | None) -> dict[str, Any] | None:
    """The JSON object of a reply with status 200, or None."""
    value = read_json(reply)
    return value if isinstance(value, dict) else None
