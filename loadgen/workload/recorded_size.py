"""How many tokens recorded turns take: prompts by the file's counts or by characters, answers with room to spare."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from loadgen.workload.copy_rate import text_of
from loadgen.workload.made_up import FilledTurn
from loadgen.workload.recorded import RecordedSession, RecordedTurn

__all__ = ["Scale", "fitting_reach", "needed_context"]

_MESSAGE_TOKENS = 15
"""What a chat template puts around a message: as for profiles, rather too many than a prompt too long."""
_CALL_TOKENS = 10
"""What it puts around a tool call beside the name and the arguments: marks, and the names of both fields."""
_PROMPT_TOKENS, _SALT_TOKENS = 4, 9
"""The begin-of-text mark and the head of the answer to come; eight hex digits and a line end."""
_PLAUSIBLE = 2.0
"""Counts of a file are taken where each is within this factor of what its text comes to. Tokenizers differ by a third,
and templates add to short prompts; a count further off is of text that the file doesn't hold, such as the system prompt
and the tools of an agent whose log has neither."""
_TENTHS_FILLED = 9
"""Tenths of a slot's context that prompt and answer may fill: counts are estimates, or another tokenizer's. As for
profiles, 10 % covers that."""
_ROOM = 1.5
"""The cap of an answer over its recorded length: a model that ends its answers by itself isn't cut off at the usual
spread, and one that runs away costs half as much again."""
_LEAST_ROOM = 64
"""Tokens: a shorter cap would cut another model's tool call in the middle."""
_UNKNOWN_OUTPUT = 256
"""Tokens of an answer of which the file says nothing."""


@dataclass(frozen=True)
class Scale:
    """Counts tokens of text, so many characters each."""

    chars_per_token: float

    def message(self, message: dict[str, Any]) -> int:
        """Tokens of a message's text and calls, without what a template puts around it."""
        return self._text(text_of(message)) + _CALL_TOKENS * len(message.get("tool_calls") or ())

    def output(self, turn: RecordedTurn) -> int | None:
        """Tokens of a recorded answer; null where the file says nothing of it."""
        answer = turn.assistant or {}
        estimate = int(answer["tokens"]) if "tokens" in answer else self.message(answer)
        return turn.output_tokens or estimate or None

    def room(self, turn: RecordedTurn) -> int:
        """The cap of a turn's answer."""
        return max(_LEAST_ROOM, ceil(_ROOM * (self.output(turn) or _UNKNOWN_OUTPUT)))

    def depths(self, session: RecordedSession, turns: Sequence[FilledTurn]) -> list[int]:
        """Prompt tokens of every turn, salt included: the file's counts where all are plausible, else estimates."""
        estimates = self._estimates(session, turns)
        counts = [turn.input_tokens or 0 for turn in session.turns]
        plausible = all(
            estimate / _PLAUSIBLE <= count <= estimate * _PLAUSIBLE
            for estimate, count in zip(estimates, counts, strict=True)
        )
        return [depth + _SALT_TOKENS for depth in (counts if plausible else estimates)]

    def _estimates(self, session: RecordedSession, turns: Sequence[FilledTurn]) -> list[int]:
        head = self._text(json.dumps(session.tools)) if session.tools else 0
        out: list[int] = []
        before = head
        for recorded, turn in zip(session.turns, turns, strict=True):
            before = head if recorded.history_reset is not None else before
            before += sum(self.message(message) + _MESSAGE_TOKENS for message in turn.messages)
            out.append(before + _PROMPT_TOKENS)
            before += self.message(turn.answer) + _MESSAGE_TOKENS if turn.answer else 0
        return out

    def _text(self, text: str) -> int:
        return ceil(len(text) / self.chars_per_token)


def fitting_reach(context: int) -> int:
    """The most tokens of prompt and answer that are taken to fit a slot's context."""
    return context * _TENTHS_FILLED // 10


def needed_context(reach: int) -> int:
    """The context that prompt and answer of so many tokens are taken to need: the inverse."""
    return -(-reach * 10 // _TENTHS_FILLED)
