"""What has been received of one streamed answer: token events, times, counts and end, payload by payload."""

from typing import Any

from loadgen.client.answer import Answer
from loadgen.client.chunk import Chunk, Usage, read_chunk
from loadgen.client.server_error import ServerError
from loadgen.client.sse import DONE
from loadgen.records.model import EventKind, TokenEvent


class Reception:
    """Takes the payloads of one answer as they arrive. Times are those of the socket read that completed an event.

    `usage` and `timings` stay as the server sent them; which of them counts is decided in the analysis.
    """

    def __init__(self, *, keep_text: bool) -> None:
        self.events: list[TokenEvent] = []
        self.first_event_ns: int | None = None
        self.first_answer_ns: int | None = None
        self.finish_reason: str | None = None
        self.done = False
        self.error: ServerError | None = None
        self.decode_warnings = 0
        self.usage = Usage()
        self._timed: Chunk | None = None
        self._answer = Answer() if keep_text else None

    def take(self, at_ns: int, payload: bytes) -> bool:
        """Takes one payload that arrived at `at_ns`; True where it ends the answer (`[DONE]` or an error object).

        Raises `ChunkError` where the payload is no chunk.
        """
        if payload == DONE:
            self.done = True
            return True
        if not payload.strip():
            return False
        chunk, repaired = read_chunk(payload)
        self.decode_warnings += repaired
        if self.first_event_ns is None:
            self.first_event_ns = at_ns
        self.error = chunk.server_error()
        if self.error is not None:
            return True
        token = chunk.token()
        if token is not None:
            self._take_token(at_ns, token[0])
        if self._answer is not None:
            self._answer.take(chunk)
        self.finish_reason = chunk.finish_reason() or self.finish_reason
        if chunk.usage is not None:
            self.usage = chunk.usage
        if chunk.has_timings:
            self._timed = chunk
        return False

    def _take_token(self, at_ns: int, kind: EventKind) -> None:
        events = self.events
        events.append(TokenEvent(at_ns, kind, not events or events[-1].at_ns != at_ns))
        if kind is EventKind.CONTENT and self.first_answer_ns is None:
            self.first_answer_ns = at_ns

    @property
    def first_token_ns(self) -> int | None:
        """Arrival of the first token event."""
        return self.events[0].at_ns if self.events else None

    @property
    def last_token_ns(self) -> int | None:
        """Arrival of the last token event."""
        return self.events[-1].at_ns if self.events else None

    @property
    def timings(self) -> dict[str, Any] | None:
        """The last `timings` object as received; decoded only here, because some servers repeat it in every chunk."""
        return None if self._timed is None else self._timed.timings_dict()

    @property
    def text(self) -> str | None:
        """The answer; None where it wasn't to be kept."""
        return None if self._answer is None else self._answer.text

    @property
    def reasoning(self) -> str | None:
        """The reasoning before the answer; None where it wasn't to be kept."""
        return None if self._answer is None else self._answer.reasoning

    @property
    def message(self) -> dict[str, Any] | None:
        """The answer as one message, tool calls included; None where it wasn't to be kept."""
        return None if self._answer is None else self._answer.message
