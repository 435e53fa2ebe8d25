"""What a turn sends, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from loadgen.records.model import RequestRecord

__all__ = ["ChatCall", "ChatResult", "Compared"]


class Compared(NamedTuple):
    """What an answer is to the history that it stands in: the record's `answer_equal` and `answer_kept`."""

    equal: bool | None = None
    kept: bool | None = None


@dataclass(frozen=True)
class ChatCall:
    """What to send: a body from `build_body`, its output limit, and whether the answer's text is needed afterwards.

    With `cancel_after_tokens` (token events) or `cancel_after_s` (seconds from the first one) the answer is broken off
    there, if it hasn't ended by then; the record then says `cancelled`. `compare` is given an answer that ended well,
    as one message; nothing of it is on record but what that says.
    """

    body: bytes
    max_tokens: int
    exact_length: bool
    keep_text: bool
    cancel_after_tokens: int | None = None
    cancel_after_s: float | None = None
    compare: Callable[[dict[str, Any]], Compared] | None = None


@dataclass(frozen=True)
class ChatResult:
    """The record of a request; and, where they were to be kept, the answer, its reasoning, and both as one message."""

    record: RequestRecord
    text: str | None
    reasoning: str | None
    message: dict[str, Any] | None = None
    """In OpenAI's shape, tool calls included."""
