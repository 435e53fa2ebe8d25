"""The whole answer of a stream, put together from its pieces: text, reasoning and tool calls as one message."""

from dataclasses import dataclass
from typing import Any

from loadgen.client.chunk import Chunk, ToolCallPiece

__all__ = ["Answer"]


@dataclass
class _Call:
    """A tool call so far."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class Answer:
    """Takes the chunks of one answer in their order."""

    def __init__(self) -> None:
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def take(self, chunk: Chunk) -> None:
        """Adds what a chunk carries. One chunk may have reasoning and text: where one ends and the other begins."""
        for delta in chunk.deltas():
            if delta.content:
                self._content.append(delta.content)
            reasoning = delta.reasoning_content or delta.reasoning
            if reasoning:
                self._reasoning.append(reasoning)
            for piece in delta.tool_calls or ():
                self._take_call(piece)

    @property
    def text(self) -> str:
        """The answer's text; empty where it has none."""
        return "".join(self._content)

    @property
    def reasoning(self) -> str:
        """The reasoning before the answer; empty where it has none."""
        return "".join(self._reasoning)

    @property
    def message(self) -> dict[str, Any]:
        """The answer as an assistant message in OpenAI's shape.

        `reasoning_content` and `tool_calls` only where there are some; beside tool calls an empty text is null.
        """
        calls = [_message(call, number) for number, call in enumerate(self._calls)]
        message: dict[str, Any] = {"role": "assistant", "content": self.text or (None if calls else "")}
        if self._reasoning:
            message["reasoning_content"] = self.reasoning
        if calls:
            message["tool_calls"] = calls
        return message

    def _take_call(self, piece: ToolCallPiece) -> None:
        call = self._call_of(piece)
        if isinstance(piece.id, str) and piece.id:
            call.id = piece.id
        if piece.function is not None:
            call.name += piece.function.name or ""
            call.arguments += piece.function.arguments or ""

    def _call_of(self, piece: ToolCallPiece) -> _Call:
        """The call that a piece belongs to: by its index, else a piece with a name begins the next one."""
        if isinstance(piece.index, int):
            known = self._by_index.get(piece.index)
        else:
            named = piece.function is not None and bool(piece.function.name)
            known = None if named or not self._calls else self._calls[-1]
        if known is None:
            known = _Call()
            self._calls.append(known)
            if isinstance(piece.index, int):
                self._by_index[piece.index] = known
        return known


def _message(call: _Call, number: int) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id or f"call{number}", "type": "function", "function": function}
