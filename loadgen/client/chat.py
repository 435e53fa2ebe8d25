"""One turn as one streamed request: sends it, follows the answer to its end, and writes down exactly one record."""

import asyncio
import time
import traceback
from collections.abc import Callable
from pathlib import PurePath

import msgspec

from loadgen.client.chat_call import ChatCall, ChatResult, Compared
from loadgen.client.chunk import ChunkError
from loadgen.client.deadline import DeadlineWatch
from loadgen.client.reception import Reception
from loadgen.client.reply import CallTimes
from loadgen.client.request_body import build_body
from loadgen.client.server_error import ServerError, read_error_body
from loadgen.client.sse import SseError, SseParser
from loadgen.client.transport import HttpTransport, StreamingCall, StreamingReply
from loadgen.client.transport_error import (
    ConnectFailedError,
    ConnectionLostError,
    LocalTroubleError,
    MalformedReplyError,
    TlsFailedError,
    TransportError,
)
from loadgen.experiment.model import Deadlines
from loadgen.records.model import Outcome, Place, RequestRecord, TokenEvent

__all__ = ["ChatCall", "ChatClient", "ChatResult", "Compared", "build_body"]

CHAT_PATH = "/v1/chat/completions"
_HTTP_OK = 200
_NOT_FOUND = 404
_HTTP_OUTCOMES = {429: Outcome.RATE_LIMITED, 503: Outcome.UNAVAILABLE}
_NO_STREAMS = ("text/html", "application/json")
"""No event streams. Other content types (`text/event-stream`, none, what a proxy makes of it) are read as one."""
_ERROR_BODY_BYTES = 64 << 10
_ERROR_BODY_S = 2.0
"""The status has said how the request ended; its error text is worth two seconds, not the deadline of a prefill."""
_MAX_ERROR = 300
"""Characters of `RequestRecord.error`: one line of a report."""

_TRANSPORT_OUTCOMES: dict[type[TransportError], Outcome] = {
    ConnectFailedError: Outcome.CONNECT_ERROR,
    TlsFailedError: Outcome.CONNECT_ERROR,
    ConnectionLostError: Outcome.CONNECTION_LOST,
    MalformedReplyError: Outcome.PROTOCOL_ERROR,
    LocalTroubleError: Outcome.CLIENT_ERROR,
}


class _BrokenOffError(Exception):
    """The answer has come as far as it was to come. An error, so that the connection is closed and the server stops."""


class ChatClient:
    """Sends turns to one server. Every `send` hands exactly one record, with its token events, to `sink`.

    There are no retries. The connect deadline counts from the start of the call, the first-token deadline from the
    moment at which the request is written, the stall deadline from the last token event (pings don't count), the total
    deadline from the start of the call.
    """

    def __init__(
        self,
        transport: HttpTransport,
        deadlines: Deadlines,
        sink: Callable[[RequestRecord, list[TokenEvent]], None],
    ) -> None:
        self._transport = transport
        self._deadlines = deadlines
        self._sink = sink

    def prepare(self, call: ChatCall) -> "PreparedCall":
        """Everything of a call that can be done before it is due; to be sent once."""
        return PreparedCall(call, self._transport, self._deadlines)

    async def send(self, call: "ChatCall | PreparedCall", place: Place) -> ChatResult:
        """Sends one turn and follows its answer. Failures are outcomes of the record, not exceptions.

        When the task is cancelled, the record says `cancelled` and `CancelledError` goes on.
        """
        turn = call if isinstance(call, PreparedCall) else self.prepare(call)
        try:
            await turn.run()
        except asyncio.CancelledError:
            turn.end(Outcome.CANCELLED)
            raise
        except Exception as error:  # noqa: BLE001 -- whatever happens, the request is on record
            turn.end(Outcome.CLIENT_ERROR, _where(error))
        finally:
            turn.end(Outcome.CLIENT_ERROR)
            record = turn.record(place)
            self._sink(record, turn.received.events)
        return ChatResult(record, turn.received.text, turn.received.reasoning, turn.received.message)


class PreparedCall:
    """One request, built and then under way. The first `end` counts; later ones change nothing."""

    def __init__(self, call: ChatCall, transport: HttpTransport, deadlines: Deadlines) -> None:
        self.received = Reception(keep_text=call.keep_text or call.compare is not None)
        self._call = call
        self._transport = transport
        self._deadlines = deadlines
        self._watch = DeadlineWatch(deadlines)
        self._stream: StreamingCall | None = None
        self._broken: Exception | None = None
        self._times = CallTimes(start_ns=time.monotonic_ns())
        try:
            self._stream = transport.stream(
                CHAT_PATH, call.body, connect_s=deadlines.connect_s, on_send=self._watch.sent
            )
            self._times = self._stream.times
        except Exception as error:  # noqa: BLE001 -- said when it is sent: then the request is on record
            self._broken = error
        self._status: int | None = None
        self._outcome: Outcome | None = None
        self._error: str | None = None
        self._end_ns = 0

    def end(self, outcome: Outcome, error: str | None = None) -> None:
        """The request has ended like this, now."""
        if self._outcome is None:
            self._outcome = outcome
            self._error = error
            self._end_ns = time.monotonic_ns()

    async def run(self) -> None:
        """Runs the request to its end, whatever that is."""
        deadlines, watch = self._deadlines, self._watch
        self._times.start_ns = time.monotonic_ns()
        if self._stream is None:
            raise self._broken or RuntimeError("a call without a stream")
        try:
            async with watch, self._stream as reply:
                self._status = reply.status
                await self._follow(reply, watch)
        except TimeoutError:
            self._end_by_timeout(watch, deadlines)
        except TransportError as error:
            if isinstance(error, ConnectionLostError) and self.received.finish_reason is not None:
                self._end_by_eof()
            self.end(_TRANSPORT_OUTCOMES[type(error)], str(error))
        except (SseError, ChunkError) as error:
            self.end(Outcome.PROTOCOL_ERROR, str(error))
        except _BrokenOffError:
            self.end(Outcome.CANCELLED)

    async def _follow(self, reply: StreamingReply, watch: DeadlineWatch) -> None:
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if reply.status != _HTTP_OK:
            self._end_by_status(reply.status, read_error_body(await _error_body(reply)))
        elif kind in _NO_STREAMS:
            error = read_error_body(await _error_body(reply))
            if error is None:
                self.end(Outcome.PROTOCOL_ERROR, f"the reply is {kind}, not an event stream")
            else:
                self._end_by_error(error, Outcome.STREAM_ERROR)
        elif not await self._read_stream(reply, watch):
            self._end_by_eof()

    async def _read_stream(self, reply: StreamingReply, watch: DeadlineWatch) -> bool:
        """Takes events until the answer ends; False where the body ended before it.

        Raises `_BrokenOffError` where the answer is to be broken off.
        """
        try:
            async with asyncio.timeout(None) as time_left:
                return await self._take_events(reply, watch, time_left)
        except TimeoutError:
            if time_left.expired():
                raise _BrokenOffError from None
            raise

    async def _take_events(self, reply: StreamingReply, watch: DeadlineWatch, time_left: asyncio.Timeout) -> bool:
        parser = SseParser()
        received = self.received
        tokens = 0
        at_ns = 0
        async for at_ns, piece in reply.reads():
            for payload in parser.feed(piece):
                if received.take(at_ns, payload):
                    self._end_by_event()
                    return True
            if len(received.events) > tokens:
                if not tokens and self._call.cancel_after_s is not None:
                    time_left.reschedule(asyncio.get_running_loop().time() + self._call.cancel_after_s)
                tokens = len(received.events)
                watch.token()
                if self._call.cancel_after_tokens is not None and tokens >= self._call.cancel_after_tokens:
                    raise _BrokenOffError
        return self._take_rest(parser.close(), at_ns)

    def _take_rest(self, payloads: list[bytes], at_ns: int) -> bool:
        # An event without a blank line behind it counts if it is whole: some servers leave out the last line end.
        for payload in payloads:
            try:
                if self.received.take(at_ns, payload):
                    self._end_by_event()
                    return True
            except ChunkError:
                return False
        return False

    def _end_by_event(self) -> None:
        if self.received.error is not None:
            self._end_by_error(self.received.error, Outcome.STREAM_ERROR)
        else:
            self.end(Outcome.OK if self.received.events else Outcome.EMPTY)

    def _end_by_eof(self) -> None:
        if self.received.finish_reason is None:
            self.end(Outcome.TRUNCATED, "the stream ended without [DONE] or a finish reason")
        else:
            self.end(Outcome.OK if self.received.events else Outcome.EMPTY)

    def _end_by_status(self, status: int, error: ServerError | None) -> None:
        outcome = _HTTP_OUTCOMES.get(status, Outcome.HTTP_ERROR)
        # A wrong path prefix looks like an incompatible server until the whole URL is seen.
        where = f" from {self._transport.endpoint.url(CHAT_PATH)}" if error is None or status == _NOT_FOUND else ""
        self._end_by_error(error or ServerError(message=""), outcome, prefix=f"HTTP {status}{where}")

    def _end_by_error(self, error: ServerError, outcome: Outcome, prefix: str = "error in the stream") -> None:
        text = error.one_line(self._call.body, self._transport.redact)
        line = f"{prefix}: {text}" if text else prefix
        self.end(Outcome.CONTEXT_OVERFLOW if error.is_context_overflow else outcome, line)

    def _end_by_timeout(self, watch: DeadlineWatch, deadlines: Deadlines) -> None:
        match watch.cause:
            case Outcome.TIMEOUT_FIRST_TOKEN:
                self.end(Outcome.TIMEOUT_FIRST_TOKEN, f"no token within {deadlines.first_token_s:g} s")
            case Outcome.TIMEOUT_STALL:
                self.end(Outcome.TIMEOUT_STALL, f"no further token within {deadlines.stall_s:g} s")
            case _:
                self.end(Outcome.TIMEOUT_TOTAL, f"not finished within {deadlines.total_s:g} s")

    def record(self, place: Place) -> RequestRecord:
        """The record of the ended request."""
        received, times, usage, compared = self.received, self._times, self.received.usage, self._compared()
        return RequestRecord(
            **msgspec.structs.asdict(place),
            target=self._transport.endpoint.label,
            start_ns=times.start_ns,
            connect_ns=times.connect_ns,
            send_ns=times.send_ns,
            send_done_ns=times.send_done_ns,
            headers_ns=times.headers_ns,
            first_event_ns=received.first_event_ns,
            first_token_ns=received.first_token_ns,
            first_answer_ns=received.first_answer_ns,
            last_token_ns=received.last_token_ns,
            end_ns=self._end_ns,
            outcome=self._outcome or Outcome.CLIENT_ERROR,
            status=self._status,
            error=self._error[:_MAX_ERROR] if self._error else None,
            finish_reason=received.finish_reason,
            done_seen=received.done,
            decode_warnings=received.decode_warnings,
            token_events=len(received.events),
            events_at=None,
            max_tokens=self._call.max_tokens,
            exact_length=self._call.exact_length,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            timings=received.timings,
            answer_equal=compared.equal,
            answer_kept=compared.kept,
        )

    def _compared(self) -> Compared:
        """What the answer is to its history; nothing where nobody compares, or it did not end well."""
        message, compare = self.received.message, self._call.compare
        if compare is None or message is None or self._outcome is not Outcome.OK:
            return Compared()
        return compare(message)


async def _error_body(reply: StreamingReply) -> bytes:
    """What can be had of an error's text without waiting long for it."""
    body = b""
    try:
        async with asyncio.timeout(_ERROR_BODY_S):
            async for _, piece in reply.reads():
                body += piece
                if len(body) > _ERROR_BODY_BYTES:
                    break
    except (TimeoutError, TransportError):
        pass
    return body


def _where(error: Exception) -> str:
    """Type and place of an unexpected error. Its message is left out: it may quote the prompt."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"unexpected {type(error).__name__}{place}"
