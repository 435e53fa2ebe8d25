"""llama-server's routes beside chat, and servers that have others."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadgen.client.control import Control, Health
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RefusedError, UnreachableError

if TYPE_CHECKING:
    from tests.client.conftest import Peer, Script, Serve, Wire

DATA = Path(__file__).parent / "data"
LOADING = b'{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'
READY = b'{"status":"ok"}'


def routes(table: dict[str, tuple[int, Any]], *, otherwise: tuple[int, Any] = (404, {})) -> "Script":
    """A script with one reply a path: JSON, or bytes as they are."""

    async def script(peer: "Peer") -> None:
        while True:
            status, body = table.get((await peer.request()).path, otherwise)
            await peer.answer(body if isinstance(body, bytes) else json.dumps(body).encode(), status)

    return script


def in_turn(path: str, *replies: tuple[int, bytes]) -> "Script":
    """A script that gives the replies of one path one after the other and repeats the last; 404 elsewhere."""
    left = list(replies)

    async def script(peer: "Peer") -> None:
        while True:
            if (await peer.request()).path != path:
                await peer.answer(b"{}", 404)
                continue
            status, body = left.pop(0) if len(left) > 1 else left[0]
            await peer.answer(body, status)

    return script


def nobody() -> Endpoint:
    """An address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return Endpoint.parse(f"127.0.0.1:{probe.getsockname()[1]}")


@pytest.mark.parametrize(
    ("status", "body", "health"),
    [
        (200, READY, Health.READY),
        (503, LOADING, Health.LOADING),
        (503, b'{"status":"loading model"}', Health.LOADING),
        (200, b"<html>ok</html>", Health.FOREIGN),
        (200, b"", Health.FOREIGN),
        (200, b'{"status":"fine"}', Health.FOREIGN),
        (404, b'{"detail":"Not Found"}', Health.FOREIGN),
        (401, b"{}", Health.FOREIGN),
    ],
)
async def test_health_is_what_the_route_says(
    serve: "Serve", wire: "Wire", status: int, body: bytes, health: Health
) -> None:
    """Only llama-server's own answer is ready; both 503 bodies are loading; HTML and others are foreign."""
    server = await serve(wire.say(body, status))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport).health() is health


async def test_nobody_is_absent() -> None:
    """A refused connection is an absent server."""
    async with HttpTransport(nobody()) as transport:
        assert await Control(transport).health() is Health.ABSENT


async def test_waiting_ends_when_the_model_is_loaded(serve: "Serve") -> None:
    """C30: 503 while loading, then ready; what we wait for is said."""
    server = await serve(in_turn("/health", (503, LOADING), (503, LOADING), (200, READY)))
    said: list[str] = []
    async with HttpTransport(server.endpoint) as transport:
        await Control(transport, poll_s=0.001).wait_ready(60, said.append)
    assert said
    assert said[0] == f"{server.endpoint.label}: loading (0 s)"


async def test_a_server_that_keeps_loading_is_unreachable(serve: "Serve", wire: "Wire") -> None:
    """C30: after the wait the error says 'still loading', not 'nobody'."""
    server = await serve(wire.say(LOADING, 503))
    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(UnreachableError, match=r"still loading after 0\.05 s"):
            await Control(transport, poll_s=0.01).wait_ready(0.05, lambda _: None)


@pytest.mark.parametrize(("wait_s", "patient"), [(3600, False), (0.05, True)])
async def test_nobody_is_told_soon(wait_s: float, patient: bool) -> None:
    """An absent server is no reason to wait for an hour; with patience it is waited for as long as asked."""
    endpoint = nobody()
    async with HttpTransport(endpoint) as transport:
        control = Control(transport, poll_s=0.01, absent_s=0.02)
        with pytest.raises(UnreachableError, match=f"nobody answers at {endpoint.label}"):
            await control.wait_ready(wait_s, lambda _: None, patient=patient)


async def test_patience_waits_for_a_server_that_comes_later() -> None:
    """With patience the server may start after we do."""
    endpoint = nobody()
    late: list[asyncio.Server] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n" + READY)
        writer.close()
        await writer.wait_closed()

    starting = asyncio.Event()

    async def start() -> None:
        await starting.wait()
        late.append(await asyncio.start_server(connected, "127.0.0.1", endpoint.port))

    task = asyncio.create_task(start())
    async with HttpTransport(endpoint) as transport:
        control = Control(transport, poll_s=0.001, absent_s=0)
        await control.wait_ready(60, lambda _: starting.set(), patient=True)
    await task
    late[0].close()
    await late[0].wait_closed()


@pytest.mark.parametrize(("key", "hint"), [(None, "needs a key"), ("wrong", "doesn't accept the key")])
async def test_a_wrong_key_is_refused_at_the_start(serve: "Serve", key: str | None, hint: str) -> None:
    """C63: /health is open, so the key is tried on /props; the message names the option and not the key."""
    server = await serve(routes({"/health": (200, READY), "/props": (401, {})}))
    async with HttpTransport(server.endpoint, api_key=key) as transport:
        with pytest.raises(RefusedError, match="--api-key-env") as caught:
            await Control(transport).wait_ready(60, lambda _: None)
    assert hint in str(caught.value)
    assert "wrong" not in str(caught.value)


async def test_an_unknown_certificate_is_refused_at_once(serve: "Serve", wire: "Wire") -> None:
    """C64: not a timeout after the wait, but an error that names the certificate and the two ways out."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DATA / "self_signed.pem", DATA / "self_signed.key")
    server = await serve(wire.say(READY), tls=context)
    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(RefusedError, match=r"certificate .*self-signed.*--ca.*--insecure"):
            await Control(transport).wait_ready(300, lambda _: None)


async def test_another_server_with_the_chat_api_is_ready(serve: "Serve") -> None:
    """A vLLM server has no such /health, but lists its models."""
    server = await serve(routes({"/health": (200, b""), "/v1/models": (200, {"data": [{"id": "m"}]})}))
    async with HttpTransport(server.endpoint) as transport:
        await Control(transport).wait_ready(60, lambda _: None)


@pytest.mark.parametrize("reply", [(200, b"<html>"), (404, b"{}"), (200, b'{"x":1}')])
async def test_what_serves_no_models_is_refused_with_its_url(
    serve: "Serve", wire: "Wire", reply: tuple[int, bytes]
) -> None:
    """C30, C62: a web page at the port is no server; the message shows the whole URL."""
    server = await serve(wire.say(reply[1], reply[0]))
    endpoint = Endpoint.parse(server.endpoint.url("/prefix"))
    async with HttpTransport(endpoint) as transport:
        with pytest.raises(RefusedError, match=f"{endpoint.label}/v1/models answered {reply[0]}"):
            await Control(transport).wait_ready(60, lambda _: None)


async def test_objects_are_given_as_sent(serve: "Serve") -> None:
    """Properties, slots, models and token counts, each from its route."""
    props, slots, models = {"total_slots": 2}, [{"id": 0, "n_ctx": 1024}], {"data": [{"id": "m"}]}
    server = await serve(
        routes(
            {
                "/props": (200, props),
                "/slots": (200, slots),
                "/v1/models": (200, models),
                "/tokenize": (200, {"tokens": [5, 6, 7]}),
            }
        )
    )
    async with HttpTransport(server.endpoint, api_key="k") as transport:
        control = Control(transport)
        assert await control.props() == props
        assert await control.slots() == slots
        assert await control.models() == models
        assert await control.tokenize("one two\ud83d") == 3
    assert all(request.headers["authorization"] == "Bearer k" for request in server.requests)
    assert json.loads(server.requests[-1].body) == {"content": "one two\ufffd"}


@pytest.mark.parametrize("reply", [(501, b"{}"), (404, b"{}"), (200, b"<html>"), (200, b"7"), (200, b'["x"]')])
async def test_routes_that_the_server_lacks_give_none(serve: "Serve", wire: "Wire", reply: tuple[int, bytes]) -> None:
    """C57: 501, 404, pages and other JSON are missing routes, not errors."""
    server = await serve(wire.say(reply[1], reply[0]))
    async with HttpTransport(server.endpoint) as transport:
        control = Control(transport)
        found = (await control.props(), await control.slots(), await control.models(), await control.tokenize("x"))
        assert found == (None, None, None, None)
        assert await control.metrics() is None


async def test_a_key_that_metrics_refuse_costs_only_the_metrics(serve: "Serve", wire: "Wire") -> None:
    """C63, variant: /metrics always 401 is a missing source, not the end of the run."""
    server = await serve(wire.say(b"{}", 401))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport).metrics() is None


@pytest.mark.parametrize("call", [Control.props, Control.models])
async def test_a_key_that_properties_refuse_is_an_error(
    serve: "Serve", wire: "Wire", call: Callable[[Control], Any]
) -> None:
    """401 and 403 say which URL and which option."""
    server = await serve(wire.say(b"{}", 403))
    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(RefusedError, match="answered 403"):
            await call(Control(transport))


async def test_metrics_are_read_whatever_their_content_type(serve: "Serve", wire: "Wire") -> None:
    """C57: the page counts, not its label."""
    server = await serve(wire.say(b"llamacpp:requests_processing 3\n", kind="application/json"))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport).metrics() == {"llamacpp:requests_processing": 3.0}


def gauges(processing: int, deferred: int) -> tuple[int, bytes]:
    """A metrics page."""
    return 200, f"llamacpp:requests_processing {processing}\nllamacpp:requests_deferred {deferred}\n".encode()


async def test_idle_is_nothing_processed_and_nothing_queued(serve: "Serve") -> None:
    """Both gauges must be 0: a queued request will still run."""
    server = await serve(in_turn("/metrics", gauges(2, 4), gauges(0, 1), gauges(1, 0), gauges(0, 0)))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport, poll_s=0.001).wait_idle(60)
    assert len(server.requests) == 4


async def test_without_metrics_the_slots_tell(serve: "Serve") -> None:
    """/slots stands in where /metrics is off."""
    busy, idle = (200, b'[{"is_processing":true},{"is_processing":false}]'), (200, b'[{"is_processing":false}]')
    server = await serve(in_turn("/slots", busy, idle))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport, poll_s=0.001).wait_idle(60)
    assert [request.path for request in server.requests] == ["/metrics", "/slots"] * 2


async def test_without_either_idle_is_assumed(serve: "Serve") -> None:
    """A server with neither route can't be asked: no waiting."""
    server = await serve(routes({}))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport).wait_idle(60)
    assert len(server.requests) == 2


async def test_a_server_that_stays_busy_is_not_idle(serve: "Serve", wire: "Wire") -> None:
    """After the time given the answer is no."""
    server = await serve(wire.say(gauges(1, 0)[1]))
    async with HttpTransport(server.endpoint) as transport:
        assert not await Control(transport, poll_s=0.01).wait_idle(0.05)


async def test_a_metrics_route_that_hangs_is_not_idle(serve: "Serve") -> None:
    """C56: a route that doesn't answer in time belongs to a busy server, it isn't missing."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.gone()

    server = await serve(script)
    async with HttpTransport(server.endpoint) as transport:
        assert not await Control(transport).wait_idle(0.05)


class Elsewhere(Control):
    """One model of several at a server, as routers and gateways have them."""

    _model = "m"

    def _path(self, route: str) -> str:
        return f"/of/m{route}"


async def test_routes_of_one_model_may_lie_elsewhere(serve: "Serve") -> None:
    """Every question goes there, and a POST names the model."""
    table = {f"/of/m{path}": (200, value) for path, value in (("/health", READY), ("/slots", [{"id": 0}]))}
    server = await serve(routes(table))
    async with HttpTransport(server.endpoint) as transport:
        control = Elsewhere(transport)
        assert await control.health() is Health.READY
        assert await control.slots() == [{"id": 0}]
        await control.props()
        await control.models()
        await control.metrics()
        await control.tokenize("text")
    assert {request.path.removeprefix("/of/m") for request in server.requests} == {
        *("/health", "/slots", "/props", "/v1/models", "/metrics", "/tokenize"),
    }
    assert json.loads(server.requests[-1].body) == {"content": "text", "model": "m"}


@pytest.mark.parametrize(
    ("tokens", "pieces"),
    [
        ([{"id": 5, "piece": "one"}, {"id": 6, "piece": " é"}], [b"one", " é".encode()]),
        ([{"id": 5, "piece": [195]}, {"id": 6, "piece": [169]}], ["é".encode()[:1], "é".encode()[1:]]),
        ([], []),
        ([5, 6, 7], None),
        ([{"id": 5}], None),
        ([{"id": 5, "piece": [300]}], None),
        ({"id": 5}, None),
    ],
)
async def test_tokens_come_with_the_bytes_that_they_stand_for(
    serve: "Serve", tokens: Any, pieces: list[bytes] | None
) -> None:
    """A text, or bytes where they are no whole characters; null where a server doesn't say."""
    server = await serve(routes({"/tokenize": (200, {"tokens": tokens})}))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport).tokenize_pieces("one é") == pieces
    assert json.loads(server.requests[-1].body) == {"content": "one é", "with_pieces": True}


@pytest.mark.parametrize(
    ("status", "body", "tokens"),
    [(200, {"input_tokens": 71}, 71), (200, {"input_tokens": "71"}, None), (200, [], None), (404, {}, None)],
)
async def test_a_chat_request_can_be_counted(serve: "Serve", status: int, body: Any, tokens: int | None) -> None:
    """By the route that takes it whole; null where a server has none."""
    server = await serve(routes({"/v1/chat/completions/input_tokens": (status, body)}))
    async with HttpTransport(server.endpoint) as transport:
        assert await Control(transport).input_tokens(b'{"messages":[]}') == tokens
