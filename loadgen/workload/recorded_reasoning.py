"""Recorded answers without their reasoning, for chat templates that leave it out of later prompts."""

from typing import Any

import msgspec

from loadgen.workload.recorded import RecordedSession, RecordedTurn

__all__ = ["has_reasoning", "without_reasoning"]

_FIELDS = ("reasoning_content", "reasoning")
"""llama-server's and vLLM's names."""


def has_reasoning(message: dict[str, Any] | None) -> bool:
    """Whether a message has reasoning beside its content."""
    return message is not None and any(message.get(field) for field in _FIELDS)


def without_reasoning(session: RecordedSession) -> RecordedSession:
    """The session as such a template has it. Of an answer of reasoning alone nothing is left: it is made up, then."""
    turns = [_without(turn) if has_reasoning(turn.assistant) else turn for turn in session.turns]
    return msgspec.structs.replace(session, turns=turns)


def _without(turn: RecordedTurn) -> RecordedTurn:
    answer = {name: value for name, value in (turn.assistant or {}).items() if name not in _FIELDS}
    return msgspec.structs.replace(turn, assistant=answer)
