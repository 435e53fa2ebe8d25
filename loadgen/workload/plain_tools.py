"""A workload with its tools told in plain text, for servers whose chat template knows none."""

import json
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from loadgen.workload.conversation import SALT_TOKENS
from loadgen.workload.copy_rate import content_text
from loadgen.workload.session import Message, Session, Turn, Workload, digest
from loadgen.workload.sizing import Sizer

__all__ = ["with_plain_tools"]

_INTRODUCTION = 'You can call these tools, each call on a line of its own as {"name": …, "arguments": {…}}:'


def with_plain_tools(workload: Workload, sizer: Sizer | None = None) -> Workload:
    """The same workload without tool messages: the same one where it has none.

    Definitions stand in the system message, a call is a line of the answer, and results are what the user says next.
    Depths are counted again where `sizer` counts; else they stay as they are estimated: what a template would have said
    around tools takes about as much.
    """
    sessions = tuple(map(_plain, workload.sessions))
    if sessions == workload.sessions:
        return workload
    if sizer is not None and sizer.exact:
        sessions = tuple(_counted(session, sizer) for session in sessions)
    facts = msgspec.structs.replace(workload.facts, digest=digest(sessions), tools_as_text=True)
    return replace(workload, sessions=sessions, facts=facts)


def _plain(session: Session) -> Session:
    turns = [_plain_turn(turn) for turn in session.turns]
    if session.tools:
        turns = [
            _told(turn, session.tools) if not number or turn.begins_anew else turn for number, turn in enumerate(turns)
        ]
    return replace(session, turns=tuple(turns), tools=())


def _counted(session: Session, sizer: Sizer) -> Session:
    """With the depths that its messages come to."""
    turns: list[Turn] = []
    before = SALT_TOKENS
    for turn in session.turns:
        before = SALT_TOKENS if turn.begins_anew else before
        before += sum(sizer.tokens(content_text(one.get("content"))) + sizer.message_tokens for one in turn.messages)
        spawn = tuple(_counted(child, sizer) for child in turn.spawn)
        turns.append(replace(turn, depth=before + sizer.prompt_tokens, spawn=spawn))
        before += sizer.tokens(turn.answer) + sizer.message_tokens if turn.recorded is not None else 0
    return replace(session, turns=tuple(turns))


def _told(turn: Turn, tools: Sequence[Message]) -> Turn:
    """The turn with the definitions behind what its first message says."""
    first, *others = turn.messages
    lines = [json.dumps(tool["function"]) for tool in tools]
    content = "\n".join((content_text(first.get("content")), "", _INTRODUCTION, *lines))
    return replace(turn, messages=(first | {"content": content}, *others))


def _plain_turn(turn: Turn) -> Turn:
    results = [content_text(message.get("content")) for message in turn.messages if message["role"] == "tool"]
    messages = tuple(message for message in turn.messages if message["role"] != "tool")
    if results:
        messages = (*messages, {"role": "user", "content": "\n\n".join(results)})
    answer, assistant = turn.answer, turn.assistant
    calls = (assistant or {}).get("tool_calls") or ()
    if calls:
        lines = [f'{{"name": {json.dumps(_name(call))}, "arguments": {_arguments(call)}}}' for call in calls]
        answer, assistant = "\n".join((*([answer] if answer else []), *lines)), None
    spawn = tuple(map(_plain, turn.spawn))
    return replace(turn, messages=messages, answer=answer, assistant=assistant, spawn=spawn)


def _name(call: Message) -> str:
    return str(call["function"]["name"])


def _arguments(call: Message) -> str:
    return str(call["function"]["arguments"])
