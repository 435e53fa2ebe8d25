"""What an agent sent and got back, line by line as its log has it, as it becomes turns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec.structs import replace

from loadgen.workload.formats.chat import Chat
from loadgen.workload.recorded import DelayKind, RecordedTurn

__all__ = ["Dialogue", "begin_behind"]

Message = dict[str, Any]


@dataclass
class Dialogue:
    """The turns of one session of a log in which inputs and answers stand in the order in which they were written.

    An input that is written while an answer is open (a tool's result before the answer's last line) is the next turn's.

    Attributes:
        turns: so far.
        answered_s: when the answer of each turn was there; null: not written.
        sent_s: when the last input of each turn was written.
        results: the turn that sends the result of a call, by the call's id.
        called_s: when a call was written.
        ended_s: when its result was.
        headless: answers before the first input, which are left out.
        is_open: whether an answer has begun and not ended.
    """

    turns: list[RecordedTurn] = field(default_factory=list)
    answered_s: list[float | None] = field(default_factory=list)
    sent_s: list[float | None] = field(default_factory=list)
    results: dict[str, int] = field(default_factory=dict)
    called_s: dict[str, float] = field(default_factory=dict)
    ended_s: dict[str, float] = field(default_factory=dict)
    headless: int = 0
    is_open: bool = False
    _chat: Chat = field(default_factory=Chat)
    _history: list[Message] = field(default_factory=list)
    _sent: list[Message] = field(default_factory=list)
    _next: list[Message] = field(default_factory=list)
    _given_s: float | None = None
    _next_s: float | None = None
    _reset: Literal["compact", "edit"] | None = None

    @property
    def has_next(self) -> bool:
        """Whether anything was given since the last answer began."""
        return bool(self._next)

    @property
    def length(self) -> int:
        """Messages of the history, with all that was given and an answer that is open."""
        return len(self._history) + len(self._sent) + self.is_open + len(self._next)

    def shaped(self, *messages: Message) -> list[Message]:
        """Messages of the log in OpenAI's shape."""
        self._chat.add(messages)
        shaped, self._chat.messages = self._chat.messages, []
        return shaped

    def give(self, messages: list[Message], at_s: float | None) -> None:
        """Inputs of the next call."""
        self._next += messages
        self._next_s = at_s if at_s is not None else self._next_s

    def begin(self) -> None:
        """An answer begins: what was given since the last one is what it answers."""
        self._sent, self._next = self._next, []
        self._given_s, self._next_s = self._next_s, None
        self.is_open = True

    def end(self, said: Message, at_s: float | None, **facts: Any) -> bool:
        """The answer is there: with its inputs it is a turn, of which `facts` are fields. False: it had no inputs."""
        self.is_open = False
        if not self._history and not self._sent:
            self.headless += 1
            return False
        number = len(self.turns)
        self.results |= {str(message["tool_call_id"]): number for message in self._sent if message["role"] == "tool"}
        self.turns.append(self._turn(said, facts))
        self.answered_s.append(at_s)
        self.sent_s.append(self._given_s)
        self._history += [*self._sent, said]
        self._sent, self._reset = [], None
        return True

    def forget(self, history: list[Message]) -> None:
        """The history was summed up: the next prompt begins with what is left of it."""
        if self._history:
            self._history, self._next, self._reset = list(history), [], "compact"

    def inherit(self) -> None:
        """What came so far was another session's: it is only what the first prompt begins with."""
        for listed in (self.turns, self.answered_s, self.sent_s):
            listed.clear()
        self.results.clear()
        self._reset = None

    def take_back(self, place: int) -> None:
        """The history goes on behind its first `place` messages; nothing where no answer stands behind them."""
        history = [*self._history, *self._next]
        if any(message["role"] == "assistant" for message in history[place:]):
            self._history, self._next, self._reset = history[:place], [], "edit"

    def take_back_prompts(self, count: int) -> None:
        """The last so many messages of the user, and all behind them, are taken back."""
        history = [*self._history, *self._next]
        # What a client puts in by itself stands in tags.
        prompts = [
            place
            for place, message in enumerate(history)
            if message["role"] == "user" and not str(message["content"]).lstrip().startswith("<")
        ]
        if count and prompts:
            self.take_back(prompts[-count] if count <= len(prompts) else prompts[0])

    def losses(self, *, untimed: int, left_out: int = 0) -> Iterator[str]:
        """What of the log isn't played: `untimed` lines have no time, `left_out` were no messages."""
        losses = {
            "left out: answers before the first prompt": self.headless,
            "left out: messages behind the last answer": len(self._next) if self.turns else 0,
            "left out: parts that are no text": self._chat.left_out + left_out,
            "waits of 0 s: lines without a time": untimed,
        }
        yield from (f"{what} ({count})" for what, count in losses.items() if count)

    def _turn(self, said: Message, facts: dict[str, Any]) -> RecordedTurn:
        before = self.answered_s[-1] if self.answered_s else None
        kind: DelayKind = "arrival"
        if self.turns:
            kind = "tool" if self._sent and self._sent[-1]["role"] == "tool" else "user"
        times = self._tool_times(before) if kind == "tool" else []
        gap = max(self._given_s - before, 0.0) if before is not None and self._given_s is not None else 0.0
        return RecordedTurn(
            messages=[*self._history, *self._sent] if self._reset or not self.turns else self._sent,
            assistant=said,
            delay_s=gap,
            delay_kind=kind,
            kind="tool_call" if said.get("tool_calls") else "prose",
            tool_times_s=times if len(times) > 1 else None,
            history_reset=self._reset,
            **facts,
        )

    def _tool_times(self, before: float | None) -> list[float]:
        """How long the tools ran whose results are sent, from their calls, else from the end of the answer."""
        times = []
        for message in self._sent:
            name = message.get("tool_call_id")
            start, end = self.called_s.get(str(name), before), self.ended_s.get(str(name))
            if message["role"] == "tool" and start is not None and end is not None:
                times.append(max(end - start, 0.0))
        return times


def begin_behind(child: Dialogue, name: str, parent: Dialogue, *, answer: int, result: int | None) -> None:
    """Let a sub-agent's session begin behind an answer of another, which waits for it before it sends a result.

    Args:
        child: the sub-agent's.
        name: of its session.
        parent: of the session that started it.
        answer: the turn of the parent whose answer did.
        result: the turn of the parent that sends what came of it; null: it doesn't wait.
    """
    parent.turns[answer].spawn.append(name)
    child.turns[0] = replace(child.turns[0], delay_s=_between(parent.answered_s[answer], child.sent_s[0]))
    if result is not None and result > answer:
        waiting = parent.turns[result]
        left = _between(child.answered_s[-1], parent.sent_s[result])
        parent.turns[result] = replace(
            waiting, join=[*(waiting.join or ()), name], delay_s=min(waiting.delay_s, left), delay_kind="subagent"
        )


def _between(start: float | None, end: float | None) -> float:
    return max(end - start, 0.0) if start is not None and end is not None else 0.0
