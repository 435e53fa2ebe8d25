"""Spans that are calls of a model or runs of a tool, after OpenTelemetry's conventions for generative AI.

Newer exporters have the whole chat in `gen_ai.input.messages` and `gen_ai.output.messages` of the span, or of its event
`gen_ai.client.inference.operation.details`; older ones in one event a message (`gen_ai.user.message`, …,
`gen_ai.choice`), in `gen_ai.prompt.0.role` and the like, or in `gen_ai.output.text`. Content is optional in all of
them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.workload.formats.calls import Call, ToolRun
from loadgen.workload.formats.chat import FINISHED, Chat, answer_of, function_tools
from loadgen.workload.formats.fields import first_text, first_whole, mapping, parsed, text
from loadgen.workload.formats.spans import Span

__all__ = ["call_of", "is_agent", "is_call", "is_tool", "tool_run"]

_OPERATION = "gen_ai.operation.name"
_CALLS = frozenset({"chat", "text_completion", "generate_content", "completion"})
_DETAILS = "gen_ai.client.inference.operation.details"
_MESSAGE_EVENTS = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_INDEXED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,6})\.(?:tool_calls\.(\d{1,6})\.)?(\w+)")
_INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_OUTPUT = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
_CACHED = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "gen_ai.usage.cached_tokens",
    "gen_ai.usage.input_cached_tokens",
)


def is_call(span: Span) -> bool:
    """Whether a span is a call of a model that gives text."""
    operation = span.attributes.get(_OPERATION)
    if isinstance(operation, str):
        return operation in _CALLS
    signs = (*_INPUT, *_OUTPUT, "gen_ai.input.messages", "gen_ai.prompt.0.role")
    known = any(name in span.attributes for name in signs)
    return known and "gen_ai.request.model" in span.attributes and not is_agent(span)


def is_tool(span: Span) -> bool:
    """Whether a span is a tool at work."""
    return span.attributes.get(_OPERATION) == "execute_tool" or span.title.startswith("execute_tool ")


def is_agent(span: Span) -> bool:
    """Whether a span is an agent at work."""
    return span.attributes.get(_OPERATION) == "invoke_agent" or span.title.split(" ")[0] == "invoke_agent"


def tool_run(span: Span) -> ToolRun:
    """The run of a tool that a span is."""
    return ToolRun(first_text(span.attributes, "gen_ai.tool.call.id"), span.start_s, span.end_s)


def call_of(span: Span) -> Call | str:
    """The call that a span is, or why it can't be played."""
    if span.failed:
        return "the call ended in an error"
    found = _all_attributes(span)
    chat = Chat()
    chat.add(_system(found))
    given, answered = _messages(span, found)
    chat.add(given)
    prompt = list(chat.messages)
    chat.add(answered)
    if chat.strange is not None:
        return f"a message has the role {chat.strange!r}"
    if not any(message["role"] in {"user", "tool"} for message in prompt):
        # The instructions alone are no prompt: the exporter kept the rest to itself.
        prompt, chat.messages = [], []
    tokens = first_whole(found, *_INPUT)
    if not prompt and not tokens:
        return "it has neither messages nor a count of input tokens"
    reasons = parsed(found.get("gen_ai.response.finish_reasons"))
    reason = reasons[0] if isinstance(reasons, list) and reasons else reasons
    reason = text(reason) or next((text(mapping(one).get("finish_reason")) for one in answered), None)
    return Call(
        line=span.line,
        start_s=span.start_s,
        end_s=span.end_s,
        messages=prompt,
        answer=answer_of(chat.messages[len(prompt) :]),
        tools=function_tools(found.get("gen_ai.tool.definitions")),
        input_tokens=tokens,
        output_tokens=first_whole(found, *_OUTPUT),
        cached_tokens=first_whole(found, *_CACHED),
        finish_reason=FINISHED.get(str(reason), reason),
        left_out=chat.left_out,
    )


def _all_attributes(span: Span) -> dict[str, Any]:
    """Those of the span, and of its event that carries the content."""
    found: dict[str, Any] = {}
    for event in span.events:
        if event.name == _DETAILS:
            found |= event.attributes
    return found | {name: value for name, value in span.attributes.items() if value not in (None, "", [])}


def _system(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = parsed(found.get("gen_ai.system_instructions"))
    if not parts:
        return []
    return [{"role": "system", "parts": parts if isinstance(parts, list) else [str(parts)]}]


def _messages(span: Span, found: Mapping[str, Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """What was sent and what came back, in the first of the ways in which exporters keep it."""
    given = _list(found.get("gen_ai.input.messages"))
    answered = _list(found.get("gen_ai.output.messages"))
    if not given:
        given, choices = _from_events(span)
        answered = answered or choices
    if not given:
        given = _indexed(found, "prompt") or _list(found.get("gen_ai.prompt"))
    if not answered:
        answered = _indexed(found, "completion") or _list(found.get("gen_ai.completion"))
    said = first_text(found, "gen_ai.output.text", "gen_ai.completion", "gen_ai.output")
    if not answered and said is not None:
        answered = [{"role": "assistant", "content": said}]
    # Of several answers (choices) the first is the one that goes on.
    return given, answered[:1] if len(answered) > 1 and _are_choices(answered) else answered


def _are_choices(answered: Sequence[Any]) -> bool:
    said = [mapping(one) for one in answered]
    return all(one.get("role", "assistant") == "assistant" and "finish_reason" in one for one in said)


def _list(value: Any) -> list[Any]:
    found = parsed(value)
    return found if isinstance(found, list) else []


def _from_events(span: Span) -> tuple[list[Any], list[Any]]:
    """One event a message; an answer's is called a choice."""
    given: list[Any] = []
    choices: list[Any] = []
    for event in span.events:
        body = dict(event.attributes)
        body |= {name: parsed(body[name]) for name in ("message", "tool_calls") if name in body}
        if event.name in _MESSAGE_EVENTS:
            given.append({"role": _MESSAGE_EVENTS[event.name]} | body)
        elif event.name == "gen_ai.choice":
            message = mapping(body.get("message")) or body
            choices.append(message | {"role": "assistant"})
        elif event.name == "gen_ai.content.prompt":
            given += _list(event.attributes.get("gen_ai.prompt"))
        elif event.name == "gen_ai.content.completion":
            choices += _list(event.attributes.get("gen_ai.completion"))
    return given, choices


def _indexed(found: Mapping[str, Any], which: str) -> list[dict[str, Any]]:
    """Messages that are spread over attributes: `gen_ai.prompt.0.role`, `gen_ai.prompt.1.tool_calls.0.name`."""
    messages: dict[int, dict[str, Any]] = {}
    for name, value in found.items():
        match = _INDEXED.fullmatch(name)
        if match is None or match[1] != which:
            continue
        message = messages.setdefault(int(match[2]), {"role": "user" if which == "prompt" else "assistant"})
        if match[3] is None:
            message[match[4]] = parsed(value) if match[4] == "tool_calls" else value
            continue
        calls = message.setdefault("calls", {})
        calls.setdefault(int(match[3]), {})[match[4]] = value
    for message in messages.values():
        if "calls" in message:
            calls = message.pop("calls")
            message["tool_calls"] = [calls[number] for number in sorted(calls)]
    return [messages[number] for number in sorted(messages)]
