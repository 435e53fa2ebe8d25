"""Anthropic's messages (docs.claude.com/en/api/messages, .../streaming), turned as llama-server turns them.

Its conversion puts a user's text in front of the results that stand in the same message, joins the texts of a system
prompt and of a result without a blank, keeps parts of text apart, and writes calls' arguments without blanks.
"""

import json
import re
from typing import Any

from loadgen.recording.answer import Answer
from loadgen.recording.apis import Asked
from loadgen.recording.call import Message
from loadgen.workload.formats.chat import FINISHED
from loadgen.workload.formats.fields import first_text, first_whole, mapping, objects, text
from loadgen.workload.row_fields import Notes, Wrong

__all__ = ["asked", "take", "whole"]

_STAMP = re.compile(r"\Ax-anthropic-billing-header:.*?cch=([^;]{5});", re.DOTALL)
"""A line that Claude Code puts in front of its system prompt, with five letters that differ in every request."""
_SAME_STAMP = "fffff"
_FAILED = "the server reported an error in its answer"


def asked(body: dict[str, Any], notes: Notes) -> Asked:
    """The system prompt as a first message, and every message as one or several."""
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise Wrong("messages is no list of messages")
    messages: list[Message] = []
    system = body.get("system")
    if system is not None:
        texts = [system] if isinstance(system, str) else [str(part.get("text", "")) for part in _texts(system, notes)]
        messages.append({"role": "system", "content": "".join(_same_stamp(one) for one in texts)})
    for number, message in enumerate(given):
        messages += _shaped(message, f"messages[{number}]", notes)
    return Asked(messages, _tools(body.get("tools")), text(body.get("model")))


def take(answer: Answer, event: dict[str, Any]) -> None:
    """An event of a stream."""
    kind = event.get("type")
    if kind == "message_start":
        _facts(answer, mapping(event.get("message")))
    elif kind == "content_block_start":
        _block(answer, first_whole(event, "index") or 0, mapping(event.get("content_block")))
    elif kind == "content_block_delta":
        _grow(answer, first_whole(event, "index") or 0, mapping(event.get("delta")))
    elif kind == "message_delta":
        _facts(answer, event)
        _end(answer, mapping(event.get("delta")).get("stop_reason"))
    elif kind == "message_stop":
        answer.ended = answer.closed = True
    elif kind == "error":
        answer.failed = _FAILED


def whole(answer: Answer, reply: dict[str, Any]) -> None:
    """All blocks at once."""
    if reply.get("type") == "error" or "content" not in reply:
        answer.failed = _FAILED
        return
    _facts(answer, reply)
    for place, block in enumerate(objects(reply.get("content"))):
        _block(answer, place, block)
        if block.get("type") == "tool_use":
            answer.call(place, arguments=_arguments(block))
    _end(answer, reply.get("stop_reason"))


def _block(answer: Answer, place: int, block: dict[str, Any]) -> None:
    """The beginning of a block, or all of it."""
    answer.say(block.get("text"))
    answer.think(block.get("thinking"))
    if block.get("type") == "tool_use":
        answer.call(place, name=block.get("id"), tool=block.get("name"))


def _grow(answer: Answer, place: int, delta: dict[str, Any]) -> None:
    """A piece of the block at a place."""
    answer.say(delta.get("text"))
    answer.think(delta.get("thinking"))
    if "partial_json" in delta:
        answer.call(place, arguments=delta["partial_json"])


def _end(answer: Answer, reason: Any) -> None:
    stop = text(reason)
    if stop is not None:
        answer.finish_reason = FINISHED.get(stop, stop)
        answer.ended = True


def _facts(answer: Answer, event: dict[str, Any]) -> None:
    answer.model = text(event.get("model")) or answer.model
    usage = mapping(event.get("usage"))
    made = first_whole(usage, "output_tokens")
    answer.output_tokens = answer.output_tokens if made is None else made
    fresh = first_whole(usage, "input_tokens")
    if fresh is not None:
        # Anthropic counts what is read from the cache, and what is written to it, beside the rest.
        read, written = (first_whole(usage, f"cache_{way}_input_tokens") for way in ("read", "creation"))
        answer.input_tokens = fresh + (read or 0) + (written or 0)
        answer.cached_tokens = read


def _shaped(message: Any, where: str, notes: Notes) -> list[Message]:
    role, content = first_text(mapping(message), "role"), mapping(message).get("content")
    if role not in {"system", "user", "assistant"}:
        raise Wrong(f"{where}.role is none of assistant, system, user")
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    if not isinstance(content, list):
        raise Wrong(f"{where}.content is neither text nor a list of blocks")
    blocks = objects(content)
    said = [{"type": "text", "text": str(block.get("text", ""))} for block in blocks if block.get("type") == "text"]
    thought = "".join(str(block.get("thinking", "")) for block in blocks if block.get("type") == "thinking")
    calls = [_call(block) for block in blocks if block.get("type") == "tool_use"]
    results = [_result(block, notes) for block in blocks if block.get("type") == "tool_result"]
    for block in blocks:
        if block.get("type") not in _KNOWN:
            notes.part(str(block.get("type")))
    if not (said or thought or calls):
        return results
    shaped: Message = {"role": role, "content": said or ""}
    shaped |= {"tool_calls": calls} if calls else {}
    shaped |= {"reasoning_content": thought} if thought else {}
    return [shaped, *results]


_KNOWN = frozenset({"text", "thinking", "redacted_thinking", "tool_use", "tool_result"})


def _call(block: dict[str, Any]) -> Message:
    called = {"name": text(block.get("name")) or "", "arguments": _arguments(block)}
    return {"id": text(block.get("id")) or "", "type": "function", "function": called}


def _arguments(block: dict[str, Any]) -> str:
    return json.dumps(block.get("input", {}), ensure_ascii=False, separators=(",", ":"))


def _result(block: dict[str, Any], notes: Notes) -> Message:
    content = block.get("content")
    if not isinstance(content, str):
        content = "".join(str(part.get("text", "")) for part in _texts(content, notes))
    return {"role": "tool", "tool_call_id": text(block.get("tool_use_id")) or "", "content": content}


def _texts(parts: Any, notes: Notes) -> list[dict[str, Any]]:
    """The parts that are text; the others are told."""
    found = []
    for part in objects(parts):
        if part.get("type") == "text":
            found.append(part)
        else:
            notes.part(str(part.get("type")))
    return found


def _same_stamp(system: str) -> str:
    """A system prompt whose stamp is that of every other request, as llama-server makes it."""
    found = _STAMP.match(system)
    return system if found is None else system[: found.start(1)] + _SAME_STAMP + system[found.end(1) :]


def _tools(value: Any) -> list[Message] | None:
    """Definitions of tools; those that the provider runs itself have no schema, and stay names."""
    tools = [
        {
            "type": "function",
            "function": {
                "name": text(tool.get("name")) or "",
                "description": text(tool.get("description")) or "",
                "parameters": mapping(tool.get("input_schema")),
            },
        }
        for tool in objects(value)
    ]
    return tools or None
