"""Everything passes through the proxy unchanged, as it comes; some of it is recorded."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.workload.recorded import Cancel
from tests.client.conftest import Peer, delta, sse

if TYPE_CHECKING:
    from tests.recording.conftest import Record, Script, Scripted

Start = Callable[["Script"], Awaitable["Scripted"]]

BODY = {"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": True}
KEY = "hush-hush-4711"
ANSWER = (
    sse(delta(role="assistant", content=None), delta(content="so ")),
    b": comment\n\n",
    sse(delta(content="far"), delta("stop"), {"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 2}}),
    sse("[DONE]"),
)


async def test_a_request_and_its_reply_pass_unchanged(scripted: Start, record: "Record") -> None:
    """Path, query, headers and bytes; but for what belongs to one connection, and compression, which is asked off."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.answer(b"\x00\xff body", 418, "text/odd", "X-One: 1\r\nX-One: 2\r\nKeep-Alive: timeout=9\r\n")

    server = await scripted(script)
    async with record(server.endpoint) as recording, httpx.AsyncClient() as client:
        reply = await client.put(
            f"{recording.url}/a%20b/%C3%A9?x=1&y=%2F",
            content=b"\x01\x02",
            headers={
                "X-Mine": "yes",
                "Authorization": f"Bearer {KEY}",
                "Accept-Encoding": "gzip",
                "Connection": "close",
            },
        )
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("PUT", "/a%20b/%C3%A9?x=1&y=%2F", b"\x01\x02")
    assert request.headers["x-mine"] == "yes"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["host"] == server.endpoint.label.removeprefix("http://")
    assert (reply.status_code, reply.content) == (418, b"\x00\xff body")
    assert reply.headers.get_list("x-one") == ["1", "2"]
    assert {"keep-alive", "server", "date"}.isdisjoint(reply.headers)
    assert (recording.calls, recording.told) == ([], [])


async def test_every_piece_is_handed_on_before_the_next_one_comes(scripted: Start, record: "Record") -> None:
    """The server writes the next one only when the client has this one; the bytes are the same."""
    got = [asyncio.Event() for _ in ANSWER]

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.open_stream()
        for piece, event in zip(ANSWER, got, strict=True):
            await peer.chunks(piece)
            await event.wait()
        await peer.end_stream()

    server = await scripted(script)
    async with record(server.endpoint) as recording, httpx.AsyncClient() as client:
        received = b""
        async with client.stream("POST", f"{recording.url}/v1/chat/completions", json=BODY) as reply:
            async for piece in reply.aiter_raw():
                received += piece
                for number, event in enumerate(got):
                    if received == b"".join(ANSWER[: number + 1]):
                        event.set()
        await recording.ended(1)
    assert received == b"".join(ANSWER)
    (call,) = recording.calls
    assert (call.answer, call.finish_reason) == ({"role": "assistant", "content": "so far"}, "stop")
    assert (call.input_tokens, call.output_tokens, call.messages) == (8, 2, BODY["messages"])


async def test_a_client_that_hangs_up_ends_the_servers_request(scripted: Start, record: "Record") -> None:
    """At once, while the server is silent; what had come is recorded."""
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(ANSWER[0])
        await peer.gone()
        gone.set()

    server = await scripted(script)
    async with record(server.endpoint) as recording:
        async with (
            httpx.AsyncClient() as client,
            client.stream("POST", f"{recording.url}/v1/chat/completions", json=BODY) as reply,
        ):
            assert await anext(reply.aiter_raw()) == ANSWER[0]
        await gone.wait()
        await recording.ended(1)
    (call,) = recording.calls
    assert call.cancel == Cancel(after_tokens=1)
    assert call.answer == {"role": "assistant", "content": "so "}


async def test_a_client_that_hangs_up_before_any_answer_ends_the_servers_request_too(
    scripted: Start, record: "Record"
) -> None:
    """While its prompt is processed."""
    asked, gone = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()
        gone.set()

    server = await scripted(script)
    async with record(server.endpoint) as recording:
        async with httpx.AsyncClient() as client:
            posting = asyncio.create_task(client.post(f"{recording.url}/v1/chat/completions", json=BODY))
            await asked.wait()
            posting.cancel()
            await asyncio.gather(posting, return_exceptions=True)
        await gone.wait()
        await recording.ended(1)
    assert recording.calls[0].cancel == Cancel(after_tokens=0)


async def test_an_answer_that_breaks_off_breaks_off_for_the_client(scripted: Start, record: "Record") -> None:
    """It isn't recorded, and nobody takes it for a whole one."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(ANSWER[0])
        peer.reset()

    server = await scripted(script)
    async with record(server.endpoint) as recording, httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(f"{recording.url}/v1/chat/completions", json=BODY)
        await recording.ended(1)
    assert recording.told[0].startswith("not recorded: /chat/completions: connection")


async def test_a_server_that_is_not_there_is_a_bad_gateway(record: "Record") -> None:
    """With a sentence for the agent's log; for recorded calls it is told here too."""
    nowhere = Endpoint("http", "127.0.0.1", 9)
    async with record(nowhere) as recording, httpx.AsyncClient() as client:
        reply = await client.post(f"{recording.url}/v1/chat/completions", json=BODY)
        other = await client.get(f"{recording.url}/v1/models")
        await recording.ended(1)
    assert (reply.status_code, other.status_code) == (502, 502)
    assert "no connection to http://127.0.0.1:9: Connection refused" in reply.json()["error"]["message"]
    assert len(recording.told) == 1


async def test_a_key_of_ours_goes_in_place_of_the_clients_and_is_written_nowhere(
    scripted: Start, record: "Record"
) -> None:
    """By the header that the client uses."""

    async def script(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.open_stream()
            await peer.chunks(*ANSWER)
            await peer.end_stream()

    server = await scripted(script)
    async with record(server.endpoint, api_key=KEY) as recording, httpx.AsyncClient() as client:
        for headers in ({"Authorization": "Bearer dummy-1"}, {"x-api-key": "dummy-2"}):
            await client.post(f"{recording.url}/v1/chat/completions", json=BODY, headers=headers)
        await recording.ended(2)
        journal = (recording.recorder.out.parent / "sessions.jsonl.journal").read_text()
    by_name = [{name: one.headers.get(name) for name in ("authorization", "x-api-key")} for one in server.requests]
    assert by_name == [{"authorization": f"Bearer {KEY}", "x-api-key": None}, {"authorization": None, "x-api-key": KEY}]
    assert "so far" in journal
    assert not any(secret in journal for secret in (KEY, "dummy"))


async def test_a_recording_that_is_stopped_ends_what_is_under_way(scripted: Start, record: "Record") -> None:
    """After a moment of grace; such an answer isn't recorded, for the client didn't end it."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(ANSWER[0])
        await peer.gone()

    server = await scripted(script)
    async with httpx.AsyncClient() as client, record(server.endpoint) as recording:
        request = client.build_request("POST", f"{recording.url}/v1/chat/completions", json=BODY)
        reply = await client.send(request, stream=True)
        pieces = reply.aiter_raw()
        assert await anext(pieces) == ANSWER[0]
    assert recording.calls == []
    assert recording.told == ["not recorded: /chat/completions: the recording ended before it did"]
    with pytest.raises(httpx.TransportError):
        await anext(pieces)


async def test_calls_beside_each_other_are_kept_apart(scripted: Start, record: "Record") -> None:
    """Each has its own answer, however their pieces mingle."""
    both = asyncio.Barrier(2)

    async def script(peer: Peer) -> None:
        request = await peer.request()
        text: Any = json.loads(request.body)["messages"][0]["content"]
        await peer.open_stream()
        for piece in (sse(delta(content=f"{text} ")), sse(delta(content="said")), sse(delta("stop"), "[DONE]")):
            await both.wait()
            await peer.chunks(piece)
        await peer.end_stream()

    server = await scripted(script)
    async with record(server.endpoint) as recording, httpx.AsyncClient() as client:
        bodies = [BODY | {"messages": [{"role": "user", "content": text}]} for text in ("one", "two")]
        await asyncio.gather(*(client.post(f"{recording.url}/v1/chat/completions", json=body) for body in bodies))
        await recording.ended(2)
    assert {(call.messages[0]["content"], (call.answer or {})["content"]) for call in recording.calls} == {
        ("one", "one said"),
        ("two", "two said"),
    }
