"""What a message says, as a number: by which a prompt is known to go on from another."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from loadgen.recording.call import Message
from loadgen.workload.copy_rate import content_text

__all__ = ["mark", "shared", "tools_mark"]


def mark(message: Message) -> bytes:
    """The same for two messages that say the same.

    Blanks at the ends of a text, how arguments are written, and reasoning don't count: clients change the first two
    when they send an answer back, and many leave the third out.
    """
    calls = [
        (call.get("id"), function.get("name"), _plain(function.get("arguments")))
        for call in message.get("tool_calls") or ()
        if isinstance(function := call.get("function"), dict)
    ]
    said = [message.get("role"), content_text(message.get("content")).strip(), calls, message.get("tool_call_id")]
    return _digest(said)


def tools_mark(tools: Sequence[Message] | None) -> bytes:
    """The same for the same definitions in the same order."""
    return _digest(list(tools or ()))


def shared(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """With how many equal marks two prompts begin."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _plain(arguments: Any) -> Any:
    """Arguments as a value: the same however they are written."""
    try:
        return json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return str(arguments).strip()


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()[:16]
