"""The client against llama.cpp's real server, embedded by xllamacpp, with a tiny model of random weights."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from loadgen.client.chat import ChatCall, ChatClient, build_body
from loadgen.client.control import Control, Health
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import RefusedError
from loadgen.experiment.model import Deadlines
from loadgen.gguf.tiny import write_tiny_model
from loadgen.records.model import Outcome, Place, RequestRecord, TokenEvent

if TYPE_CHECKING:
    from tests.client.conftest import Send

pytestmark = pytest.mark.live

KEY = "k-live-1"
CHILD = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.n_parallel, params.n_ctx, params.kv_unified = 2, 2048, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.cpuparams.poll = 0
params.endpoint_metrics = True
params.hostnames, params.api_keys = ["127.0.0.1"], [sys.argv[3]]
server = xllamacpp.Server(params)
sys.stdin.read()
"""


@pytest.fixture
async def llama(tmp_path: Path) -> AsyncIterator[Endpoint]:
    """A llama.cpp server with two slots of 1024 tokens, metrics and a key."""
    model = write_tiny_model(tmp_path / "tiny.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHILD, str(model), str(port), KEY),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    endpoint = Endpoint.parse(f"http://127.0.0.1:{port}/v1")
    try:
        async with HttpTransport(endpoint, api_key=KEY) as transport:
            await Control(transport).wait_ready(60, lambda _: None, patient=True)
        yield endpoint
    finally:
        child.kill()
        await child.communicate()


async def test_turns_on_a_real_server_are_recorded_whole(llama: Endpoint, place: Place) -> None:
    """Exact length, own token counts, cached tokens of the second turn, and an idle server after."""
    sunk: list[tuple[RequestRecord, list[TokenEvent]]] = []
    body = build_body(
        [{"role": "user", "content": "count the words of this line"}],
        model=None,
        max_tokens=24,
        exact_length=True,
        extra={},
    )
    call = ChatCall(body=body, max_tokens=24, exact_length=True, keep_text=True)
    async with HttpTransport(llama, api_key=KEY) as transport:
        client = ChatClient(transport, Deadlines(), lambda record, events: sunk.append((record, events)))
        for _ in range(2):
            result = await client.send(call, place)
        assert await Control(transport).wait_idle(30)
    first, second = (record for record, _ in sunk)
    assert result.record is second
    assert result.text
    for record, events in sunk:
        assert (record.outcome, record.status, record.done_seen) == (Outcome.OK, 200, True)
        assert (record.completion_tokens, record.finish_reason) == (24, "length")
        assert record.timings is not None
        assert record.timings["predicted_n"] == 24
        assert 1 <= len(events) <= 24
        assert record.send_ns is not None
        assert record.headers_ns is not None
        assert record.first_token_ns is not None
        assert record.send_ns < record.headers_ns <= record.first_token_ns <= record.end_ns
    assert first.cached_tokens == 0
    assert second.cached_tokens is not None
    assert second.cached_tokens > 0


async def test_a_prompt_that_is_too_long_is_context_overflow(llama: Endpoint, send: "Send") -> None:
    """llama-server's 400 for a prompt above the slot's context, without a word of the prompt in the record."""
    body = build_body(
        [{"role": "user", "content": "word " * 4000}], model=None, max_tokens=4, exact_length=False, extra={}
    )
    call = ChatCall(body=body, max_tokens=4, exact_length=False, keep_text=False)
    record = (await send(llama, call=call, api_key=KEY)).record
    assert (record.outcome, record.status) == (Outcome.CONTEXT_OVERFLOW, 400)
    assert record.error is not None
    assert "exceed_context_size_error" in record.error


async def test_a_cancelled_turn_frees_its_slot(llama: Endpoint, place: Place) -> None:
    """A turn given up by its deadline is recorded, and the server becomes idle without finishing it."""
    sunk: list[RequestRecord] = []
    body = build_body([{"role": "user", "content": "go on"}], model=None, max_tokens=900, exact_length=True, extra={})
    call = ChatCall(body=body, max_tokens=900, exact_length=True, keep_text=False)
    async with HttpTransport(llama, api_key=KEY) as transport:
        client = ChatClient(transport, Deadlines(total_s=0.05), lambda record, _: sunk.append(record))
        await client.send(call, place)
        assert await Control(transport).wait_idle(30)
    assert [record.outcome for record in sunk] == [Outcome.TIMEOUT_TOTAL]


async def test_control_routes_of_a_real_server(llama: Endpoint) -> None:
    """Slots, properties, metrics, models and tokenizer as a real server gives them; a missing key is named."""
    async with HttpTransport(llama, api_key=KEY) as transport:
        control = Control(transport)
        assert await control.health() is Health.READY
        slots, props, metrics, models = (
            await control.slots(),
            await control.props(),
            await control.metrics(),
            await control.models(),
        )
        assert await control.tokenize("one two three") is not None
    assert slots is not None
    assert [(slot["n_ctx"], slot["speculative"]) for slot in slots] == [(1024, False), (1024, False)]
    assert props is not None
    assert props["total_slots"] == 2
    assert metrics is not None
    assert metrics["llamacpp:requests_processing"] == 0
    assert models is not None
    assert msgspec.json.encode(models["data"])
    async with HttpTransport(llama) as transport:
        assert await Control(transport).metrics() is None
        with pytest.raises(RefusedError, match="--api-key-env"):
            await Control(transport).wait_ready(5, lambda _: None)
