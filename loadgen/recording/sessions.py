"""Calls put together to sessions, one at a time, by what their prompts begin with.

A call whose prompt goes on from the last one of a session is its next turn. One that goes on from an earlier turn is a
session of its own that begins behind that turn's answer. One that has the last turn, but not all in front of it, or
begins with a summary that the last turn asked for, is the next turn with its history reset. Any other begins a session;
where its first words are what the last answer of another told a tool, it is that one's sub-agent.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from loadgen.recording.call import Call, Message
from loadgen.recording.family import waited_for, who_started
from loadgen.recording.marks import mark, tools_mark
from loadgen.recording.thread import Fit, Fitting, Step, Thread
from loadgen.workload.copy_rate import text_of
from loadgen.workload.recorded import Cancel, RecordedSession
from loadgen.workload.recorded_reasoning import has_reasoning
from loadgen.workload.transcript import delay_kind

__all__ = ["Placed", "Sessions"]


@dataclass(frozen=True)
class Placed:
    """Where a call belongs: its session, its turn there (from 1), and what came before.

    Attributes:
        session: its name.
        turn: the number of the turn, from 1.
        step: the turn; its call has the messages that it shares with an earlier one in common with it.
        is_new: whether the session begins with it.
        parent: the session that it branches off from, where it begins one.
        base: the call with which its prompt begins, by its number; null: none.
    """

    session: str
    turn: int
    step: Step
    is_new: bool
    parent: str | None
    base: int | None


@dataclass
class Sessions:
    """The sessions of a recording, in the order in which they began."""

    threads: list[Thread] = field(default_factory=list)
    _count: int = 0

    def add(self, call: Call) -> Placed:
        """Place a call that has ended; calls come in the order in which they end."""
        number, self._count = self._count, self._count + 1
        marks, tools = [mark(message) for message in call.messages], tools_mark(call.tools)
        fits = [(thread.fit(call, marks, tools), thread) for thread in self.threads]
        fit, thread = max(
            fits, key=lambda one: (one[0].fitting, one[0].shared, one[1].ended_s), default=(Fit(Fitting.NOT), None)
        )
        if thread is None or fit.fitting is Fitting.NOT:
            source = who_started(call, self.threads)
            return self._begin(call, number, marks, source, None)
        base = thread.last.number
        call = _in_common(call, thread.last.call, same_tools=tools == thread.tools)
        if fit.fitting is Fitting.BRANCHED:
            return self._begin(call, number, marks, (thread, fit.behind), base)
        if fit.fitting is Fitting.EXACT and len(marks) == fit.shared:
            thread.last.ask_again(call, number)
        else:
            self._go_on(thread, call, number, marks, fit)
        return Placed(thread.name, len(thread.steps), thread.last, is_new=False, parent=None, base=base)

    def recorded(self) -> list[RecordedSession]:
        """The sessions as a file keeps them."""
        return [thread.recorded() for thread in self.threads]

    def _begin(
        self, call: Call, number: int, marks: list[bytes], source: tuple[Thread, int] | None, base: int | None
    ) -> Placed:
        """A session begins, behind an answer of another where there is a `source`."""
        thread = Thread(f"session-{len(self.threads) + 1}")
        delay = 0.0
        if source is not None:
            parent, behind = source
            thread.parent = parent.name
            parent.steps[behind].spawn.append(thread.name)
            delay = max(call.begun_s - parent.steps[behind].call.ended_s, 0.0)
        step = Step(call, number, call.messages, delay, "arrival", call.answer, cancel=_dropped(call.cancel))
        thread.goes_on(step, marks, tools_mark(call.tools))
        self.threads.append(thread)
        return Placed(thread.name, 1, step, is_new=True, parent=thread.parent, base=base)

    def _go_on(self, thread: Thread, call: Call, number: int, marks: list[bytes], fit: Fit) -> None:
        before = thread.last
        reset = _reset(before.call, call) if fit.fitting in {Fitting.EDITED, Fitting.SUMMED_UP} else None
        new = call.messages if reset is not None else _new(before, call, fit.shared)
        step = Step(
            call,
            number,
            new,
            max(call.begun_s - before.call.ended_s, 0.0),
            delay_kind(new, len(thread.steps)),
            call.answer,
            reset=reset,
            cancel=_dropped(call.cancel),
        )
        joined = waited_for(new, self._running(thread))
        if joined:
            step.join = [child.name for child in joined]
            step.delay_kind = "subagent"
            step.delay_s = max(call.begun_s - max([before.call.ended_s, *(child.ended_s for child in joined)]), 0.0)
        thread.goes_on(step, marks, thread.tools)

    def _running(self, thread: Thread) -> list[Thread]:
        """The sessions that began behind an answer of this one, and that it hasn't waited for yet."""
        joined = {name for step in thread.steps for name in step.join}
        spawned = {name for step in thread.steps for name in step.spawn} - joined
        return [one for one in self.threads if one.name in spawned]


def _new(before: Step, call: Call, shared: int) -> list[Message]:
    """What is new in a prompt behind the one before; the answer between them is put as the client has it."""
    if call.messages[shared]["role"] != "assistant":
        before.answer = None
        return call.messages[shared:]
    sent, given = call.messages[shared], before.call.answer or {}
    before.answer = sent
    if not has_reasoning(sent):
        before.left_out = given.get("reasoning_content")
    return call.messages[shared + 1 :]


def _in_common(call: Call, before: Call, *, same_tools: bool) -> Call:
    """The call with the very messages and tools of an earlier one, as far as they are the same.

    Else every call would hold a history of its own. Compared as JSON: 1 and true are not the same there.
    """
    history = before.messages if before.answer is None else [*before.messages, before.answer]
    kept = 0
    for old, new in zip(history, call.messages, strict=False):
        if json.dumps(old) != json.dumps(new):
            break
        kept += 1
    tools = before.tools if same_tools else call.tools
    return msgspec.structs.replace(call, messages=[*history[:kept], *call.messages[kept:]], tools=tools)


def _dropped(cancel: Cancel | None) -> Cancel | None:
    """What is known of an answer that was broken off until the client asks for it again."""
    return None if cancel is None else msgspec.structs.replace(cancel, then="drop")


def _reset(before: Call, call: Call) -> Literal["compact", "edit"]:
    """Why a prompt begins anew: it is shorter than all that was said, or something in it was changed."""
    history = before.messages if before.answer is None else [*before.messages, before.answer]
    return "compact" if _length(call.messages) < _length(history) else "edit"


def _length(messages: Sequence[Message]) -> int:
    return sum(len(text_of(message)) for message in messages)
