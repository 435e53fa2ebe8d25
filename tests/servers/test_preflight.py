"""What a server is, as it says itself."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RefusedError
from loadgen.records.differences import NOT_GIVEN, differences
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
    "chat_template": "{{ messages }}",
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
        chat_template=hashlib.sha256(b"{{ messages }}").hexdigest(),
        tokenizer=False,
    )


async def test_what_speaks_of_speculation_or_one_request_is_no_sampling(answer: Answer) -> None:
    """A server with speculation has the sampling defaults of one without; the seed is one of them."""
    params = {"seed": 7, "id": 3, "stream": True, "speculative.types": "none", "speculative.n_max": 3, "top_k": 40}
    props = {**PROPS, "default_generation_settings": {"params": params, "n_ctx": 1024}}
    facts = await facts_of(await answer({"/health": ok({"status": "ok"}), "/props": ok(props)}))
    assert facts.sampling == {"seed": 7, "top_k": 40}


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
        (ok({"timings": {"predicted_n": 48}}), 0),
        (ok({"choices": [], "usage": {"completion_tokens": 48}}), None),
        ((200, b"<html>"), None),
        ((500, b'{"error":{"message":"no"}}'), None),
    ],
)
async def test_a_probe_reads_what_was_drafted(
    answer: Answer, asked: list[bytes], reply: tuple[int, bytes], drafted: int | None
) -> None:
    """timings.draft_n; 0 where an answer has timings without it, null where the server reports none."""
    routes = {"/v1/chat/completions": reply, "/slots": ok([{"id": 0, "speculative": False}])}
    async with HttpTransport(await answer(routes)) as transport:
        assert await probe_drafts(transport, "m") == drafted
    bodies = [json.loads(body) for body in asked if b"messages" in body]
    assert [(body["model"], body["max_tokens"], body["stream"]) for body in bodies] == [("m", PROBE_TOKENS, False)]
    assert "logit_bias" not in bodies[0]


async def test_a_probe_repeats_one_token_by_force(answer: Answer, asked: list[bytes]) -> None:
    """With a tokenizer the word's token is biased, and the variant's fields go along, but don't change the probe."""
    routes = {
        "/tokenize": ok({"tokens": [1, *[77] * 64]}),
        "/v1/chat/completions": ok({"timings": {"predicted_n": 48, "draft_n": 9}}),
    }
    async with HttpTransport(await answer(routes)) as transport:
        assert await probe_drafts(transport, None, extra={"speculative.n_max": 0, "temperature": 1}) == 9
    assert json.loads(asked[-1]) == {
        "speculative.n_max": 0,
        "max_tokens": PROBE_TOKENS,
        "temperature": 0,
        "stream": False,
        "logit_bias": {"77": 100},
        "ignore_eos": True,
        "messages": [{"role": "user", "content": " one" * 64}],
    }


async def test_another_word_is_taken_where_the_first_is_no_single_token(answer: Answer, asked: list[bytes]) -> None:
    """A word whose repetition is not one token again and again can't be forced: then the prompt alone must do."""
    routes = {"/tokenize": ok({"tokens": [5, 6] * 64}), "/v1/chat/completions": ok({"timings": {"draft_n": 1}})}
    async with HttpTransport(await answer(routes)) as transport:
        assert await probe_drafts(transport, None) == 1
    words = [json.loads(body)["content"][:4] for body in asked if body.startswith(b'{"content"')]
    assert words == [" one", " the", " a a"]
    assert "logit_bias" not in json.loads(asked[-1])


@pytest.mark.parametrize(("slots", "lengths"), [(ok(SLOTS), [48, 160]), ((501, b"{}"), [48, 160])])
async def test_a_server_that_may_speculate_is_asked_for_more(
    answer: Answer, asked: list[bytes], slots: tuple[int, bytes], lengths: list[int]
) -> None:
    """Nothing drafted although /slots says speculative, or says nothing: a longer answer gives it the chance."""
    routes = {"/v1/chat/completions": ok({"timings": {"predicted_n": 48}}), "/slots": slots}
    async with HttpTransport(await answer(routes)) as transport:
        assert await probe_drafts(transport, None) == 0
    assert [json.loads(body)["max_tokens"] for body in asked if b"messages" in body] == lengths


async def test_a_chat_format_that_refuses_is_gone_round(answer: Answer, asked: list[bytes]) -> None:
    """Where the chat route fails on an answer of one word, the raw route is asked for the same."""
    routes = {
        "/tokenize": ok({"tokens": [77] * 64}),
        "/v1/chat/completions": (500, b'{"error":{"message":"the output does not match the chat format"}}'),
        "/completion": ok({"timings": {"predicted_n": 48, "draft_n": 12}}),
    }
    async with HttpTransport(await answer(routes)) as transport:
        assert await probe_drafts(transport, None) == 12
    body = json.loads(asked[-1])
    assert (body["prompt"], body["n_predict"], body["logit_bias"]) == (" one" * 64, PROBE_TOKENS, {"77": 100})


@pytest.mark.parametrize(("status", "hint"), [(401, "--api-key-env"), (404, "/v1/chat/completions answered 404")])
async def test_a_chat_route_that_refuses_is_an_error(answer: Answer, status: int, hint: str) -> None:
    """A wrong key or address shows before the run, with the whole URL."""
    async with HttpTransport(await answer({"/v1/chat/completions": (status, b"{}")})) as transport:
        with pytest.raises(RefusedError, match=hint):
            await probe_drafts(transport, None)


SYNTHETIC = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3.5")


@pytest.mark.live
async def test_servers_that_differ_in_speculation_alone_differ_in_nothing_else(
    serve: Callable[..., "Served"], tiny_model: Path
) -> None:
    """llama.cpp's own server, off and with each drafter: the probe drafts on random weights, facts are equal."""
    kinds: dict[str, tuple[str, ...]] = {
        "off": (),
        "mtp": SYNTHETIC,
        "draft-simple": ("--spec-type", "draft-simple", "-md", str(tiny_model)),
        **{name: ("--spec-type", name) for name in ("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod")},
        "ngram-cache": ("--spec-type", "ngram-cache"),
    }
    facts = {}
    for name, flags in kinds.items():
        facts[name] = await probed(serve("-m", str(tiny_model), "-np", "2", "-c", "2048", "--metrics", *flags))
    off = facts.pop("off")
    assert (off.kind, off.slots, off.context_per_slot, off.metrics) == ("llama-server", 2, 1024, True)
    assert (off.speculative, off.drafted, off.tokenizer) == (False, 0, True)
    assert off.model_bytes == len(tiny_model.read_bytes())  # noqa: ASYNC240 - 2 MB
    assert off.sampling is not None
    assert "temperature" in off.sampling
    for name, one in facts.items():
        assert (name, one.speculative, (one.drafted or 0) > 0) == (name, True, True)
        assert (name, differences(off, one)) == (name, [])


@pytest.mark.live
async def test_settings_and_digest_of_a_real_server(
    serve: Callable[..., "Served"], tiny_model: Path, demo_model: Path
) -> None:
    """Each argument that was given shows as what it is, from the log and from the command alike."""
    flags = ("-np", "2", "-c", "2048", "-tb", "2", "-b", "256", "-ub", "128", "-ctk", "q8_0", "-fa", "on", "-kvu")
    caches = ("--no-cache-prompt", "--cache-ram", "0", "--ctx-checkpoints", "0", "--cache-reuse", "64")
    plain = await probed(serve("-m", str(demo_model), "-np", "2", "-c", "2048", "-lv", "4"))
    other = await probed(serve("-m", str(tiny_model), *flags, *caches, "-lv", "4"))
    assert other.settings == {
        "cache_type_k": "q8_0", "cache_type_v": "f16", "flash_attn": "on", "kv_unified": True,
        "cache_ram_mib": 0, "ctx_checkpoints": 0, "cache_reuse": 64, "cache_prompt": False, "swa_full": NOT_GIVEN,
        "threads": 1, "threads_batch": 2, "batch": 256, "ubatch": 128, "cont_batching": NOT_GIVEN,
        "sleep_idle_s": NOT_GIVEN, "gpu_layers": NOT_GIVEN, "devices": NOT_GIVEN, "split_mode": NOT_GIVEN,
        "tensor_split": NOT_GIVEN, "main_gpu": NOT_GIVEN,
    }  # fmt: skip
    assert [one.field for one in differences(plain, other)] == [
        *("model", "context_per_slot", "cache", "kv", "threads", "batch")
    ]


async def probed(served: "Served") -> ServerFacts:
    """The facts of a real server with its probe; it is stopped then."""
    command = ["embedded", *served.process.args[3:]]  # type: ignore[index] # a list of words
    async with HttpTransport(Endpoint.parse(served.url)) as transport:
        control = Control(transport)
        await control.wait_ready(60, lambda _: None)
        facts = await read_facts(control, command=command, log="".join(served.lines))
        drafted = await probe_drafts(transport, None)
    served.process.kill()
    return msgspec.structs.replace(facts, drafted=drafted)
