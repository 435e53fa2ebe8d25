"""What a server is, as it says itself."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RefusedError
from loadgen.records.model import ServerFacts
from loadgen.servers.preflight import PROBE_TOKENS, probe_drafts, read_facts

if TYPE_CHECKING:
    from tests.servers.conftest import Served

Routes = dict[str, tuple[int, bytes]]
Answer = Callable[[Routes], Awaitable[Endpoint]]

PROPS: dict[str, Any] = {
    "default_generation_settings": {"params": {"temperature": 0.8, "top_k": 40}, "n_ctx": 1024},
    "total_slots": 2,
    "model_path": "/models/m.gguf",
    "build_info": "b11549-abc",
}
SLOTS = [{"id": 0, "n_ctx": 1024, "speculative": False}, {"id": 1, "n_ctx": 1000, "speculative": True}]


def ok(value: Any) -> tuple[int, bytes]:
    """A JSON reply."""
    return 200, json.dumps(value).encode()


@pytest.fixture
async def asked() -> list[bytes]:
    """The bodies that the server has been sent."""
    return []


@pytest.fixture
async def answer(asked: list[bytes]) -> AsyncIterator[Answer]:
    """Starts servers with one fixed reply a route and 404 elsewhere."""
    servers: list[asyncio.Server] = []

    async def start(routes: Routes) -> Endpoint:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next((line[15:] for line in head.split("\r\n") if line.startswith("content-length:")), "0")
            asked.append(await reader.readexactly(int(length)))
            status, body = routes.get(head.split(" ")[1], (404, b"{}"))
            writer.write(f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            writer.write(body)
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        servers.append(server)
        return Endpoint.parse(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")

    yield start
    for server in servers:
        server.close()
        await server.wait_closed()


async def facts_of(endpoint: Endpoint) -> ServerFacts:
    """The facts of the server at an endpoint."""
    async with HttpTransport(endpoint) as transport:
        return await read_facts(Control(transport))


async def test_everything_that_a_llama_server_says_is_read(answer: Answer) -> None:
    """Model, slots, the smallest context of a slot, build, sampling, speculation and metrics."""
    endpoint = await answer(
        {
            "/health": ok({"status": "ok"}),
            "/v1/models": ok({"data": [{"id": "m"}]}),
            "/props": ok(PROPS),
            "/slots": ok(SLOTS),
            "/metrics": (200, b"llamacpp:n_decode_total 0\n"),
        }
    )
    assert await facts_of(endpoint) == ServerFacts(
        kind="llama-server",
        model="m",
        model_path="/models/m.gguf",
        build="b11549-abc",
        slots=2,
        context_per_slot=1000,
        metrics=True,
        speculative=True,
        drafted=None,
        sampling={"temperature": 0.8, "top_k": 40},
    )


async def test_properties_stand_in_for_slots_that_are_off(answer: Answer) -> None:
    """With --no-slots the number and context of slots come from /props, and speculation is unknown, not off."""
    facts = await facts_of(await answer({"/health": ok({"status": "ok"}), "/props": ok(PROPS), "/slots": (501, b"{}")}))
    assert (facts.slots, facts.context_per_slot, facts.speculative, facts.metrics) == (2, 1024, None, False)
    assert facts.model is None


async def test_another_server_leaves_unknown_what_it_doesnt_say(answer: Answer) -> None:
    """A vLLM server says its model and the longest request; everything else is null."""
    facts = await facts_of(
        await answer({"/health": (200, b""), "/v1/models": ok({"data": [{"id": "m", "max_model_len": 4096}]})})
    )
    assert facts == ServerFacts(
        kind="openai",
        model="m",
        model_path=None,
        build=None,
        slots=None,
        context_per_slot=4096,
        metrics=False,
        speculative=None,
        drafted=None,
        sampling=None,
    )


@pytest.mark.parametrize(
    ("reply", "drafted"),
    [
        (ok({"timings": {"predicted_n": 48, "draft_n": 30, "draft_n_accepted": 3}}), 30),
        (ok({"timings": {"predicted_n": 48}}), None),
        (ok({"choices": []}), None),
        ((200, b"<html>"), None),
        ((500, b'{"error":{"message":"no"}}'), None),
    ],
)
async def test_a_probe_reads_what_was_drafted(
    answer: Answer, asked: list[bytes], reply: tuple[int, bytes], drafted: int | None
) -> None:
    """timings.draft_n where it is; null, never 0, where the server reports none."""
    async with HttpTransport(await answer({"/v1/chat/completions": reply})) as transport:
        assert await probe_drafts(transport, "m") == drafted
    body = json.loads(asked[0])
    assert (body["model"], body["max_tokens"], body["stream"]) == ("m", PROBE_TOKENS, False)


@pytest.mark.parametrize(("status", "hint"), [(401, "--api-key-env"), (404, "/v1/chat/completions answered 404")])
async def test_a_chat_route_that_refuses_is_an_error(answer: Answer, status: int, hint: str) -> None:
    """A wrong key or address shows before the run, with the whole URL."""
    async with HttpTransport(await answer({"/v1/chat/completions": (status, b"{}")})) as transport:
        with pytest.raises(RefusedError, match=hint):
            await probe_drafts(transport, None)


@pytest.mark.live
@pytest.mark.parametrize(
    ("flags", "speculative"),
    [((), False), (("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3.5"), True)],
)
async def test_facts_and_probe_of_a_real_server(
    serve: Callable[..., "Served"], tiny_model: Path, flags: tuple[str, ...], speculative: bool
) -> None:
    """llama.cpp's own server with speculation off and on: /slots and the probe agree with its flags."""
    served = serve("-m", str(tiny_model), "-np", "2", "-c", "2048", "--metrics", *flags)
    async with HttpTransport(Endpoint.parse(served.url)) as transport:
        control = Control(transport)
        await control.wait_ready(60, lambda _: None)
        facts = await read_facts(control)
        drafted = await probe_drafts(transport, facts.model)
    assert (facts.kind, facts.slots, facts.context_per_slot, facts.metrics) == ("llama-server", 2, 1024, True)
    assert facts.speculative is speculative
    assert facts.sampling is not None
    assert "temperature" in facts.sampling
    assert (drafted is not None and drafted > 0) is speculative
