"""A conversation of our own whose parts hold marks: what a chat template leaves out is told by the marks it lacks."""

from loadgen.workload.session import Message, Session, Turn

__all__ = ["ARGUMENT", "DEFINITION", "REASONING", "probe"]

DEFINITION, ARGUMENT, REASONING = "gurnard", "turbot", "dogfish"
"""Words that no template has of itself: in a tool's definition, in a call's argument, in an answer's reasoning."""

_CALL: Message = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "look", "arguments": f'{{"at": "{ARGUMENT}"}}'},
}
_TOOL: Message = {
    "type": "function",
    "function": {
        "name": "look",
        "description": DEFINITION,
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
}


def probe(*, calls: bool, tools: bool, reasoning: bool = True) -> Session:
    """Two turns, the second one behind an answer.

    Args:
        calls: the answer calls a tool, and the second turn brings its result: where templates that keep reasoning at
            all keep it. Else the user asks on.
        tools: the tool is defined.
        reasoning: the answer has some.
    """
    answer: Message = {"role": "assistant", "content": "I look."}
    if reasoning:
        answer["reasoning_content"] = REASONING
    asked: Message = {"role": "user", "content": "Look."}
    result: Message = {"role": "tool", "tool_call_id": _CALL["id"], "content": "Seen."}
    first = Turn(
        messages=(asked,),
        answer="I look.",
        wait_s=0.0,
        wait_kind=None,
        output_tokens=1,
        kind="prose",
        depth=1,
        assistant=answer | {"tool_calls": [_CALL]} if calls else answer,
    )
    second = Turn(
        messages=(result if calls else asked,),
        answer="",
        wait_s=0.0,
        wait_kind=None,
        output_tokens=1,
        kind="prose",
        depth=1,
    )
    return Session("probe", (first, second), tools=(_TOOL,) if tools else ())
