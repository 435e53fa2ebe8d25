"""The proxy between an agent and its server: an ASGI application that passes everything on, and records some of it.

Every piece of an answer is handed on before anything else is done with it, so that the agent sees the stream as the
server writes it. When the agent hangs up, the connection to the server is closed at once: llama-server then stops
generating.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from loadgen.client.relay import Header, Relay
from loadgen.client.transport_error import TransportError
from loadgen.recording.exchange import Exchange, now_s
from loadgen.recording.recorder import Recorder

__all__ = ["Proxy"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_BAD_GATEWAY = 502


@dataclass(frozen=True)
class _Request:
    """A request as it came."""

    method: str
    path: str
    target: bytes
    headers: list[Header]
    body: bytes


class Proxy:
    """Passes requests on through `relay`, and shows `recorder` those that it records.

    `tell` takes a sentence on what went wrong.
    """

    def __init__(self, relay: Relay, recorder: Recorder, tell: Callable[[str], None]) -> None:
        self._relay = relay
        self._recorder = recorder
        self._tell = tell
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request (ASGI 3)."""
        request = await _read(scope, receive)
        if request is None:
            return
        exchange = self._recorder.begin(request.method, request.path, dict(request.headers), request.body)
        passing = asyncio.create_task(self._pass_on(request, exchange, send))
        leaving = asyncio.create_task(_hung_up(receive))
        ended = False
        with self._counted():
            try:
                await asyncio.wait({passing, leaving}, return_when=asyncio.FIRST_COMPLETED)
                ended = True
            finally:
                hung_up = not passing.done()
                passing.cancel()
                leaving.cancel()
                broken = await _outcome(passing)
                broken = broken if ended else "the recording ended before it did"
                self._end(exchange, hung_up=hung_up, broken=broken)

    async def ended(self) -> None:
        """Returns when no request is under way."""
        await self._idle.wait()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """A request is under way."""
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _pass_on(self, request: _Request, exchange: Exchange | None, send: Send) -> str | None:
        """Pass a request on and its reply back; why the reply broke off, null where it didn't."""
        begun = False
        try:
            async with self._relay.passed_on(request.method, request.target, request.headers, request.body) as reply:
                if exchange is not None:
                    exchange.begin(reply.status, reply.headers)
                begun = True
                await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
                async for piece in reply.pieces():
                    at_s = now_s()
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    if exchange is not None:
                        exchange.take(piece, at_s)
                        if exchange.is_closed:
                            self._end(exchange)
        except TransportError as error:
            # An answer that has begun can't become an error: without its end the agent's connection is closed.
            if not begun:
                await _refuse(send, str(error))
            return str(error)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return None

    def _end(self, exchange: Exchange | None, *, hung_up: bool = False, broken: str | None = None) -> None:
        if exchange is None or exchange.is_over:
            return
        exchange.finish(hung_up=hung_up, broken=broken)
        try:
            self._recorder.end(exchange)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a recording, the agent goes on
            self._tell(f"not recorded: {exchange.api.route}: unexpected {type(error).__name__}")


async def _read(scope: Scope, receive: Receive) -> _Request | None:
    """The request with all of its body; null where the client left before its end."""
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    headers = [(bytes(name), bytes(value)) for name, value in scope["headers"]]
    return _Request(scope["method"], scope["path"], scope["raw_path"] + query, headers, bytes(body))


async def _hung_up(receive: Receive) -> None:
    """Returns when the client has closed its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _outcome(passing: "asyncio.Task[str | None]") -> str | None:
    """Why a reply broke off; null where it didn't, or the client did it."""
    try:
        return await passing
    except Exception as error:  # noqa: BLE001 - the server closes the connection; others go on
        return f"unexpected {type(error).__name__}"
    except asyncio.CancelledError:
        return None


async def _refuse(send: Send, why: str) -> None:
    """An answer of our own: the server gave none."""
    error = {"error": {"message": f"loadgen record: {why}", "type": "upstream_error", "code": _BAD_GATEWAY}}
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": _BAD_GATEWAY, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(error).encode(), "more_body": False})
