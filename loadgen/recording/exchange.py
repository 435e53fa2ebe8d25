"""One request that is recorded as it passes: its body, the bytes of its answer, and how it ended."""

import json
import re
import time
from typing import Any

from loadgen.client.chunk import replace_surrogates
from loadgen.client.relay import Header
from loadgen.client.sse import DONE, SseError, SseParser
from loadgen.recording.answer import Answer
from loadgen.recording.apis import Api, Asked
from loadgen.recording.call import Call, Message
from loadgen.workload.recorded import Cancel
from loadgen.workload.row_fields import Notes, Wrong

__all__ = ["Exchange", "now_s"]

_OK = 200
_LARGEST = 64 << 20
"""Bytes of an answer that isn't streamed: a million tokens are some 5 MB."""
_MAYBE_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_OFFSET_S = time.time() - time.monotonic()


def now_s() -> float:
    """Seconds since 1970 when this process began, and from then on by the monotonic clock: it never jumps back."""
    return _OFFSET_S + time.monotonic()


class Exchange:
    """Follows one request. Nothing in here raises: what can't be read is passed on all the same, and isn't recorded.

    Args:
        api: to which it belongs.
        headers: of the request, names in lower case.
        body: of the request, whole.
    """

    def __init__(self, api: Api, headers: dict[bytes, bytes], body: bytes) -> None:
        self.api = api
        self.lost: str | None = None
        """Why it isn't recorded; null as long as it may be."""
        self.is_over = False
        """Whether it has finished."""
        self.notes = Notes(api.route)
        self._begun_s = self._ended_s = now_s()
        self._agent = headers.get(b"user-agent", b"").decode("latin-1") or None
        self._asked: Asked | None = None
        self._answer = Answer()
        self._streams = False
        self._events: SseParser | None = None
        self._whole = bytearray()
        self._read_request(headers, body)

    @property
    def is_closed(self) -> bool:
        """Whether nothing more of the answer will come."""
        return self._answer.closed

    def begin(self, status: int, headers: list[Header]) -> None:
        """The reply's head is there."""
        kinds = {name.lower(): value.lower() for name, value in headers}
        if status != _OK:
            self._lose(f"the server answered {status}")
        elif kinds.get(b"content-encoding", b"identity") != b"identity":
            self._lose("the server compresses its answer though it was asked not to")
        elif kinds.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._events = SseParser()

    def take(self, piece: bytes, at_s: float) -> None:
        """More of the reply's body, and when it came."""
        self._ended_s = at_s
        if self.lost is not None or self._answer.closed:
            return
        if self._events is None:
            self._whole += piece
            if len(self._whole) > _LARGEST:
                self._lose(f"its answer is longer than {_LARGEST >> 20} MiB")
            return
        try:
            for payload in self._events.feed(piece):
                self._take_event(payload)
        except SseError as error:
            self._lose(str(error))

    def finish(self, *, hung_up: bool = False, broken: str | None = None) -> None:
        """The request has ended: by itself, because the client `hung_up`, or because the connection is `broken`."""
        self.is_over = True
        if self.lost is not None or self._asked is None:
            return
        self._read_rest()
        if broken is not None and not self._answer.ended:
            self._lose(broken)
        elif self._answer.failed is not None:
            self._lose(self._answer.failed)
        elif not self._answer.ended and not hung_up:
            self._lose("its answer ended early, or isn't one")
        elif not self._answer.ended:
            self._ended_s = now_s()

    @property
    def asked(self) -> Asked | None:
        """What was asked; null where the request can't be read."""
        return self._asked

    def call(self, history: list[Message]) -> Call | None:
        """The call, when it has finished, with what it names by its last answer; null where it isn't recorded."""
        if self.lost is not None or self._asked is None:
            return None
        answer, asked = self._answer, self._asked
        return Call(
            begun_s=round(self._begun_s, 6),
            ended_s=round(self._ended_s, 6),
            messages=[*asked.heading, *history, *asked.messages],
            tools=asked.tools,
            answer=answer.as_message(),
            api=self.api.name,
            model=answer.model or asked.model,
            agent=self._agent,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens if answer.ended else None,
            cached_tokens=answer.cached_tokens,
            finish_reason=answer.finish_reason,
            cancel=None if answer.ended else self._cancel(),
            response_id=answer.response_id,
            heading=len(asked.heading),
        )

    def _cancel(self) -> Cancel:
        """When the client hung up: after so many tokens; of an answer that isn't streamed, seconds from the request."""
        if not self._streams:
            return Cancel(after_s=round(self._ended_s - self._begun_s, 6))
        return Cancel(after_tokens=self._answer.token_events)

    def _read_request(self, headers: dict[bytes, bytes], body: bytes) -> None:
        packed = headers.get(b"content-encoding", b"identity").lower()
        if packed != b"identity":
            self._lose(f"its body is packed ({packed.decode('latin-1')})")
            return
        value = _object(body)
        if value is None:
            self._lose("its body is no JSON object")
            return
        try:
            self._streams = value.get("stream") is True
            self._asked = self.api.reader.asked(value, self.notes)
        except Wrong as wrong:
            self._lose(str(wrong))

    def _take_event(self, payload: bytes) -> None:
        if payload == DONE:
            self._answer.closed = True
            return
        event = _object(payload)
        if event is not None:
            self.api.reader.take(self._answer, event)

    def _read_rest(self) -> None:
        """What was held until the end: an answer in one piece, or an event without a blank line behind it."""
        if self._events is not None:
            for payload in self._events.close():
                self._take_event(payload)
        elif self._whole and (reply := _object(bytes(self._whole))) is not None:
            self.api.reader.whole(self._answer, reply)

    def _lose(self, why: str) -> None:
        self.lost = self.lost or why
        self._whole.clear()


def _object(data: bytes) -> dict[str, Any] | None:
    """A JSON object that can be written again: half characters (lone surrogates) in it are replaced."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        if _MAYBE_HALF.search(data):
            value = json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
