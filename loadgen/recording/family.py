"""Sub-agents that one session starts through a tool, and waits for."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from loadgen.recording.call import Call, Message
from loadgen.recording.thread import Thread
from loadgen.workload.copy_rate import content_text

__all__ = ["waited_for", "who_started"]

_TASK_WORDS = 10
"""Of what a tool is told before it can be a task for a sub-agent: paths and commands, which come again in prompts of
others, are shorter."""
_SURELY = 16
"""Characters of an answer by which it is known where it comes again; shorter ones (*done*) stand there by chance."""


def who_started(call: Call, threads: Sequence[Thread]) -> tuple[Thread, int] | None:
    """The session that told a tool what the first prompt of this call says, and the turn whose answer did.

    Null where none did before the call began.
    """
    first = next((content_text(one.get("content")) for one in call.messages if one["role"] == "user"), "")
    for thread in reversed(threads):
        for number, step in reversed(list(enumerate(thread.steps))):
            if step.call.ended_s <= call.begun_s and any(task in first for task in _tasks(step.call.answer)):
                return thread, number
    return None


def waited_for(new: Sequence[Message], children: Sequence[Thread]) -> list[Thread]:
    """The sub-agents whose last answers stand in what a turn brings: it waited for them."""
    given = [content_text(message.get("content")) for message in new if message["role"] != "assistant"]
    return [child for child in children if (said := _said(child)) and any(said in text for text in given)]


def _said(thread: Thread) -> str:
    answer = thread.last.call.answer or {}
    said = content_text(answer.get("content")).strip()
    return said if len(said) >= _SURELY else ""


def _tasks(answer: Message | None) -> Iterator[str]:
    """Texts among the arguments of an answer's calls that are long enough for a task."""
    for call in (answer or {}).get("tool_calls") or ():
        try:
            arguments: Any = json.loads(call["function"]["arguments"])
        except (KeyError, TypeError, ValueError, RecursionError):
            continue
        for value in arguments.values() if isinstance(arguments, dict) else ():
            if isinstance(value, str) and len(value.split()) >= _TASK_WORDS:
                yield value.strip()
