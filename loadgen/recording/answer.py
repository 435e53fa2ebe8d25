"""An answer that is coming in, put together of its events."""

from dataclasses import dataclass, field
from typing import Any

from loadgen.recording.call import Message
from loadgen.workload.formats.fields import first_whole, mapping, text

__all__ = ["Answer"]


@dataclass
class Answer:
    """What has come of an answer so far.

    Attributes:
        said: pieces of its text.
        thought: pieces of its reasoning.
        calls: its calls of tools by their place in it; arguments grow.
        message: the whole answer, where an event or a reply brings it in one piece.
        token_events: events that carried text.
        ended: it is whole; only counts may follow.
        closed: nothing follows.
        counted: the server gave its usage.
        failed: what the server reported in place of an answer's rest.
        input_tokens: of the prompt, cached ones included.
        output_tokens: of the answer.
        cached_tokens: of the prompt.
        finish_reason: in OpenAI's words.
        model: that answers.
        response_id: of this answer.
    """

    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    calls: dict[int, Message] = field(default_factory=dict)
    message: Message | None = None
    token_events: int = 0
    ended: bool = False
    closed: bool = False
    counted: bool = False
    failed: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    model: str | None = None
    response_id: str | None = None

    def say(self, piece: Any) -> None:
        """More of its text."""
        self._grow(self.said, piece)

    def think(self, piece: Any) -> None:
        """More of its reasoning."""
        self._grow(self.thought, piece)

    def call(self, place: int, *, name: Any = None, tool: Any = None, arguments: Any = None) -> None:
        """More of the call at that place: its id, its tool, and a piece of its arguments, as far as given."""
        call = self.calls.setdefault(
            place, {"id": f"call_{place}", "type": "function", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = text(name) or call["id"]
        call["function"]["name"] = text(tool) or call["function"]["name"]
        call["function"]["arguments"] += text(arguments) or ""
        self.token_events += bool(text(tool) or text(arguments))

    def count(self, usage: Any, *, details: str, given: str, made: str) -> None:
        """The server's counts: `given` and `made` are its names for tokens in and out, `details` what holds cached."""
        usage = mapping(usage)
        self.counted = self.counted or given in usage
        self.input_tokens = _known(first_whole(usage, given), self.input_tokens)
        self.output_tokens = _known(first_whole(usage, made), self.output_tokens)
        self.cached_tokens = _known(first_whole(mapping(usage.get(details)), "cached_tokens"), self.cached_tokens)

    def as_message(self) -> Message | None:
        """The assistant's message in OpenAI's shape; null where nothing came."""
        if self.message is not None:
            return self.message
        said, thought = "".join(self.said), "".join(self.thought)
        if not (said or thought or self.calls) and not self.ended:
            return None
        message: Message = {"role": "assistant", "content": said}
        if thought:
            message["reasoning_content"] = thought
        if self.calls:
            message["tool_calls"] = [
                call | {"function": call["function"] | {"arguments": call["function"]["arguments"] or "{}"}}
                for _, call in sorted(self.calls.items())
            ]
        return message

    def _grow(self, pieces: list[str], piece: Any) -> None:
        if text(piece):
            pieces.append(piece)
            self.token_events += 1


def _known(value: int | None, before: int | None) -> int | None:
    return before if value is None else value
