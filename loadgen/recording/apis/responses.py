"""OpenAI's responses (platform.openai.com/docs/api-reference/responses), turned as llama-server turns them.

Its conversion makes one assistant message of the items of one answer, keeps parts of text apart, and drops tools that
are no functions. What llama-server refuses and OpenAI serves is read too: custom tools become functions with one text
`input`, and an answer that is named (`previous_response_id`) in place of being sent is looked up by whoever records.
"""

from typing import Any

from loadgen.client.server_error import read_error
from loadgen.recording.answer import Answer
from loadgen.recording.apis import Asked
from loadgen.recording.call import Message
from loadgen.workload.formats.fields import as_json, first_text, mapping, objects, text
from loadgen.workload.row_fields import Notes, Wrong

__all__ = ["asked", "take", "whole"]

_TEXTS = frozenset({"input_text", "output_text", "text"})
_ROLES = frozenset({"user", "system", "developer", "assistant"})
_ENDS = {"response.completed": "completed", "response.incomplete": "incomplete", "response.failed": "failed"}
_FAILED = "the server reported an error in its answer"
_FREE_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def asked(body: dict[str, Any], notes: Notes) -> Asked:
    """The instructions as a first message, and the items of the input as messages."""
    if body.get("conversation") is not None:
        raise Wrong("its history is kept by the server (conversation)")
    given = body.get("input")
    if isinstance(given, str):
        messages: list[Message] = [{"role": "user", "content": given}]
    elif isinstance(given, list):
        messages = _messages(objects(given), notes)
    else:
        raise Wrong("input is neither text nor a list of items")
    said = text(body.get("instructions"))
    return Asked(
        messages,
        _tools(body.get("tools")),
        text(body.get("model")),
        heading=[] if said is None else [{"role": "system", "content": said}],
        follows=text(body.get("previous_response_id")),
    )


def take(answer: Answer, event: dict[str, Any]) -> None:
    """An event of a stream. The last one has all of the answer; the others are for one that is broken off."""
    kind = str(event.get("type"))
    if kind == "response.created":
        _facts(answer, mapping(event.get("response")))
    elif kind == "response.output_text.delta":
        answer.say(event.get("delta"))
    elif kind in {"response.reasoning_text.delta", "response.reasoning_summary_text.delta"}:
        answer.think(event.get("delta"))
    elif kind == "response.output_item.added":
        item = mapping(event.get("item"))
        if _is_call(item):
            answer.call(len(answer.calls), name=item.get("call_id"), tool=item.get("name"))
    elif kind in {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}:
        answer.call(max(len(answer.calls) - 1, 0), arguments=event.get("delta"))
    elif kind in _ENDS:
        _end(answer, mapping(event.get("response")) | {"status": _ENDS[kind]})
        answer.closed = True
    elif kind == "error" or read_error(event) is not None:
        answer.failed = _FAILED


def whole(answer: Answer, reply: dict[str, Any]) -> None:
    """An answer that isn't streamed."""
    _end(answer, reply)


def _end(answer: Answer, response: dict[str, Any]) -> None:
    if response.get("status") == "failed" or read_error(response) is not None:
        answer.failed = _FAILED
        return
    _facts(answer, response)
    items = objects(response.get("output"))
    messages = _messages(items, Notes(""))
    if messages and messages[0]["role"] == "assistant":
        answer.message = {"content": "", **messages[0]}
    cut = first_text(mapping(response.get("incomplete_details")), "reason") == "max_output_tokens"
    called = any(_is_call(item) for item in items) or bool(answer.calls)
    answer.finish_reason = "length" if cut else "tool_calls" if called else "stop"
    answer.ended = True


def _facts(answer: Answer, response: dict[str, Any]) -> None:
    answer.model = text(response.get("model")) or answer.model
    answer.response_id = text(response.get("id")) or answer.response_id
    usage = response.get("usage")
    answer.count(usage, details="input_tokens_details", given="input_tokens", made="output_tokens")


def _messages(items: list[dict[str, Any]], notes: Notes) -> list[Message]:
    """Items as messages; those of one answer, which stand behind each other, as one."""
    out: list[Message] = []
    for item in items:
        message = _message(item, notes)
        if message is None:
            continue
        if message["role"] == "assistant" and out and out[-1]["role"] == "assistant":
            _join(out[-1], message)
        else:
            out.append(message)
    return out


def _join(before: Message, more: Message) -> None:
    """Put an item of an answer to those before it."""
    if more.get("content"):
        before["content"] = [*(before.get("content") or []), *more["content"]]
    if more.get("tool_calls"):
        before["tool_calls"] = [*before.get("tool_calls", []), *more["tool_calls"]]
    if more.get("reasoning_content"):
        before["reasoning_content"] = more["reasoning_content"]


def _message(item: dict[str, Any], notes: Notes) -> Message | None:
    """An item as a message; null where nothing of it is text."""
    kind, role = text(item.get("type")) or "message", text(item.get("role"))
    if kind == "message" and role in _ROLES:
        return {"role": role, "content": _parts(item.get("content"), notes)}
    if _is_call(item):
        arguments = item.get("arguments") if kind == "function_call" else as_json({"input": item.get("input", "")})
        called = {"arguments": text(arguments) or "{}", "name": text(item.get("name")) or ""}
        call = {"function": called, "id": text(item.get("call_id")) or "", "type": "function"}
        return {"role": "assistant", "tool_calls": [call]}
    if kind.endswith("_call_output") and "output" in item:
        output = item["output"]
        content = output if isinstance(output, str) else _parts(output, notes)
        return {"role": "tool", "tool_call_id": text(item.get("call_id")) or "", "content": content}
    if kind == "reasoning":
        thoughts = objects(item.get("content")) or objects(item.get("summary"))
        thought = first_text(thoughts[0], "text") if thoughts else None
        return None if thought is None else {"role": "assistant", "content": [], "reasoning_content": thought}
    notes.part(kind)
    return None


def _is_call(item: dict[str, Any]) -> bool:
    return item.get("type") in {"function_call", "custom_tool_call"}


def _parts(content: Any, notes: Notes) -> list[Message]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found: list[Message] = []
    for part in objects(content):
        if part.get("type") in _TEXTS and isinstance(part.get("text"), str):
            found.append({"type": "text", "text": part["text"]})
        else:
            notes.part(str(part.get("type")))
    return found


def _tools(value: Any) -> list[Message] | None:
    """Functions as they are, custom tools as functions of one text; others are the provider's own."""
    tools: list[Message] = []
    for tool in objects(value):
        if tool.get("type") == "function":
            tools.append({"type": "function", "function": {name: tool[name] for name in tool if name != "type"}})
        elif tool.get("type") == "custom":
            named = {"name": tool.get("name", ""), "description": tool.get("description", "")}
            tools.append({"type": "function", "function": named | {"parameters": _FREE_INPUT}})
    return tools or None
