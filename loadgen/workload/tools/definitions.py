"""Definitions of tools in OpenAI's shape, of a wanted length: the same for one stream of random numbers."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from loadgen.workload.sizing import Sizer
from loadgen.workload.tools.tool import Parameter, Tool

__all__ = ["HEAD_TOKENS", "defined", "named", "tokens_of"]

HEAD_TOKENS = 120
"""What chat templates say around tool definitions: how to call them, in which marks (Qwen's and Hermes' take 110)."""
_SERVERS = ("files", "tracker", "wiki", "cloud", "mail", "charts", "builds")
"""Where there are more tools than the catalogue has, they come from servers, whose names stand in front."""
_FEWEST_WORDS = 4
"""Of a description that is cut: what the tool does."""
_LEAST_NOTE = 8
"""Tokens: a note that is shorter says nothing."""


def named(catalogue: Sequence[Tool], count: int) -> list[tuple[str, Tool]]:
    """The first `count` tools of a catalogue with their names; when it is used up, once more for each server."""
    out = []
    for place in range(count):
        tool, turn = catalogue[place % len(catalogue)], place // len(catalogue)
        server = _SERVERS[(turn - 1) % len(_SERVERS)] + ("" if turn <= len(_SERVERS) else str(turn))
        out.append((f"{server}_{tool.name}" if turn else tool.name, tool))
    return out


def defined(
    tools: Sequence[tuple[str, Tool]], tokens: int, *, sizer: Sizer, note: Callable[[int], str]
) -> list[dict[str, Any]]:
    """The definitions of tools, `tokens` of JSON together, as near as it goes.

    Each has an equal share. One that is too long loses optional parameters, then the descriptions of the others, then
    words of its own; one that is too short gets notes on its use, as long descriptions of tools have them.

    Args:
        tools: names and what they stand for.
        tokens: of all definitions together.
        sizer: counts tokens.
        note: prose of about so many tokens.
    """
    out: list[dict[str, Any]] = []
    used = 0
    for place, (name, tool) in enumerate(tools, 1):
        wanted = round(tokens * place / len(tools)) - used
        out.append(_fitted(name, tool, wanted, sizer, note))
        used += _tokens(out[-1], sizer)
    return out


def tokens_of(definitions: Sequence[dict[str, Any]], sizer: Sizer) -> int:
    """Tokens that definitions take in a prompt, with what templates say around them; 0 where there are none."""
    return HEAD_TOKENS + sum(_tokens(one, sizer) for one in definitions) if definitions else 0


def _fitted(name: str, tool: Tool, wanted: int, sizer: Sizer, note: Callable[[int], str]) -> dict[str, Any]:
    whole = _schema(name, tool.description, tool.parameters, told=True)
    left = wanted - _tokens(whole, sizer)
    if left < 0:
        return _shortened(name, tool, wanted, sizer)
    if left < _LEAST_NOTE:
        return whole
    text = note(left)
    longer = _schema(name, f"{tool.description}\n\n{text}", tool.parameters, told=True)
    added = _tokens(longer, sizer) - _tokens(whole, sizer)
    if added > left:
        # Line ends and quotes take more in JSON than in text.
        text = sizer.cut(text, max(1, left * left // added))
        longer = _schema(name, f"{tool.description}\n\n{text}", tool.parameters, told=True)
    return longer


def _shortened(name: str, tool: Tool, wanted: int, sizer: Sizer) -> dict[str, Any]:
    """The definition without what can go; the shortest where that isn't short enough."""
    needed = [one for one in tool.parameters if one.required]
    form = _schema(name, tool.description, needed, told=True)
    if _tokens(form, sizer) <= wanted:
        return form
    words = tool.description.split()
    for count in range(len(words), _FEWEST_WORDS - 1, -1):
        form = _schema(name, " ".join(words[:count]), needed, told=False)
        if _tokens(form, sizer) <= wanted:
            break
    return form


def _schema(name: str, description: str, parameters: Sequence[Parameter], *, told: bool) -> dict[str, Any]:
    """One definition; with `told` its parameters are described."""
    properties = {}
    for one in parameters:
        shape: dict[str, Any] = {"type": one.type}
        if one.type == "array":
            shape["items"] = {"type": "string"}
        properties[one.name] = shape | ({"description": one.description} if told else {})
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": [one.name for one in parameters if one.required],
            },
        },
    }


def _tokens(definition: dict[str, Any], sizer: Sizer) -> int:
    return sizer.tokens(json.dumps(definition))
