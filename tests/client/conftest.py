"""A real HTTP server on 127.0.0.1 that plays whatever bytes a test scripts, and a chat client that talks to it."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from loadgen.client.chat import ChatCall, ChatClient, ChatResult, build_body
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.experiment.model import Deadlines
from loadgen.records.model import Phase, Place, RequestRecord, TokenEvent


@dataclass(frozen=True)
class Request:
    """A request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Peer:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: list[Request]) -> None:
        self._reader = reader
        self._writer = writer
        self._requests = requests

    async def request(self) -> Request:
        """Reads the next request."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(method, path, headers, body)
        self._requests.append(request)
        return request

    async def send(self, data: bytes) -> None:
        """Writes raw bytes in one go."""
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, body: bytes, status: int = 200, kind: str = "application/json", extra: str = "") -> None:
        """Writes a whole reply."""
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        await self.send(head.encode() + body)

    async def open_stream(self, kind: str = "text/event-stream") -> None:
        """Writes the head of a chunked reply, as llama-server does."""
        await self.send(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())

    async def chunks(self, *pieces: bytes) -> None:
        """Writes HTTP chunks in one go."""
        await self.send(b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces))

    async def end_stream(self) -> None:
        """Writes the end of a chunked reply."""
        await self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        """Resets the connection (RST)."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def gone(self) -> None:
        """Waits until the client has closed the connection (with unread bytes: reset it)."""
        with contextlib.suppress(ConnectionResetError):
            while await self._reader.read(65536):
                pass


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class Server:
    """A scripted server: where it is, and what it has seen."""

    endpoint: Endpoint
    requests: list[Request]
    connections: list[Peer]


Serve = Callable[..., Awaitable[Server]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Starts servers that run a script for every connection; `serve(script, tls=context)`."""
    tasks: set[asyncio.Task[None]] = set()
    servers: list[asyncio.Server] = []

    async def start(script: Script, tls: ssl.SSLContext | None = None) -> Server:
        requests: list[Request] = []
        connections: list[Peer] = []

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            peer = Peer(reader, writer, requests)
            connections.append(peer)
            # A client that goes away ends the script of its connection.
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await script(peer)
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                await writer.wait_closed()

        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls, backlog=256)
        servers.append(server)
        scheme = "https" if tls else "http"
        port = server.sockets[0].getsockname()[1]
        return Server(Endpoint.parse(f"{scheme}://127.0.0.1:{port}"), requests, connections)

    yield start
    for server in servers:
        server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def sse(*events: Any) -> bytes:
    """The events as llama-server writes them; text stays as it is (`[DONE]`)."""
    texts = [event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events]
    return b"".join(f"data: {text}\n\n".encode() for text in texts)


def delta(finish: str | None = None, **members: Any) -> dict[str, Any]:
    """A chunk with one choice."""
    return {
        "choices": [{"finish_reason": finish, "index": 0, "delta": members}],
        "object": "chat.completion.chunk",
    }


@dataclass(frozen=True)
class Wire:
    """Builders of what goes over the wire."""

    sse: Callable[..., bytes] = field(default=sse)
    delta: Callable[..., dict[str, Any]] = field(default=delta)

    def play(self, body: bytes) -> Script:
        """A script that answers every request of a connection with one whole stream."""

        async def script(peer: Peer) -> None:
            while True:
                await peer.request()
                await peer.open_stream()
                await peer.chunks(body)
                await peer.end_stream()

        return script

    def say(self, body: bytes, status: int = 200, kind: str = "application/json") -> Script:
        """A script that answers every request of a connection with one whole reply."""

        async def script(peer: Peer) -> None:
            while True:
                await peer.request()
                await peer.answer(body, status, kind)

        return script


@pytest.fixture
def wire() -> Wire:
    """Builders of event streams and scripts."""
    return Wire()


@dataclass
class Sent:
    """One turn that was sent: its result, and everything that the sink was given."""

    result: ChatResult
    sunk: list[tuple[RequestRecord, list[TokenEvent]]]

    @property
    def record(self) -> RequestRecord:
        """The one record."""
        assert len(self.sunk) == 1
        return self.sunk[0][0]


Send = Callable[..., Awaitable[Sent]]


def make_place() -> Place:
    """A place somewhere in a trial."""
    return Place(
        run="r",
        trial="t",
        round=1,
        variant="off",
        level=1,
        agent=0,
        session="s",
        root="s",
        turn=0,
        turns=1,
        turn_kind="user",
        attempt=1,
        phase=Phase.SEGMENT,
        ready_ns=1,
        scheduled_ns=2,
        wait_kind=None,
        in_flight=1,
        active_agents=1,
    )


def make_call(text: str = "What is the secret of the old lighthouse keeper?") -> ChatCall:
    """A call with a prompt."""
    body = build_body([{"role": "user", "content": text}], model=None, max_tokens=16, exact_length=False, extra={})
    return ChatCall(body=body, max_tokens=16, exact_length=False, keep_text=True)


@pytest.fixture
def place() -> Place:
    """A place somewhere in a trial."""
    return make_place()


@pytest.fixture
def call() -> ChatCall:
    """A call with a prompt."""
    return make_call()


@pytest.fixture
def send() -> Send:
    """Sends one turn to an endpoint, with `deadlines`, `call` and `api_key` where a test needs others."""

    async def run(
        endpoint: Endpoint,
        *,
        deadlines: Deadlines | None = None,
        call: ChatCall | None = None,
        api_key: str | None = None,
    ) -> Sent:
        sunk: list[tuple[RequestRecord, list[TokenEvent]]] = []
        async with HttpTransport(endpoint, api_key=api_key) as transport:
            client = ChatClient(
                transport, deadlines or Deadlines(), lambda record, events: sunk.append((record, events))
            )
            result = await client.send(call or make_call(), make_place())
        return Sent(result, sunk)

    return run
