"""Lists of chat messages, taken apart into turns.

Files keep a session as one conversation, or as the prompts that were sent one after the other, each with all that came
before. A turn holds only what is new.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.workload.recorded import DelayKind, RecordedTurn, TurnKind
from loadgen.workload.row_fields import Notes, Wrong, at, object_of, objects, text

__all__ = [
    "RECORDED_TOKENS_PER_S",
    "Call",
    "answer_kind",
    "delay_kind",
    "generation_s",
    "messages_of",
    "split",
    "tools_of",
    "turns_of",
]

Message = dict[str, Any]

RECORDED_TOKENS_PER_S = 140.0
"""How fast the model that was recorded is assumed to have written, where a file tells only when calls began.

agentic-bench fits it over 1.7 million intervals as what the fastest 5 % of them come to. So it takes too little for
generation rather than too much, and never eats into a tool's time.
"""
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_TEXT_PARTS = ("text", "input_text", "output_text")
_ONLY_TRAINING = "weight"
"""A field of OpenAI's training files: what a message counts in the loss."""


def generation_s(output_tokens: int | None) -> float:
    """Seconds in which an answer of so many tokens is assumed to have been written; 0 where the file doesn't say."""
    return (output_tokens or 0) / RECORDED_TOKENS_PER_S


def messages_of(value: Any, where: str, notes: Notes) -> list[Message]:
    """Messages in OpenAI's shape, new dicts, as today's servers take them. Raises `Wrong` naming the field.

    Parts that aren't text (images, sound, files) are left out, and `notes` remembers that.
    Null fields go; arguments that are an object become text; a call without id gets one, and a result without
    `tool_call_id` that of the first call before it that has no result yet. `function_call` and the role `function`, as
    they were before there were tools, become `tool_calls` and `tool`.
    """
    if not isinstance(value, list) or not value:
        raise Wrong(f"{where} is no list of messages" if value != [] else f"{where} is empty")
    waiting: list[str] = []
    calls = 0
    out = []
    for index, one in enumerate(value):
        place = f"{where}[{index}]"
        message = _message(object_of(one, place), place, notes)
        if message["role"] == "assistant":
            calls += len(message.get("tool_calls", ()))
            waiting = _named(message.get("tool_calls", []), calls)
        elif message["role"] == "tool":
            asked = message.setdefault("tool_call_id", waiting[0] if waiting else "call_0")
            waiting = [call for call in waiting if call != asked]
        out.append(message)
    return out


def _message(value: Message, where: str, notes: Notes) -> Message:
    message = {name: item for name, item in value.items() if item is not None and name != _ONLY_TRAINING}
    role = text(message, "role", where)
    if role not in _ROLES:
        raise Wrong(f"{at(where, 'role')} is none of {', '.join(sorted(_ROLES))}")
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = content = _texts(objects(message, "content", where), at(where, "content"), notes)
    else:
        text(message, "content", where)
    text(message, "reasoning_content", where)
    text(message, "tool_call_id", where)
    if role == "function":
        message = {"role": "tool", "content": content or ""}
    elif role != "assistant":
        message.setdefault("content", "")
    calls = objects(message, "tool_calls", where)
    old = message.pop("function_call", None)
    if role == "assistant" and old is not None and not calls:
        calls = [{"function": old}]
    message.pop("tool_calls", None)
    if calls:
        message["tool_calls"] = [_call(call, f"{at(where, 'tool_calls')}[{index}]") for index, call in enumerate(calls)]
    return message


def _texts(parts: list[dict[str, Any]], where: str, notes: Notes) -> list[dict[str, Any]]:
    """The parts that are text."""
    found = []
    for index, part in enumerate(parts):
        kind = part.get("type", "text")
        if kind in _TEXT_PARTS and text(part, "text", f"{where}[{index}]") is not None:
            found.append({**part, "type": "text"})
        else:
            notes.part(kind if isinstance(kind, str) else "none")
    return found


def _call(value: dict[str, Any], where: str) -> dict[str, Any]:
    place = at(where, "function")
    function = object_of(value.get("function"), place)
    if not text(function, "name", place):
        raise Wrong(f"{at(place, 'name')} is missing")
    arguments = function.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = {"id": value["id"]} if text(value, "id", where) else {}
    return {**value, **name, "type": "function", "function": {**function, "arguments": arguments}}


def _named(calls: list[dict[str, Any]], last: int) -> list[str]:
    """The ids of calls, those without one named by their number in the conversation."""
    names = []
    for index, call in enumerate(calls):
        name = call.get("id") or f"call_{last - len(calls) + index + 1}"
        call["id"] = name
        names.append(str(name))
    return names


def tools_of(row: dict[str, Any], where: str = "") -> list[dict[str, Any]] | None:
    """The tools of a request, `functions` (as they were called before) included; None where there are none."""
    found = objects(row, "tools", where)
    found = found or [{"type": "function", "function": one} for one in objects(row, "functions", where)]
    return found or None


def delay_kind(messages: Sequence[Message], number: int) -> DelayKind:
    """What was waited for before the turn of that number (from 0), by its last message."""
    if number == 0:
        return "arrival"
    return "tool" if not messages or messages[-1].get("role") == "tool" else "user"


def answer_kind(assistant: Message | None) -> TurnKind | None:
    """A call of a tool, or words; None where there is no answer."""
    if assistant is None:
        return None
    return "tool_call" if assistant.get("tool_calls") else "prose"


@dataclass(frozen=True)
class Call:
    """A call as it was sent: its whole prompt, and what is known of the rest."""

    prompt: list[Message]
    delay_s: float = 0.0
    output_tokens: int | None = None


def split(messages: Sequence[Message]) -> list[RecordedTurn]:
    """A conversation as turns: every assistant message is the answer of one.

    What stands behind the last answer is a turn without one. A conversation that begins with an answer has a first
    turn without a message, which can't be played: callers see to that.
    """
    turns: list[RecordedTurn] = []
    given: list[Message] = []
    for message in messages:
        if message["role"] != "assistant":
            given.append(message)
            continue
        turns.append(_turn(given, message, len(turns)))
        given = []
    return [*turns, _turn(given, None, len(turns))] if given else turns


def _turn(given: list[Message], assistant: Message | None, number: int) -> RecordedTurn:
    return RecordedTurn(
        messages=given, assistant=assistant, delay_kind=delay_kind(given, number), kind=answer_kind(assistant)
    )


def turns_of(calls: Sequence[Call]) -> list[RecordedTurn]:
    """The calls of one session as turns.

    Where a prompt is the one before with an answer and more behind it, the turn holds that more, and the turn before
    it the answer. Where it isn't, the turn holds all of it (`history_reset`: `compact` where it is shorter, else
    `edit`), and the answer before it isn't known.
    """
    turns: list[RecordedTurn] = []
    for number, call in enumerate(calls):
        before = calls[number - 1].prompt if number else []
        after = calls[number + 1].prompt if number + 1 < len(calls) else []
        whole = number == 0 or not _goes_on(before, call.prompt)
        messages = call.prompt if whole else call.prompt[len(before) + 1 :]
        assistant = after[len(call.prompt)] if _goes_on(call.prompt, after) else None
        turn = RecordedTurn(
            messages=messages,
            assistant=assistant,
            delay_s=call.delay_s,
            delay_kind=delay_kind(messages, number),
            kind=answer_kind(assistant),
            output_tokens=call.output_tokens,
            history_reset=None if number == 0 or not whole else _reset(before, call.prompt),
        )
        turns.append(turn)
    return turns


def _goes_on(before: list[Message], prompt: list[Message]) -> bool:
    """Whether a prompt is the one before with an answer, and something new behind it."""
    behind = len(before)
    return len(prompt) > behind + 1 and prompt[behind]["role"] == "assistant" and prompt[:behind] == before


def _reset(before: list[Message], prompt: list[Message]) -> Any:
    return "compact" if len(json.dumps(prompt)) < len(json.dumps(before)) else "edit"
