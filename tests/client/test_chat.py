"""One turn over real connections: every outcome, and exactly one record whatever happens."""

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from loadgen.client.chat import ChatCall, ChatClient
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.experiment.model import Deadlines
from loadgen.records.model import EventKind, Outcome, Place, RequestRecord, TokenEvent

if TYPE_CHECKING:
    from tests.client.conftest import Peer, Send, Serve, Wire

OVERFLOW = {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}


def answer(wire: "Wire", *, tokens: int = 3, done: bool = True) -> bytes:
    """A normal answer of llama-server."""
    usage = {"completion_tokens": tokens, "prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
    events: list[Any] = [wire.delta(role="assistant", content=None)]
    events += [wire.delta(content=f"w{n} ") for n in range(tokens)]
    events += [wire.delta("stop"), {"choices": [], "usage": usage, "timings": {"predicted_n": tokens, "cache_n": 4}}]
    return wire.sse(*events, *(["[DONE]"] if done else []))


async def test_a_normal_answer_is_one_whole_record(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """Times in order, counts and timings as sent, events beside the record, text kept."""
    server = await serve(wire.play(answer(wire)))
    sent = await send(server.endpoint)
    record, events = sent.sunk[0]
    assert (record.outcome, record.status, record.error, record.finish_reason) == (Outcome.OK, 200, None, "stop")
    assert (record.done_seen, record.decode_warnings, record.token_events, record.events_at) == (True, 0, 3, None)
    assert (record.prompt_tokens, record.completion_tokens, record.cached_tokens) == (9, 3, 4)
    assert record.timings == {"predicted_n": 3, "cache_n": 4}
    assert (record.run, record.session, record.scheduled_ns) == ("r", "s", 2)
    assert record.target == server.endpoint.label
    assert (record.max_tokens, record.exact_length) == (16, False)
    assert (sent.result.text, sent.result.reasoning, sent.result.record) == ("w0 w1 w2 ", "", record)
    times = [record.start_ns, record.send_ns, record.send_done_ns, record.headers_ns, record.first_event_ns]
    times += [record.first_token_ns, record.last_token_ns, record.end_ns]
    assert None not in times
    assert times == sorted(time for time in times if time is not None)
    assert record.first_answer_ns == record.first_token_ns == events[0].at_ns
    assert [event.kind for event in events] == [EventKind.CONTENT] * 3
    assert json.loads(server.requests[0].body)["stream_options"] == {"include_usage": True}


async def test_events_of_one_read_share_one_arrival_time(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C35 c: a whole answer in one write is one arrival time for all events, and only the first begins a read."""
    server = await serve(wire.play(answer(wire)))
    _, events = (await send(server.endpoint)).sunk[0]
    assert len({event.at_ns for event in events}) == 1
    assert [event.new_read for event in events] == [True, False, False]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_an_answer_sent_byte_by_byte_is_the_same_answer(
    serve: "Serve", wire: "Wire", send: "Send", end: bytes
) -> None:
    """C35, C36, C38: one HTTP chunk a byte, any line end, a BOM in front: text, counts and outcome are the same."""
    body = b"\xef\xbb\xbf" + wire.sse(
        wire.delta(content="\u2713\U0001f44d"), wire.delta(content=" "), wire.delta(content="a\n\nb"), "[DONE]"
    ).replace(b"\n", end)

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(*(bytes([byte]) for byte in body))
        await peer.end_stream()

    server = await serve(script)
    sent = await send(server.endpoint)
    assert (sent.record.outcome, sent.record.token_events, sent.record.decode_warnings) == (Outcome.OK, 3, 0)
    assert sent.result.text == "\u2713\U0001f44d a\n\nb"


async def test_damaged_characters_cost_a_warning(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C36, variant: a lone byte 9c in a JSON string is replaced and counted; the request is ok."""
    server = await serve(wire.play(b'data: {"choices":[{"delta":{"content":"\x9c"}}]}\n\ndata: [DONE]\n\n'))
    sent = await send(server.endpoint)
    assert (sent.record.outcome, sent.record.decode_warnings, sent.result.text) == (Outcome.OK, 1, "\ufffd")


async def test_pings_are_nothing(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C34: comment frames before and between events are no events, no errors and no first event."""
    answer_ = wire.sse(wire.delta(role="assistant", content=None), wire.delta(content="A"), "[DONE]")
    server = await serve(wire.play(b":\n\n:\n\n: keepalive\n\n" + answer_))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.token_events) == (Outcome.OK, 1)


async def test_done_without_line_end_at_the_end_of_the_body(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C39: a body that ends exactly after [DONE] is complete."""
    server = await serve(wire.play(answer(wire).rstrip(b"\n")))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.done_seen) == (Outcome.OK, True)


@pytest.mark.parametrize("tail", [b"data: [DONE]\n\n", b"data: [DONE]"])
async def test_the_request_ends_at_done(serve: "Serve", wire: "Wire", send: "Send", tail: bytes) -> None:
    """C39, variant: a server that keeps the connection open after [DONE] doesn't hold the request."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(wire.sse(wire.delta(content="A")) + tail)
        await peer.gone()

    server = await serve(script)
    record = (await send(server.endpoint, deadlines=Deadlines(stall_s=20, total_s=30))).record
    assert (record.outcome, record.done_seen) == (Outcome.OK, True)


async def test_one_long_event_passes_and_an_endless_one_fails(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C40: 1 MiB of content arrives whole; an endless line is a protocol error at the cap."""
    server = await serve(wire.play(wire.sse(wire.delta(content="x" * (1 << 20)), "[DONE]")))
    sent = await send(server.endpoint)
    assert sent.record.outcome is Outcome.OK
    assert sent.result.text == "x" * 1_048_576

    async def endless(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(b"data: ")
        while True:
            await peer.chunks(b"x" * (1 << 20))

    server = await serve(endless)
    record = (await send(server.endpoint)).record
    assert record.outcome is Outcome.PROTOCOL_ERROR
    assert record.error == "one event is longer than 16 MiB"


async def test_a_shared_context_that_runs_out_is_context_overflow(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C11: five tokens, an error object without choices, no [DONE]: failed, kind context, five token events kept."""
    server = await serve(wire.play(wire.sse(*(wire.delta(content="x") for _ in range(5)), OVERFLOW)))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.status, record.token_events) == (Outcome.CONTEXT_OVERFLOW, 200, 5)
    assert (record.done_seen, record.error) == (
        False,
        "error in the stream: server_error: Context size has been exceeded.",
    )


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (429, {"error": {"message": "slow down"}}, Outcome.RATE_LIMITED),
        (503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, Outcome.UNAVAILABLE),
        (500, {"error": {"message": "boom", "type": "server_error", "code": 500}}, Outcome.HTTP_ERROR),
        (500, OVERFLOW, Outcome.CONTEXT_OVERFLOW),
        (400, {"error": {"message": "m", "type": "exceed_context_size_error", "code": 400}}, Outcome.CONTEXT_OVERFLOW),
        (400, {"error": {"message": "m", "type": "invalid_request_error"}}, Outcome.HTTP_ERROR),
        (401, {"error": {"message": "Invalid API Key"}}, Outcome.HTTP_ERROR),
        (302, {}, Outcome.HTTP_ERROR),
    ],
)
async def test_statuses_have_their_outcomes(
    serve: "Serve", wire: "Wire", send: "Send", *, status: int, body: dict[str, Any], outcome: Outcome
) -> None:
    """429, 503, context errors as 400 or 500, and all other statuses; one request each, never a second try (C28)."""
    server = await serve(wire.say(json.dumps(body).encode(), status))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.status, record.first_token_ns, record.token_events) == (outcome, status, None, 0)
    assert record.error is not None
    assert record.error.startswith(f"HTTP {status}")
    assert len(server.requests) == 1


async def test_a_missing_route_is_named_in_full(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C62: a 404 shows the whole URL that was asked for."""
    server = await serve(wire.say(b'{"error":{"message":"File Not Found","type":"not_found_error"}}', 404))
    endpoint = Endpoint.parse(server.endpoint.url("/prefix/v1"))
    record = (await send(endpoint)).record
    assert record.outcome is Outcome.HTTP_ERROR
    url = server.endpoint.url("/prefix/v1/chat/completions")
    assert record.error == f"HTTP 404 from {url}: not_found_error: File Not Found"


async def test_an_error_body_that_never_ends_leaves_the_status(serve: "Serve", send: "Send") -> None:
    """A refusal whose text hangs or breaks off is still that refusal."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 429 X\r\nContent-Length: 99\r\n\r\n{")

    server = await serve(script)
    assert (await send(server.endpoint)).record.outcome is Outcome.RATE_LIMITED


async def test_an_error_object_in_the_stream_is_a_stream_error(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """An error inside a 200 ends the request as failed, with what had come."""
    error = {"error": {"code": 500, "message": "decode failed", "type": "server_error"}}
    server = await serve(wire.play(wire.sse(wire.delta(content="A"), error, "[DONE]")))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.token_events) == (Outcome.STREAM_ERROR, 1)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [(json.dumps(OVERFLOW).encode(), Outcome.CONTEXT_OVERFLOW), (b'{"error":"no"}', Outcome.STREAM_ERROR)],
)
async def test_an_error_object_instead_of_a_stream(
    serve: "Serve", wire: "Wire", send: "Send", body: bytes, outcome: Outcome
) -> None:
    """A 200 whose whole body is an error object is that error."""
    server = await serve(wire.say(body))
    assert (await send(server.endpoint)).record.outcome is outcome


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>hello</html>", "text/html; charset=utf-8"), (b'{"choices":[]}', "application/json")],
)
async def test_what_is_no_stream_is_a_protocol_error(
    serve: "Serve", wire: "Wire", send: "Send", body: bytes, kind: str
) -> None:
    """An HTML page or a whole completion with status 200 is no streamed answer."""
    server = await serve(wire.say(body, kind=kind))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.status) == (Outcome.PROTOCOL_ERROR, 200)


@pytest.mark.parametrize("payload", [b"{broken", b"[1,2]", b'{"choices":[{"delta":{"content":7}}]}'])
async def test_an_unreadable_chunk_is_a_protocol_error(
    serve: "Serve", wire: "Wire", send: "Send", payload: bytes
) -> None:
    """A chunk that is no JSON object, or holds wrong types, fails the request and keeps what came before."""
    server = await serve(wire.play(wire.sse(wire.delta(content="A")) + b"data: " + payload + b"\n\ndata: [DONE]\n\n"))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.token_events) == (Outcome.PROTOCOL_ERROR, 1)


async def test_a_stream_without_an_end_is_truncated(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C17 a: three chunks and a clean end of the body, without finish reason and [DONE]."""
    server = await serve(wire.play(wire.sse(*(wire.delta(content="x") for _ in range(3)))))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.token_events, record.done_seen) == (Outcome.TRUNCATED, 3, False)


@pytest.mark.parametrize("rest", [b'data: {"choices":[{"del', b"data: "])
async def test_half_an_event_at_the_end_is_truncated(serve: "Serve", wire: "Wire", send: "Send", rest: bytes) -> None:
    """A body that ends inside an event is truncated, not malformed."""
    server = await serve(wire.play(wire.sse(wire.delta(content="x")) + rest))
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.token_events) == (Outcome.TRUNCATED, 1)


async def test_a_reset_in_mid_stream_is_a_lost_connection(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C17 b: RST after three chunks; what had come is on record."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(wire.sse(*(wire.delta(content="x") for _ in range(3))))
        peer.reset()

    server = await serve(script)
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.status, record.token_events) == (Outcome.CONNECTION_LOST, 200, 3)


@pytest.mark.parametrize("whole", [True, False])
async def test_a_finish_reason_without_done_is_ok(serve: "Serve", wire: "Wire", send: "Send", whole: bool) -> None:
    """C17 c: finish reason and usage, then the end, with or without the end of the chunked body: ok, done not seen."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(answer(wire, done=False))
        if whole:
            await peer.end_stream()

    server = await serve(script)
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.done_seen, record.finish_reason) == (Outcome.OK, False, "stop")
    assert (record.completion_tokens, record.error) == (3, None)


async def test_no_output_is_empty(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C13: role, finish reason, usage with 0 tokens and [DONE] are an empty answer without times, not a fast one."""
    usage = {"choices": [], "usage": {"prompt_tokens": 36000, "completion_tokens": 0}}
    server = await serve(
        wire.play(wire.sse(wire.delta(role="assistant", content=None), wire.delta("stop"), usage, "[DONE]"))
    )
    record = (await send(server.endpoint)).record
    assert record.outcome is Outcome.EMPTY
    assert (record.first_token_ns, record.last_token_ns, record.token_events) == (None, None, 0)
    assert record.first_event_ns is not None
    assert (record.prompt_tokens, record.completion_tokens) == (36000, 0)


async def test_reasoning_alone_is_an_answer(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C15, variant: an answer that ends by length during reasoning is ok, with a first token and no first answer."""
    server = await serve(wire.play(wire.sse(wire.delta(reasoning_content="hm"), wire.delta("length"), "[DONE]")))
    sent = await send(server.endpoint)
    assert (sent.record.outcome, sent.record.finish_reason) == (Outcome.OK, "length")
    assert sent.record.first_token_ns is not None
    assert sent.record.first_answer_ns is None
    assert (sent.result.text, sent.result.reasoning) == ("", "hm")


async def test_a_reset_before_headers_is_a_lost_connection(serve: "Serve", send: "Send") -> None:
    """C65 a: nothing came back; connecting and sending are on record, headers are not."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        peer.reset()

    server = await serve(script)
    record = (await send(server.endpoint)).record
    assert (record.outcome, record.status, record.headers_ns) == (Outcome.CONNECTION_LOST, None, None)
    assert record.send_ns is not None
    assert record.first_token_ns is None
    assert len(server.requests) == 1


async def test_an_absent_server_is_a_connect_error(send: "Send") -> None:
    """Nobody listens: connect_error, without send time."""
    record = (await send(Endpoint.parse("http://127.0.0.1:1"))).record
    assert (record.outcome, record.send_ns, record.status) == (Outcome.CONNECT_ERROR, None, None)
    assert record.end_ns >= record.start_ns


async def test_the_connect_deadline_is_the_experiments(serve: "Serve", send: "Send") -> None:
    """A connection that doesn't come up within connect_s is a connect error, not a timeout of the answer."""

    async def script(peer: "Peer") -> None:
        await peer.gone()

    server = await serve(script)
    endpoint = Endpoint.parse(f"https://127.0.0.1:{server.endpoint.port}")
    record = (await send(endpoint, deadlines=Deadlines(connect_s=0.05))).record
    assert record.outcome is Outcome.CONNECT_ERROR
    assert record.error == f"no connection to {endpoint.label} within 0.05 s"


@pytest.mark.parametrize("headers", [True, False])
async def test_no_first_token_in_time(serve: "Serve", wire: "Wire", send: "Send", headers: bool) -> None:
    """The first-token deadline runs from sending, through queueing and prefill; a role chunk doesn't stop it."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        if headers:
            await peer.open_stream()
            await peer.chunks(wire.sse(wire.delta(role="assistant", content=None)))
        await peer.gone()

    server = await serve(script)
    record = (await send(server.endpoint, deadlines=Deadlines(first_token_s=0.05))).record
    assert (record.outcome, record.token_events) == (Outcome.TIMEOUT_FIRST_TOKEN, 0)
    assert record.error == "no token within 0.05 s"
    assert (record.status == 200) is headers


async def test_pings_dont_keep_a_stalled_stream_alive(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """After a token only pings come: the stall deadline passes all the same."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(wire.sse(wire.delta(content="A")))
        while True:
            await peer.chunks(b":\n\n")
            await asyncio.sleep(0.005)  # the pace of the pings, many within one stall deadline

    server = await serve(script)
    record = (await send(server.endpoint, deadlines=Deadlines(stall_s=0.05))).record
    assert (record.outcome, record.token_events) == (Outcome.TIMEOUT_STALL, 1)


async def test_tokens_keep_a_stream_alive_until_the_total_deadline(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """C32: endless tokens reset the stall deadline and end at the total one, with the tokens so far."""

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        while True:
            await peer.chunks(wire.sse(wire.delta(content="A")))
            await asyncio.sleep(0.005)  # the pace of the tokens

    server = await serve(script)
    deadlines = Deadlines(first_token_s=5, stall_s=5, total_s=0.2)
    record = (await send(server.endpoint, deadlines=deadlines)).record
    assert record.outcome is Outcome.TIMEOUT_TOTAL
    assert record.token_events >= 1


async def test_a_call_built_beforehand_counts_from_when_it_is_sent(
    serve: "Serve", wire: "Wire", call: ChatCall, place: Place
) -> None:
    """Neither its times nor its deadlines begin before: a tool wait lies in between."""
    server = await serve(wire.play(answer(wire)))
    deadlines = Deadlines(connect_s=5, total_s=0.3)
    async with HttpTransport(server.endpoint) as transport:
        chat = ChatClient(transport, deadlines, lambda _record, _events: None)
        prepared = chat.prepare(call)
        await asyncio.sleep(0.4)  # the wait that outlasts the deadline
        sent_ns = time.monotonic_ns()
        record = (await chat.send(prepared, place)).record
    assert record.outcome is Outcome.OK
    assert record.start_ns >= sent_ns


async def test_cancelling_is_recorded_and_goes_on(serve: "Serve", wire: "Wire", call: ChatCall, place: Place) -> None:
    """A cancelled task leaves one record `cancelled` with its tokens, the error goes on, and the connection closes."""
    under_way, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: "Peer") -> None:
        await peer.request()
        await peer.open_stream()
        await peer.chunks(wire.sse(wire.delta(content="A")))
        under_way.set()
        await peer.gone()
        closed.set()

    server = await serve(script)
    sunk: list[tuple[RequestRecord, list[TokenEvent]]] = []
    async with HttpTransport(server.endpoint) as transport:
        client = ChatClient(transport, Deadlines(), lambda record, events: sunk.append((record, events)))
        task = asyncio.create_task(client.send(call, place))
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await closed.wait()
    assert [record.outcome for record, _ in sunk] == [Outcome.CANCELLED]
    assert sunk[0][0].send_ns is not None


async def test_cancelling_before_the_start_of_an_answer(serve: "Serve", call: ChatCall, place: Place) -> None:
    """A request that is cancelled while it queues keeps its send time and has no status."""
    under_way = asyncio.Event()

    async def script(peer: "Peer") -> None:
        await peer.request()
        under_way.set()
        await peer.gone()

    server = await serve(script)
    sunk: list[RequestRecord] = []
    async with HttpTransport(server.endpoint) as transport:
        client = ChatClient(transport, Deadlines(), lambda record, _: sunk.append(record))
        task = asyncio.create_task(client.send(call, place))
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [(record.outcome, record.status) for record in sunk] == [(Outcome.CANCELLED, None)]
    assert sunk[0].send_ns is not None


async def test_an_unexpected_exception_is_a_client_error(serve: "Serve", wire: "Wire", send: "Send") -> None:
    """Whatever goes wrong on our side, the request is on record, with type and place of the fault only."""
    server = await serve(wire.play(b""))
    bad = ChatCall(body=cast("bytes", 12345), max_tokens=1, exact_length=False, keep_text=False)
    record = (await send(server.endpoint, call=bad)).record
    assert record.outcome is Outcome.CLIENT_ERROR
    assert record.error is not None
    assert record.error.startswith("unexpected TypeError at ")
    assert "12345" not in record.error


async def test_neither_prompt_nor_key_reach_a_record(serve: "Serve", send: "Send") -> None:
    """C63: a server that repeats prompt and key in its error leaves neither in the record."""

    async def script(peer: "Peer") -> None:
        request = await peer.request()
        prompt = json.loads(request.body)["messages"][0]["content"]
        message = f"wrong key {request.headers['authorization']} for: {prompt}"
        await peer.answer(json.dumps({"error": {"message": message, "type": "auth"}}).encode(), 400)

    server = await serve(script)
    record = (await send(server.endpoint, api_key="k-778899")).record
    assert record.error == "HTTP 400: auth: wrong key Bearer *** for: …"


async def test_an_error_of_the_sink_is_not_swallowed(
    serve: "Serve", wire: "Wire", call: ChatCall, place: Place
) -> None:
    """A record that can't be written is raised: the run must stop, not lose it."""
    server = await serve(wire.play(answer(wire)))

    def full(_record: RequestRecord, _events: list[TokenEvent]) -> None:
        raise OSError("disk full")

    async with HttpTransport(server.endpoint) as transport:
        with pytest.raises(OSError, match="disk full"):
            await ChatClient(transport, Deadlines(), full).send(call, place)
