"""HTTP to one server: times, connections, keys, certificates and every way to fail."""

import asyncio
import os
import resource
import socket
import ssl
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import MAX_REPLY_BYTES, HttpTransport
from loadgen.client.transport_error import (
    ConnectFailedError,
    ConnectionLostError,
    LocalTroubleError,
    MalformedReplyError,
    TlsFailedError,
    TransportTimeoutError,
)
from loadgen.errors import ExperimentError

if TYPE_CHECKING:
    from tests.client.conftest import Peer, Serve, Wire

CERTIFICATE = Path(__file__).parent / "data" / "self_signed.pem"
KEY = Path(__file__).parent / "data" / "self_signed.key"


@pytest.fixture
def tls() -> ssl.SSLContext:
    """The TLS side of a server with a self-signed certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    return context


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_the_times_of_a_call_follow_each_other(serve: "Serve", wire: "Wire") -> None:
    """Start, connecting, sending, sent, headers, first bytes: in this order on one clock."""
    server = await serve(wire.play(b"data: [DONE]\n\n"))
    async with HttpTransport(server.endpoint) as transport:
        call = transport.stream("/v1/chat/completions", b'{"a":1}')
        async with call as reply:
            arrivals = [at_ns async for at_ns, _ in reply.reads()]
    times = call.times
    assert times.connect_ns is not None
    assert times.send_ns is not None
    assert times.send_done_ns is not None
    assert times.headers_ns is not None
    assert times.connect_ns > 0
    assert times.start_ns + times.connect_ns <= times.send_ns <= times.send_done_ns <= times.headers_ns <= arrivals[0]
    request = server.requests[0]
    assert (request.method, request.path, request.body) == ("POST", "/v1/chat/completions", b'{"a":1}')
    assert request.headers["content-type"] == "application/json"


async def test_a_reused_connection_has_no_connect_time(serve: "Serve", wire: "Wire") -> None:
    """The second call goes over the connection of the first: its connect time is null, not 0."""
    server = await serve(wire.play(b"data: [DONE]\n\n"))
    async with HttpTransport(server.endpoint) as transport:
        for _ in range(2):
            call = transport.stream("/", b"{}")
            async with call:
                pass
    assert call.times.connect_ns is None
    assert call.times.send_ns is not None
    assert len(server.connections) == 1


async def test_streams_of_llama_server_get_a_connection_each(serve: "Serve") -> None:
    """llama-server closes behind a stream without saying so: no turn is sent into a connection that is being closed."""

    async def script(peer: "Peer") -> None:
        while True:
            await peer.request()
            await peer.answer(b"{}", extra="Server: llama.cpp\r\n")

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        for _ in range(2):
            await transport.get("/health", 5)
        assert len(server.connections) == 1
        for _ in range(2):
            async with transport.stream("/", b"{}"):
                pass
    assert [request.headers["connection"] for request in server.requests] == ["keep-alive"] * 2 + ["close"] * 2
    assert len(server.connections) == 2


async def test_pieces_of_one_socket_read_share_their_arrival_time(serve: "Serve") -> None:
    """Three HTTP chunks in one write come as one read, the next write as another: two arrival times for four pieces."""
    read = asyncio.Event()

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await read.wait()
        read.clear()
        await peer.chunks(b"a", b"b", b"c")
        await read.wait()
        await peer.chunks(b"d")
        await peer.end_stream()

    server = await serve(script)
    seen: list[tuple[int, bytes]] = []
    async with HttpTransport(server.endpoint) as transport, transport.stream("/", b"{}") as reply:
        read.set()
        async for at_ns, piece in reply.reads():
            seen.append((at_ns, piece))
            if piece == b"c":
                read.set()
    assert [piece for _, piece in seen] == [b"a", b"b", b"c", b"d"]
    first, second, third, fourth = (at_ns for at_ns, _ in seen)
    assert first == second == third < fourth


async def test_as_many_connections_as_calls(serve: "Serve") -> None:
    """C26: 128 calls at once are 128 connections; none waits for a pool."""
    calls = 128
    everyone = asyncio.Event()
    here = 0

    async def script(peer: "Peer") -> None:
        nonlocal here
        await peer.request()
        here += 1
        if here == calls:
            everyone.set()
        await everyone.wait()
        await peer.open_stream()
        await peer.end_stream()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:

        async def one() -> int:
            async with transport.stream("/", b"{}") as reply:
                return reply.status

        statuses = await asyncio.gather(*(one() for _ in range(calls)))
    assert statuses == [200] * calls
    assert len(server.connections) == calls


async def test_a_connection_that_the_server_idled_out_is_replaced(serve: "Serve") -> None:
    """C65 c: the server closes after its reply; the next call succeeds on a second connection, without a retry."""
    closed = asyncio.Event()

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.answer(b"{}")
        closed.set()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        assert (await transport.get("/", 5)).status == 200
        await closed.wait()
        assert (await transport.get("/", 5)).status == 200
    assert (len(server.connections), len(server.requests)) == (2, 2)


async def test_the_key_goes_to_the_server_and_to_no_redirect(serve: "Serve", wire: "Wire") -> None:
    """C63: every call carries the key; a redirect to another host is a reply, never followed."""
    other = await serve(wire.say(b"{}"))

    async def script(peer: "Peer") -> None:
        while True:
            await peer.request()
            await peer.answer(b"", 307, extra=f"Location: {other.endpoint.url('/')}\r\n")

    server = await serve(script)
    async with HttpTransport(server.endpoint, api_key="k-123") as transport:
        assert (await transport.get("/metrics", 5)).status == 307
        assert (await transport.post("/tokenize", b"{}", 5)).status == 307
        async with transport.stream("/v1/chat/completions", b"{}") as reply:
            assert reply.status == 307
        assert transport.redact("wrong key k-123!") == "wrong key ***!"
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer k-123"] * 3
    assert all("k-123" not in request.path for request in server.requests)
    assert other.requests == []


@pytest.mark.parametrize("key", ["k-12\n", " k-12", "k-12\u00e9", "k-1\x002"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    """A key with a line end or other characters is the user's error, and the message doesn't show it."""
    with pytest.raises(ExperimentError) as caught:
        HttpTransport(Endpoint.parse("http://127.0.0.1:1"), api_key=key)
    assert "k-1" not in str(caught.value)


PROXY_CHILD = """
import asyncio, sys
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.client.transport_error import TransportError
async def main():
    async with HttpTransport(Endpoint.parse(sys.argv[1])) as transport:
        try:
            print((await transport.get("/", 20)).status)
        except TransportError as error:
            print(type(error).__name__)
asyncio.run(main())
"""


@pytest.mark.parametrize(("host", "said"), [("127.0.0.1", b"200"), ("target.invalid", b"203")])
async def test_proxies_are_for_other_machines(serve: "Serve", wire: "Wire", host: str, said: bytes) -> None:
    """Proxy variables of the environment apply, except to servers on this machine."""
    proxy = await serve(wire.say(b"{}", status=203))
    server = await serve(wire.say(b"{}"))
    command = [sys.executable, "-c", PROXY_CHILD, f"http://{host}:{server.endpoint.port}"]
    # Both spellings, because a machine may have set either.
    proxies = {"HTTP_PROXY": proxy.endpoint.label, "http_proxy": proxy.endpoint.label, "NO_PROXY": "", "no_proxy": ""}
    child = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, env={**os.environ, **proxies}
    )
    out, _ = await child.communicate()
    assert out.strip() == said


async def test_a_refused_connection_is_a_failed_connect() -> None:
    """Nobody listens: the error names address and reason, and the call has a start but no send time."""
    endpoint = Endpoint.parse(f"http://127.0.0.1:{free_port()}")
    async with HttpTransport(endpoint) as transport:
        call = transport.stream("/", b"{}")
        with pytest.raises(ConnectFailedError, match=f"{endpoint.port}: Connection refused"):
            async with call:
                pass
    assert call.times.send_ns is None
    assert call.times.connect_ns is None


async def test_an_unknown_name_is_a_failed_connect() -> None:
    """A host name that doesn't exist can't be connected to."""
    async with HttpTransport(Endpoint.parse("http://nobody.invalid:1"), connect_s=2) as transport:
        with pytest.raises(ConnectFailedError):
            await transport.get("/", 30)


async def test_the_connect_deadline_holds(serve: "Serve") -> None:
    """A peer that takes the connection but never answers the TLS handshake is given up after the connect deadline."""

    async def script(peer: "Peer") -> None:
        await peer.gone()

    server = await serve(script)
    endpoint = Endpoint.parse(f"https://127.0.0.1:{server.endpoint.port}")
    async with HttpTransport(endpoint, connect_s=0.05) as transport:
        with pytest.raises(ConnectFailedError, match=r"within 0\.05 s"):
            await transport.get("/", 5)
        with pytest.raises(ConnectFailedError, match=r"within 0\.04 s"):
            async with transport.stream("/", b"{}", connect_s=0.04):
                pass


async def test_a_self_signed_certificate_is_named(serve: "Serve", wire: "Wire", tls: ssl.SSLContext) -> None:
    """C64: an unknown certificate fails at once and says so; nothing is sent."""
    server = await serve(wire.say(b"{}"), tls=tls)
    async with HttpTransport(server.endpoint, api_key="k") as transport:
        with pytest.raises(TlsFailedError, match="its certificate is not accepted \\(self-signed certificate\\)"):
            await transport.get("/health", 5)
        with pytest.raises(TlsFailedError, match="certificate"):
            async with transport.stream("/", b"{}"):
                pass
    assert server.requests == []


@pytest.mark.parametrize("options", [{"ca_file": str(CERTIFICATE)}, {"insecure": True}])
async def test_ca_file_and_insecure_apply_to_every_call(
    serve: "Serve", wire: "Wire", tls: ssl.SSLContext, options: dict[str, str]
) -> None:
    """C64: with the CA file, or without checks, all three kinds of call go through, over the same settings."""
    server = await serve(wire.say(b"{}"), tls=tls)
    async with HttpTransport(server.endpoint, **options) as transport:  # type: ignore[arg-type] # one of two options
        assert (await transport.get("/health", 5)).status == 200
        assert (await transport.post("/tokenize", b"{}", 5)).status == 200
        async with transport.stream("/", b"{}") as reply:
            assert reply.status == 200


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_an_unusable_ca_file_is_the_users_error(tmp_path: Path, content: bytes | None) -> None:
    """A CA file that isn't there or holds no certificate is refused before anything is sent."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ExperimentError, match=r"ca\.pem"):
        HttpTransport(Endpoint.parse("https://127.0.0.1:1"), ca_file=str(path))


async def test_tls_to_a_plain_server_says_so(serve: "Serve") -> None:
    """https:// to a server that speaks plain HTTP is a TLS failure, not an absent server."""

    async def script(peer: "Peer") -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await peer.gone()

    server = await serve(script)
    async with HttpTransport(Endpoint.parse(f"https://127.0.0.1:{server.endpoint.port}")) as transport:
        with pytest.raises(TlsFailedError, match="handshake"):
            await transport.get("/", 5)


async def test_a_reset_before_the_reply_is_a_lost_connection(serve: "Serve") -> None:
    """C65 a: RST after the request was read; the times so far survive."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        peer.reset()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        call = transport.stream("/", b"{}")
        with pytest.raises(ConnectionLostError):
            async with call:
                pass
    assert call.times.connect_ns is not None
    assert call.times.send_ns is not None
    assert call.times.send_done_ns is not None
    assert call.times.headers_ns is None
    assert len(server.requests) == 1


async def test_a_reset_after_the_headers_is_a_lost_connection(serve: "Serve") -> None:
    """C65 b: 200 and headers, then RST before any byte of the body."""
    seen = asyncio.Event()

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await seen.wait()
        peer.reset()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport, transport.stream("/", b"{}") as reply:
        seen.set()
        with pytest.raises(ConnectionLostError):
            async for _ in reply.reads():
                pass
    assert reply.times.headers_ns is not None


async def test_a_body_that_ends_early_is_a_lost_connection(serve: "Serve") -> None:
    """A chunked body without its end is not whole, however politely the connection is closed."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(b"a")

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport, transport.stream("/", b"{}") as reply:
        reads = reply.reads()
        assert (await anext(reads))[1] == b"a"
        with pytest.raises(ConnectionLostError):
            await anext(reads)


async def test_what_is_no_http_is_a_malformed_reply(serve: "Serve") -> None:
    """A server of another protocol is told apart from one that hung up."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.send(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
        await peer.gone()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(MalformedReplyError):
            await transport.get("/", 5)


async def test_an_endless_reply_is_cut_off(serve: "Serve") -> None:
    """A control reply above the cap is refused, so memory stays bounded."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        for _ in range(2 * MAX_REPLY_BYTES >> 20):
            await peer.chunks(b"x" * (1 << 20))

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(MalformedReplyError, match="16 MiB"):
            await transport.get("/", 60)


async def test_a_late_reply_is_a_timeout(serve: "Serve") -> None:
    """The time given covers the whole reply, also one whose headers came in time."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.gone()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(TransportTimeoutError, match=r"within 0\.05 s"):
            await transport.get("/", 0.05)


async def test_no_free_descriptor_is_our_own_trouble(serve: "Serve", wire: "Wire") -> None:
    """C27: EMFILE is told apart from a server that is down."""
    server = await serve(wire.say(b"{}"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with HttpTransport(server.endpoint) as transport:
        lowest_free = os.dup(0)
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
        try:
            with pytest.raises(LocalTroubleError, match="Too many open files"):
                await transport.get("/", 5)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (await transport.get("/", 5)).status == 200


async def test_an_ipv6_server_is_reached_by_its_brackets() -> None:
    """C61: `[::1]` works as an address, in the Host header and in the label."""
    hosts: list[str] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        hosts.extend(line.partition(": ")[2] for line in head.split("\r\n") if line.lower().startswith("host:"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    if not socket.has_ipv6:
        pytest.skip("no IPv6 on this machine")
    try:
        server = await asyncio.start_server(connected, "::1", 0)
    except OSError:
        pytest.skip("no IPv6 loopback on this machine")
    async with server:
        port = server.sockets[0].getsockname()[1]
        endpoint = Endpoint.parse(f"http://[::1]:{port}/v1")
        async with HttpTransport(endpoint) as transport:
            assert (await transport.get("/health", 5)).status == 200
    assert hosts == [f"[::1]:{port}"]
    assert endpoint.label == f"http://[::1]:{port}"
