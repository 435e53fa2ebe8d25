"""One session as it grows, turn by turn: its messages, its depth, and what becomes of it when the context is full."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from loadgen.workload.asks import Ask
from loadgen.workload.distribution import RandomSource
from loadgen.workload.profile import Profile
from loadgen.workload.recorded import Cancel
from loadgen.workload.session import Message, Turn
from loadgen.workload.sizing import Sizer
from loadgen.workload.tools.toolbox import SUB_AGENT, Toolbox, call_tokens
from loadgen.workload.writer import Part, Writer, Written

__all__ = ["SALT_TOKENS", "Conversation", "Head", "Spawn", "summary_tokens"]

SALT_TOKENS = 9
"""Eight hex digits and a line end, at most a token each."""
_EDIT_ROOM = 1.25
"""Where the text of an edit is longer than the drawn cap (which may be tiny), the cap is this many times its length."""
_SUMMARY_SHARE, _MOST_SUMMARY = 16, 1500
"""Of a profile that doesn't say: a sixteenth of the context, and 1,500 tokens at most (assumed)."""


@dataclass(frozen=True)
class Head:
    """What stands in front of a session: the system message, and the tools."""

    system: str
    toolbox: Toolbox


@dataclass(frozen=True)
class Spawn:
    """Sub-agents that begin when turn `at` has been answered: how many, and whether the next turn waits for them."""

    at: int
    count: int
    joined: bool


def summary_tokens(context: int) -> int:
    """How long a summary is where nobody says, for a slot of so many tokens."""
    return min(max(1, context // _SUMMARY_SHARE), _MOST_SUMMARY)


class Conversation:
    """A session that grows.

    Args:
        profile: whose session it is.
        writer: of its texts.
        head: what stands in front.
        sizer: counts tokens.
        text: the stream that texts are drawn from.
        extra: the stream that calls of tools and summaries are drawn from.
        spawn: its sub-agents; null: none.
    """

    def __init__(
        self,
        profile: Profile,
        writer: Writer,
        head: Head,
        sizer: Sizer,
        *,
        text: RandomSource,
        extra: RandomSource,
        spawn: Spawn | None = None,
    ) -> None:
        self.turns: list[Turn] = []
        self.overflows = False
        """The last turn doesn't fit, and is meant not to."""
        self._profile = profile
        self._writer = writer
        self._head = head
        self._sizer = sizer
        self._text = text
        self._extra = extra
        self._spawn = spawn
        self._limit = int(profile.min_context * sizer.fill)
        self._before = 0
        """Tokens of the last prompt, without the head of its answer."""
        self._longer = 0
        """Tokens by which live answers may be longer than the recorded ones."""

    @property
    def tools(self) -> tuple[Message, ...]:
        """The definitions of the agent's tools."""
        return self._head.toolbox.definitions

    @property
    def interrupted(self) -> bool:
        """Whether the user broke the last answer off, to say something else."""
        return bool(self.turns) and _dropped(self.turns[-1].cancel)

    def add(self, ask: Ask) -> bool:
        """The next turn; false where the session ends before it, or with it."""
        ask = self._joining(ask)
        written = self._writer.write(self._text, ask)
        calls = self._calls(ask, written.parts)
        if ask.compact:
            return self._begin_anew(ask, written)
        answered, taken, longer = self._answered(calls)
        messages = self._messages(ask, written.parts, calls)
        if not self.turns:
            messages = [self._system(), *messages]
            self._before = SALT_TOKENS + self._head.toolbox.tokens
        before = self._before + taken + self._tokens(messages)
        turn = self._turn(ask, written, messages, before)
        longer += self._longer
        if turn.depth + longer + turn.output_tokens > self._limit:
            if self._profile.context_full == "compact" and self.turns:
                return self._begin_anew(ask, written)
            if self._profile.context_full != "fail":
                return False
            self.overflows = turn.depth > self._profile.min_context
        self.turns = [*self.turns[:-1], *answered, turn]
        self._before, self._longer = before, longer
        return not self.overflows

    def _begin_anew(self, ask: Ask, written: Written) -> bool:
        """The turn behind a summary in place of all that was; what comes in goes with it as the user's."""
        wanted = self._profile.compact.summary_tokens if self._profile.compact is not None else None
        context = self._profile.min_context
        tokens = summary_tokens(context) if wanted is None else min(round(wanted.draw(self._extra)), context)
        summary = self._writer.summary(self._extra, max(1, tokens))
        text = "\n\n".join((summary, *(part.text for part in written.parts)))
        messages: list[Message] = [self._system(), {"role": "user", "content": text}]
        before = SALT_TOKENS + self._head.toolbox.tokens + self._tokens(messages)
        turn = replace(self._turn(ask, written, messages, before), begins_anew=True)
        if turn.depth + turn.output_tokens > self._limit:
            return False
        self.turns.append(turn)
        self._before, self._longer = before, 0
        return True

    def _turn(self, ask: Ask, written: Written, messages: Sequence[Message], before: int) -> Turn:
        index, spawn = len(self.turns), self._spawn
        joins = spawn is not None and spawn.joined and index == spawn.at + 1
        answer = written.answer
        if _dropped(ask.cancel) and ask.cancel is not None:
            answer = self._sizer.cut(answer, ask.cancel.after_tokens or 1).strip() or answer
        return Turn(
            messages=tuple(messages),
            answer=answer,
            wait_s=ask.wait_s if index and not joins else 0.0,
            wait_kind=None if index == 0 else "subagent" if joins else "user" if ask.user else "tool",
            output_tokens=self._room(ask, written.answer),
            kind=ask.kind,
            depth=before + self._sizer.prompt_tokens,
            cancel=ask.cancel,
        )

    def _answered(self, calls: list[Message]) -> tuple[list[Turn], int, int]:
        """The last turn with the calls of its answer; the tokens of that answer; and how much longer a live one is.

        An answer that is to call tools has the drawn length with its calls; any other calls them besides.
        """
        if not self.turns:
            return [], 0, 0
        last = self.turns[-1]
        text, taken = last.answer, call_tokens(calls, self._sizer)
        if calls and last.kind == "tool_call":
            text = self._sizer.cut(text, max(0, self._sizer.tokens(text) - taken))
        if calls:
            said: Message = {"role": "assistant", "content": text, "tool_calls": calls}
            last = replace(last, answer=text, assistant=said)
        spoken = self._sizer.tokens(text)
        live = self._profile.history == "live" and not _dropped(last.cancel)
        longer = max(0, last.output_tokens - spoken) if live else 0
        return [last], spoken + taken + self._sizer.message_tokens, longer

    def _joining(self, ask: Ask) -> Ask:
        """Where the sub-agents of a session with tools report, their reports are the results."""
        spawn = self._spawn
        if spawn is None or len(self.turns) != spawn.at + 1 or ask.user or not self._profile.tools:
            return ask
        return replace(ask, results=spawn.count, corpus="prose")

    def _calls(self, ask: Ask, parts: Sequence[Part]) -> list[Message]:
        """What the last answer called, for these results."""
        index = len(self.turns)
        if not index or not ask.results:
            return []
        spawns = self._spawn is not None and index == self._spawn.at + 1
        return [
            self._head.toolbox.call(
                f"c{index:04d}{number:04d}", SUB_AGENT if spawns else part.printed, part.command, self._extra
            )
            for number, part in enumerate(parts)
        ]

    def _messages(self, ask: Ask, parts: Sequence[Part], calls: Sequence[Message]) -> list[Message]:
        if ask.results and calls:
            return [
                {"role": "tool", "tool_call_id": call["id"], "content": part.text}
                for call, part in zip(calls, parts, strict=True)
            ]
        return [{"role": "user", "content": part.text} for part in parts]

    def _system(self) -> Message:
        return {"role": "system", "content": self._head.system}

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(self._sizer.tokens(message["content"]) + self._sizer.message_tokens for message in messages)

    def _room(self, ask: Ask, answer: str) -> int:
        """The output of a turn, raised where a natural answer to an edit needs more."""
        if ask.kind != "edit" or self._profile.output.mode == "exact":
            return ask.output
        return max(ask.output, ceil(self._sizer.tokens(answer) * _EDIT_ROOM))


def _dropped(cancel: Cancel | None) -> bool:
    return cancel is not None and cancel.then == "drop"
