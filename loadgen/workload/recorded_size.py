"""How many tokens recorded turns take: prompts as counted or estimated, answers with room to spare."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from loadgen.workload.copy_rate import text_of
from loadgen.workload.made_up import FilledTurn
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.sizing import Sizer

__all__ = ["CALLS", "DEFINITIONS", "Scale", "fitting_reach", "needed_context"]

DEFINITIONS, CALLS = "tool definitions", "tool calls"
"""What chat templates may leave out."""
_CALL_TOKENS = 10
"""What a chat template puts around a tool call beside name and arguments: marks, and the names of both fields."""
_SALT_TOKENS = 9
"""Eight hex digits and a line end."""
_PLAUSIBLE = 2.0
"""Counts of a file are taken where each is within this factor of what its text comes to. Tokenizers differ by a third,
and templates add to short prompts; a count further off is of text that the file doesn't hold, such as the system prompt
and the tools of an agent whose log has neither."""
_AGREEING = 1.05
"""And where the server's own tokenizer counts the text: within this factor the file's counts are of the same model, and
have what the template makes of tools and calls, which is only estimated here."""
_ROOM = 1.5
"""The cap of an answer over its recorded length: a model that ends its answers by itself isn't cut off at the usual
spread, and one that runs away costs half as much again."""
_LEAST_ROOM = 64
"""Tokens: a shorter cap would cut another model's tool call in the middle."""
_UNKNOWN_OUTPUT = 256
"""Tokens of an answer of which the file says nothing."""


@dataclass(frozen=True)
class Scale:
    """Counts tokens of messages and turns, as a sizer counts those of text."""

    sizer: Sizer
    left_out: frozenset[str] = frozenset()
    """Parts that the chat template leaves out of prompts."""

    def message(self, message: dict[str, Any]) -> int:
        """Tokens of a message's text and calls, without what a template puts around it."""
        return self._text(text_of(message)) + _CALL_TOKENS * len(message.get("tool_calls") or ())

    def output(self, turn: RecordedTurn) -> int | None:
        """Tokens of a recorded answer; null where the file says nothing of it."""
        answer = turn.assistant or {}
        estimate = int(answer["tokens"]) if "tokens" in answer else self.message(answer)
        return turn.output_tokens or estimate or None

    def length(self, turn: RecordedTurn) -> int:
        """Tokens of a recorded answer; a guess where the file says nothing of it."""
        return self.output(turn) or _UNKNOWN_OUTPUT

    def room(self, turn: RecordedTurn) -> int:
        """The cap of a turn's answer."""
        return max(_LEAST_ROOM, ceil(_ROOM * self.length(turn)))

    def depths(self, session: RecordedSession, turns: Sequence[FilledTurn]) -> list[int]:
        """Prompt tokens of every turn, salt included.

        The file's counts where all are plausible, else what the sizer makes of the texts.
        """
        estimates = self._estimates(session, turns)
        counts = [turn.input_tokens or 0 for turn in session.turns]
        within = _AGREEING if self.sizer.exact else _PLAUSIBLE
        plausible = all(
            estimate / within <= count <= estimate * within for estimate, count in zip(estimates, counts, strict=True)
        )
        return [depth + _SALT_TOKENS for depth in (counts if plausible else estimates)]

    def fresh(self, session: RecordedSession, messages: Sequence[dict[str, Any]]) -> int:
        """Prompt tokens of a turn of the session that goes on from nothing but these messages, salt included."""
        head = self._head(session)
        said = sum(self._in_prompt(message) + self.sizer.message_tokens for message in messages)
        return head + said + self.sizer.prompt_tokens + _SALT_TOKENS

    def _estimates(self, session: RecordedSession, turns: Sequence[FilledTurn]) -> list[int]:
        head = self._head(session)
        out: list[int] = []
        before = head
        for recorded, turn in zip(session.turns, turns, strict=True):
            before = head if recorded.history_reset is not None else before
            before += sum(self._in_prompt(message) + self.sizer.message_tokens for message in turn.messages)
            out.append(before + self.sizer.prompt_tokens)
            before += self._in_prompt(turn.answer) + self.sizer.message_tokens if turn.answer else 0
        return out

    def _head(self, session: RecordedSession) -> int:
        """Tokens of the tool definitions."""
        if not session.tools or DEFINITIONS in self.left_out:
            return 0
        return self._text(json.dumps(session.tools))

    def _in_prompt(self, message: dict[str, Any]) -> int:
        """Tokens of a message in later prompts."""
        if CALLS not in self.left_out:
            return self.message(message)
        return self.message({name: value for name, value in message.items() if name != "tool_calls"})

    def _text(self, text: str) -> int:
        return self.sizer.tokens(text)


def fitting_reach(context: int, sizer: Sizer) -> int:
    """The most tokens of prompt and answer that are taken to fit a slot's context."""
    return context * _percent(sizer) // 100


def needed_context(reach: int, sizer: Sizer) -> int:
    """The context that prompt and answer of so many tokens are taken to need: the inverse."""
    return -(-reach * 100 // _percent(sizer))


def _percent(sizer: Sizer) -> int:
    """Whole, so that both directions agree to the token."""
    return round(sizer.fill * 100)
