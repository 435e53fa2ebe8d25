"""A scripted server, and a recording proxy in front of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.recording.call import Call
from loadgen.recording.proxy import Proxy
from loadgen.recording.recorder import Recorder
from loadgen.recording.server import Listen, bound, serve
from loadgen.recording.sessions import Placed
from loadgen.recording.upstream import Upstream
from tests.client.conftest import Peer, Request

Script = Callable[[Peer], Awaitable[None]]


@dataclass
class Scripted:
    """A server: where it is, and what it was asked."""

    endpoint: Endpoint
    requests: list[Request]


@pytest.fixture
async def scripted() -> AsyncIterator[Callable[[Script], Awaitable[Scripted]]]:
    """Starts servers that run a script for every connection."""
    tasks: set[asyncio.Task[None]] = set()
    servers: list[asyncio.Server] = []

    async def start(script: Script) -> Scripted:
        requests: list[Request] = []

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await script(Peer(reader, writer, requests))
            writer.close()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        return Scripted(Endpoint("http", "127.0.0.1", port), requests)

    yield start
    for server in servers:
        server.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@dataclass
class Recording:
    """A proxy at work: its address, what it records and what it says."""

    url: str = ""
    recorder: Recorder = field(init=False)
    told: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, text: str) -> None:
        """A sentence that it says."""
        self.told.append(text)
        self._arrived.set()

    def place(self, call: Call, _place: Placed) -> None:
        """A call that it records."""
        self.calls.append(call)
        self._arrived.set()

    async def ended(self, count: int) -> None:
        """Returns when so many calls were recorded, or lost."""
        while len(self.calls) + len(self.told) < count:
            self._arrived.clear()
            await self._arrived.wait()


Record = Callable[..., AbstractAsyncContextManager[Recording]]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Puts a recording proxy in front of a server, with `api_key` where a test needs one."""

    @asynccontextmanager
    async def start(endpoint: Endpoint, *, api_key: str | None = None) -> AsyncIterator[Recording]:
        recording = Recording()
        recorder = Recorder(
            tmp_path / "sessions.jsonl",
            tell=recording.say,
            placed=recording.place,
        )
        with bound(Listen("127.0.0.1", 0)) as listening:
            recording.url, recording.recorder = f"http://127.0.0.1:{listening.getsockname()[1]}", recorder
            stop, ready = asyncio.Event(), asyncio.Event()
            async with Upstream(endpoint, api_key=api_key).relay() as relay:
                proxy = Proxy(relay, recorder, recording.say)
                serving = asyncio.create_task(serve(proxy, listening, stop, ready.set))
                await ready.wait()
                try:
                    yield recording
                finally:
                    stop.set()
                    await serving
                    recorder.close(written=False)

    return start
