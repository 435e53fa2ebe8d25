"""One payload of a chat completion stream: what it carries, decoded into structs without building dictionaries."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from loadgen.client.server_error import ServerError, read_error
from loadgen.records.model import EventKind


class ChunkError(Exception):
    """The payload is no chunk of a chat completion stream. The message never quotes the payload."""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCallPiece(msgspec.Struct):
    """A piece of a tool call: which one, and more of its name or arguments. `index` and `id` may be anything."""

    function: _Function | None = None
    index: Any = None
    id: Any = None


class Delta(msgspec.Struct):
    """What a chunk adds to an answer."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCallPiece] | None = None


class _Choice(msgspec.Struct):
    delta: Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class Usage(msgspec.Struct):
    """The server's token counts of one request."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens that were in the cache; None where the server doesn't say."""
        return self.prompt_tokens_details.cached_tokens if self.prompt_tokens_details else None


_ABSENT = msgspec.Raw()


class Chunk(msgspec.Struct):
    """One decoded chunk. `choices` may be empty or absent, `usage`, `timings` and `error` may be null."""

    choices: list[_Choice] | None = None
    usage: Usage | None = None
    timings: msgspec.Raw = _ABSENT
    error: msgspec.Raw = _ABSENT
    object: str | None = None
    message: msgspec.Raw = _ABSENT

    def deltas(self) -> Iterator[Delta]:
        """What it adds to the answer, of every choice."""
        return (choice.delta for choice in self.choices or () if choice.delta is not None)

    def token(self) -> tuple[EventKind, str] | None:
        """Kind and text of a token event; None for role-only, empty, progress, usage and finish chunks.

        An event that carries both an answer and reasoning counts as content.
        """
        for choice in self.choices or ():
            delta = choice.delta
            if delta is None:
                continue
            if delta.content:
                return EventKind.CONTENT, delta.content
            reasoning = delta.reasoning_content or delta.reasoning
            if reasoning:
                return EventKind.REASONING, reasoning
            text = _tool_text(delta.tool_calls) if delta.tool_calls else ""
            if text:
                return EventKind.TOOL_CALL, text
        return None

    def finish_reason(self) -> str | None:
        """Why the answer ended, where this chunk says so."""
        for choice in self.choices or ():
            if choice.finish_reason:
                return choice.finish_reason
        return None

    def server_error(self) -> ServerError | None:
        """The error that this chunk reports; None in a normal chunk."""
        if self.object == "error":
            return read_error({"error": {"message": _plain(self.message)}})
        if self.error is _ABSENT:
            return None
        value = _plain(self.error)
        return read_error({"error": value}) or ServerError(message="") if value else None

    @property
    def has_timings(self) -> bool:
        """Whether the chunk carries a `timings` object."""
        return self.timings is not _ABSENT and bytes(self.timings) != b"null"

    def timings_dict(self) -> dict[str, Any] | None:
        """llama-server's `timings` as received; None where absent or null."""
        value = _plain(self.timings)
        return value if isinstance(value, dict) else None


_DECODER = msgspec.json.Decoder(Chunk)


def read_chunk(payload: bytes) -> tuple[Chunk, bool]:
    """The chunk in a payload, and whether damaged characters had to be replaced to read it.

    Invalid UTF-8 and lone surrogates, which servers emit when they cut inside a character, become U+FFFD. Raises
    `ChunkError` where the payload is no JSON object or has members of a wrong type.
    """
    try:
        return _DECODER.decode(payload), False
    except msgspec.ValidationError as error:
        raise ChunkError(f"unexpected chunk: {error}") from None
    except msgspec.DecodeError:
        pass
    try:
        return _DECODER.decode(_repaired(payload)), True
    except ValueError:
        raise ChunkError("a chunk is no JSON") from None


def _repaired(payload: bytes) -> bytes:
    """The same JSON in valid UTF-8. Raises `ValueError` where it is none."""
    value = json.loads(payload.decode("utf-8", "replace"))
    text = json.dumps(value, ensure_ascii=False)
    return replace_surrogates(text).encode()


def replace_surrogates(text: str) -> str:
    """The text with surrogate pairs joined and lone surrogates replaced by U+FFFD, so that it can be sent as UTF-8."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tool_text(calls: list[ToolCallPiece]) -> str:
    return "".join(
        (call.function.name or "") + (call.function.arguments or "") for call in calls if call.function is not None
    )


def _plain(raw: msgspec.Raw) -> Any:
    if raw is _ABSENT:
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return None
