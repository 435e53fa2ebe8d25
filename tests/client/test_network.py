"""Reads carry the time at which their bytes arrived, not the time at which we looked."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from loadgen.client.chat import ChatCall, ChatClient
from loadgen.client.endpoint import Endpoint
from loadgen.client.network import KERNEL_STAMPS, KernelStampedStream, LagMeter, StampingBackend
from loadgen.client.transport import HttpTransport
from loadgen.experiment.model import Deadlines
from loadgen.records.model import Outcome, Place, RequestRecord
from loadgen.units import s_to_ns

if TYPE_CHECKING:
    from tests.client.conftest import Peer, Serve, Wire

pytestmark = pytest.mark.skipif(not KERNEL_STAMPS, reason="the kernel's stamps are read on 64-bit Linux only")

BLOCKED_S = 0.3
ECHOES = 200


@pytest.fixture
async def stamping(serve: "Serve") -> AsyncIterator[None]:
    """The kernel stamps packets: it begins a moment after the first connection asks, and goes on while one is open."""

    async def script(peer: "Peer") -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                await peer.request()
                await peer.answer(b"{}")

    meter = LagMeter()
    endpoint = (await serve(script)).endpoint
    stream = await StampingBackend(meter, kernel=True).connect_tcp(endpoint.host, endpoint.port)
    for _ in range(ECHOES):
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        await stream.read(1000)
        if meter.take():
            break
    yield
    await stream.aclose()


@pytest.mark.usefixtures("stamping")
async def test_a_blocked_event_loop_does_not_move_the_arrival(
    serve: "Serve", wire: "Wire", call: ChatCall, place: Place
) -> None:
    """Bytes that came while our loop was busy for 300 ms keep their arrival time, and the lag says how late we were."""
    sent_ns: list[int] = []

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        sent_ns.append(time.monotonic_ns())
        await peer.chunks(wire.sse(wire.delta(content="A"), wire.delta(finish="stop"), "[DONE]"))
        # Busy on purpose, from right after the write on: the client shares this loop and can't read before.
        time.sleep(BLOCKED_S)  # noqa: ASYNC251 - blocking the loop is what this test is about
        await peer.gone()

    server = await serve(script)
    sunk: list[RequestRecord] = []
    async with HttpTransport(server.endpoint) as transport:
        await ChatClient(transport, Deadlines(), lambda record, _: sunk.append(record)).send(call, place)
        lags = transport.take_lags_ns()
    record = sunk[0]
    assert record.outcome is Outcome.OK
    assert record.first_token_ns is not None
    assert record.first_token_ns - sent_ns[0] < s_to_ns(BLOCKED_S / 2)
    assert record.end_ns - record.first_token_ns >= s_to_ns(BLOCKED_S / 2)
    assert max(lags) >= s_to_ns(BLOCKED_S / 2)
    assert transport.stamps == "kernel"


@pytest.mark.usefixtures("stamping")
async def test_arrivals_never_lie_in_the_future(serve: "Serve") -> None:
    """A stamp is at most as late as the moment at which the read returned, and a lag is never negative."""

    async def script(peer: "Peer") -> None:
        await connected.wait()
        await peer.send(b"x")
        await peer.gone()

    connected = asyncio.Event()
    server = await serve(script)
    meter = LagMeter()
    stream = await StampingBackend(meter, kernel=True).connect_tcp(server.endpoint.host, server.endpoint.port)
    assert isinstance(stream, KernelStampedStream)
    try:
        before_ns = time.monotonic_ns()
        connected.set()
        assert await stream.read(100) == b"x"
        assert before_ns - s_to_ns(0.001) <= stream.read_at_ns <= time.monotonic_ns()
    finally:
        await stream.aclose()
    (lag,) = meter.take()
    assert lag >= 0
    assert meter.take() == []


async def test_waiting_for_bytes_can_be_cancelled(serve: "Serve") -> None:
    """A cancelled read leaves a connection that can be read again."""

    async def script(peer: "Peer") -> None:
        await resumed.wait()
        await peer.send(b"late")
        await peer.gone()

    resumed = asyncio.Event()
    server = await serve(script)
    stream = await StampingBackend(LagMeter(), kernel=True).connect_tcp(server.endpoint.host, server.endpoint.port)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await stream.read(100)
    resumed.set()
    assert await stream.read(100) == b"late"
    await stream.aclose()


async def test_encrypted_targets_get_our_own_stamps() -> None:
    """Over TLS the kernel's packets are not the bytes that we read, so the time is ours and says so."""
    async with HttpTransport(Endpoint.parse("https://127.0.0.1:1"), insecure=True) as transport:
        assert transport.stamps == "user"
        assert transport.take_lags_ns() == []


async def test_the_head_of_a_post_leaves_with_its_body(serve: "Serve") -> None:
    """Both writes of a request arrive whole and in order; a GET, which has no body, is not held back."""
    async with HttpTransport((await serve(_echo_two)).endpoint) as transport:
        assert (await transport.post("/tokenize", b'{"content":"x"}', 5)).body == b'POST {"content":"x"}'
        assert (await transport.get("/health", 5)).body == b"GET "


async def _echo_two(peer: "Peer") -> None:
    for _ in range(2):
        request = await peer.request()
        await peer.answer(f"{request.method} ".encode() + request.body)
