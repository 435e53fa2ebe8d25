"""Chat messages of others in OpenAI's shape, with text only.

Knows messages with `content` (OpenAI), and with `parts` (OpenTelemetry GenAI). What is no text (images, sound, files,
calls that the provider answers itself) is left out and counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.workload.formats.fields import as_json, first_text, mapping, objects, parsed, text

__all__ = ["FINISHED", "Chat", "answer_of", "function_tools", "same_said"]

Message = dict[str, Any]

FINISHED = {
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
}
"""OpenAI's word for how an answer ended, by the words of others."""

_ROLES = {
    **{role: role for role in ("system", "developer", "user", "assistant", "tool")},
    "human": "user",
    "model": "assistant",
    "ai": "assistant",
    "function": "tool",
}
_TEXTS = frozenset({"text", "input_text", "output_text"})
_THOUGHTS = frozenset({"reasoning", "thinking"})
_CALLS = frozenset({"tool_call", "tool_use"})
_RESULTS = frozenset({"tool_call_response", "tool_result"})


@dataclass
class Chat:
    """Messages brought into OpenAI's shape one behind the other.

    Calls without an id get one, and results without one answer the calls in their order.

    Attributes:
        messages: so far.
        left_out: parts that were no text.
        strange: a role that isn't known; null: none.
    """

    messages: list[Message] = field(default_factory=list)
    left_out: int = 0
    strange: str | None = None
    _open: list[str] = field(default_factory=list)
    _named: int = 0

    def add(self, given: Iterable[Any]) -> None:
        """Bring messages into shape and put them behind the others."""
        for message in given:
            if not isinstance(message, dict):
                self.left_out += 1
                continue
            role = _ROLES.get(str(message.get("role")))
            if role is None:
                self.strange = self.strange or str(message.get("role"))
                continue
            self.messages += self._shaped(role, message)

    def _shaped(self, role: str, message: Message) -> list[Message]:
        parts = message.get("parts")
        parts = parts if isinstance(parts, list) else _as_parts(message.get("content"))
        said, thoughts, calls, results = self._sorted(parts)
        if thought := first_text(message, "reasoning_content", "reasoning"):
            thoughts.append(thought)
        calls += [self._call(call) for call in objects(parsed(message.get("tool_calls")))]
        if role == "tool" and not results:
            asked = first_text(message, "tool_call_id", "id")
            return [{"role": "tool", "tool_call_id": self._answered(asked), "content": "\n".join(said)}]
        shaped = [{"role": "tool", "tool_call_id": name, "content": content} for name, content in results]
        if role == "assistant":
            shaped.append(_answer(said, thoughts, calls))
        elif said or not results:
            shaped.append({"role": "user" if role == "tool" else role, "content": "\n".join(said)})
        return shaped

    def _sorted(self, parts: Sequence[Any]) -> tuple[list[str], list[str], list[Message], list[tuple[str, str]]]:
        """Texts, thoughts, calls, and results with the ids of their calls."""
        said: list[str] = []
        thoughts: list[str] = []
        calls: list[Message] = []
        results: list[tuple[str, str]] = []
        for part in parts:
            kind = first_text(mapping(part), "type")
            words = first_text(mapping(part), "content", "text", "thinking") or ""
            if isinstance(part, str):
                said.append(part)
            elif kind in _TEXTS:
                said.append(words)
            elif kind in _THOUGHTS:
                thoughts.append(words)
            elif kind in _CALLS:
                calls.append(self._call(part))
            elif kind in _RESULTS:
                results.append(self._result(part))
            else:
                self.left_out += 1
        return said, thoughts, calls, results

    def _call(self, part: Message) -> Message:
        function = mapping(part.get("function")) or part
        arguments = next((function[name] for name in ("arguments", "input") if name in function), None)
        name = first_text(part, "id", "call_id")
        if name is None:
            self._named += 1
            name = f"call-{self._named}"
        self._open.append(name)
        called = {"name": text(function.get("name")) or "", "arguments": as_json(arguments) or "{}"}
        return {"id": name, "type": "function", "function": called}

    def _result(self, part: Message) -> tuple[str, str]:
        value = next((part[name] for name in ("response", "result", "content") if name in part), None)
        name = first_text(part, "id", "tool_use_id", "tool_call_id", "call_id")
        return self._answered(name), self._text_of(value)

    def _answered(self, name: str | None) -> str:
        """The id of the call that a result answers: its own, else that of the first call still open."""
        if name is None:
            return self._open.pop(0) if self._open else ""
        if name in self._open:
            self._open.remove(name)
        return name

    def _text_of(self, value: Any) -> str:
        """A result as text: itself, the texts of its parts, or its JSON."""
        parts = objects(value)
        if not parts or any("type" not in part for part in parts):
            return as_json(value)
        said = [first_text(part, "text", "content") for part in parts if first_text(part, "type") in _TEXTS]
        self.left_out += len(parts) - len(said)
        return "\n".join(found for found in said if found)


def answer_of(messages: Sequence[Message]) -> Message | None:
    """The answer that messages are, put together where they are several; null where none is an assistant's."""
    said = [message for message in messages if message["role"] == "assistant"]
    if not said:
        return None
    return _answer(
        [message["content"] for message in said if message.get("content")],
        [message["reasoning_content"] for message in said if message.get("reasoning_content")],
        [call for message in said for call in message.get("tool_calls", ())],
    )


def same_said(one: Message, other: Message) -> bool:
    """Whether two messages are the same but for their reasoning, which many clients drop from what they send back."""
    return all(one.get(name) == other.get(name) for name in ("role", "content", "tool_calls", "tool_call_id"))


def function_tools(value: Any) -> list[Message] | None:
    """Definitions of tools in OpenAI's shape; null where there are none."""
    tools = []
    for tool in objects(parsed(value)):
        function = mapping(tool.get("function")) or tool
        name = text(function.get("name"))
        if name is None:
            continue
        schemas = [function[key] for key in ("parameters", "input_schema", "inputSchema") if key in function]
        tools.append(
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": text(function.get("description")) or "",
                    "parameters": mapping(parsed(schemas[0])) if schemas else {},
                },
            }
        )
    return tools or None


def _as_parts(content: Any) -> list[Any]:
    if content is None or content == "":
        return []
    return content if isinstance(content, list) else [as_json(content)]


def _answer(said: Sequence[str], thoughts: Sequence[str], calls: Sequence[Message]) -> Message:
    message: Message = {"role": "assistant", "content": "\n".join(said)}
    if any(thoughts):
        message["reasoning_content"] = "\n".join(thought for thought in thoughts if thought)
    if calls:
        message["tool_calls"] = list(calls)
    return message
