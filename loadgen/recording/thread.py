"""One session under way: its turns so far, and how well a further call goes on from it."""

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

import msgspec

from loadgen.recording.call import Call, Message
from loadgen.recording.marks import mark, shared
from loadgen.workload.copy_rate import content_text, grams_of, text_of
from loadgen.workload.recorded import Cancel, DelayKind, RecordedSession, RecordedTurn
from loadgen.workload.transcript import answer_kind

__all__ = ["Fit", "Fitting", "Step", "Thread"]

_SURELY = 16
"""Characters of a message that must come again for a prompt to be known by it; shorter ones stand there by chance."""
_SUMMED_UP = 0.5
"""Of the grams of an answer that must stand in a new prompt for that to begin with it: clients take the marks off that
they asked for, and put an introduction in front."""
_ASKED_FOR = re.compile(r"summar|compact|condens|hand-?off|context (?:window|limit)", re.IGNORECASE)
"""Words with which a client asks for a summary of what was said."""


class Fitting(IntEnum):
    """How a call goes on from a session, the closest last."""

    NOT = 0
    SUMMED_UP = 1
    """Its prompt begins anew, with the last answer as a summary."""
    BRANCHED = 2
    """It goes on behind an earlier answer."""
    EDITED = 3
    """It has the last turn behind a history that was changed or cut."""
    GOES_ON = 4
    """It has the last prompt, and an answer that isn't quite what the model said; or none, where it was broken off."""
    EXACT = 5
    """It has the last prompt and the last answer; or asks again for an answer that was broken off."""


@dataclass(frozen=True)
class Fit:
    """How a call goes on, how many messages are the same, and (`BRANCHED`) behind which turn."""

    fitting: Fitting
    shared: int = 0
    behind: int = 0


@dataclass
class Step:
    """A turn: its call, and what of it is played.

    Attributes:
        call: the last one, where an answer was asked for again.
        number: of the call in the recording.
        new: messages that the prompt before hadn't.
        delay_s: between the answer before and the call.
        delay_kind: what was waited for.
        answer: as later prompts have it, else as the model gave it; null where the client dropped it.
        reset: the prompt begins anew.
        cancel: the answer was broken off.
        spawn: sessions that branch off behind it.
        join: sessions that were waited for.
        left_out: reasoning that the client left out of later prompts.
        said: the mark of the model's answer; null where there is none.
    """

    call: Call
    number: int
    new: list[Message]
    delay_s: float
    delay_kind: DelayKind
    answer: Message | None = None
    reset: Literal["compact", "edit"] | None = None
    cancel: Cancel | None = None
    spawn: list[str] = field(default_factory=list)
    join: list[str] = field(default_factory=list)
    left_out: str | None = None
    said: bytes | None = field(init=False)

    def __post_init__(self) -> None:
        self.said = None if self.call.answer is None else mark(self.call.answer)

    def ask_again(self, call: Call, number: int) -> None:
        """The same turn once more: its first answer was broken off."""
        if self.cancel is not None:
            self.cancel = msgspec.structs.replace(self.cancel, then="resume")
        self.call, self.number, self.answer = call, number, call.answer
        self.__post_init__()

    def recorded(self) -> RecordedTurn:
        """The turn as a file keeps it."""
        call = self.call
        return RecordedTurn(
            messages=self.new,
            assistant=self.answer,
            delay_s=round(self.delay_s, 6),
            delay_kind=self.delay_kind,
            kind=answer_kind(self.answer),
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            cached_tokens=call.cached_tokens,
            finish_reason=call.finish_reason,
            history_reset=self.reset,
            spawn=self.spawn,
            join=self.join or None,
            cancel=self.cancel,
            extra={"reasoning_content": self.left_out} if self.left_out else {},
        )


@dataclass
class Thread:
    """One session: its name, the session that it branches off from, and its turns; one at least once it is under way.

    `places` says where in the last prompt each earlier answer stands; those of before a reset stand nowhere.
    """

    name: str
    parent: str | None = None
    steps: list[Step] = field(default_factory=list)
    marks: list[bytes] = field(default_factory=list)
    tools: bytes = b""
    places: dict[int, int] = field(default_factory=dict)

    @property
    def last(self) -> Step:
        """The last turn."""
        return self.steps[-1]

    @property
    def ended_s(self) -> float:
        """When its last answer was there."""
        return self.last.call.ended_s

    def fit(self, call: Call, marks: list[bytes], tools: bytes) -> Fit:
        """How `call`, whose messages and tools have these marks, goes on from here."""
        same = shared(self.marks, marks)
        if tools == self.tools:
            if same == len(self.marks):
                fitting = self._continued(call, marks, same)
                if fitting is not Fitting.NOT:
                    return Fit(fitting, same)
            if self._has_tail(call, marks, same):
                alike = len({*self.marks, self.last.said} & {*marks})
                return Fit(Fitting.EDITED, alike)
        behind = self._answered_within(marks, same)
        if behind is not None:
            return Fit(Fitting.BRANCHED, same, behind)
        if tools == self.tools and self._is_summed_up(call):
            return Fit(Fitting.SUMMED_UP, same)
        return Fit(Fitting.NOT)

    def goes_on(self, step: Step, marks: list[bytes], tools: bytes) -> None:
        """The next turn."""
        if step.reset is not None:
            self.places.clear()
        elif self.steps and self.last.answer is not None:
            self.places[len(self.steps) - 1] = len(self.marks)
        self.steps.append(step)
        self.marks = marks
        self.tools = tools

    def recorded(self) -> RecordedSession:
        """The session as a file keeps it."""
        calls = [step.call for step in self.steps]
        model = next((call.model for call in calls if call.model), None)
        agent = next((call.agent for call in calls if call.agent), None)
        source = {"name": "record", "api": calls[0].api}
        source |= {"model": model} if model else {}
        return RecordedSession(
            session_id=self.name,
            parent_session_id=self.parent,
            source=source | ({"harness": agent} if agent else {}),
            tools=calls[0].tools,
            turns=[step.recorded() for step in self.steps],
        )

    def _continued(self, call: Call, marks: list[bytes], same: int) -> Fitting:
        """How a call goes on that has all of the last prompt."""
        broken_off = self.last.call.cancel is not None
        if len(marks) == same:
            return Fitting.EXACT if broken_off else Fitting.NOT
        if call.messages[same]["role"] == "assistant":
            return Fitting.EXACT if self.last.said == marks[same] else Fitting.GOES_ON
        return Fitting.GOES_ON if broken_off else Fitting.NOT

    def _has_tail(self, call: Call, marks: list[bytes], same: int) -> bool:
        """Whether the last question or the last answer stands in a prompt, behind what is the same anyway."""
        last = self.last.call
        tail = [self.marks[-1]] if _is_long(last.messages[-1]) else []
        tail += [self.last.said] if last.answer is not None and self.last.said and _is_long(last.answer) else []
        return any(one in marks[same:] for one in tail) and any(m["role"] == "assistant" for m in call.messages)

    def _answered_within(self, marks: list[bytes], same: int) -> int | None:
        """The last turn whose answer, with all in front of it, a prompt has."""
        found = [number for number, place in self.places.items() if place < same]
        if same == len(self.marks) < len(marks) and self.last.said == marks[same]:
            found.append(len(self.steps) - 1)
        return max(found, default=None)

    def _is_summed_up(self, call: Call) -> bool:
        """Whether the last turn asked for a summary, and a prompt of fewer words begins with that."""
        asked, answer = self.last.new, self.last.call.answer
        if answer is None or not asked or not _ASKED_FOR.search(content_text(asked[-1].get("content"))):
            return False
        summary = set(grams_of(content_text(answer.get("content"))))
        told = [message for message in call.messages if message["role"] in {"user", "system"}]
        seen = {gram for message in told for gram in grams_of(content_text(message.get("content")))}
        return len(summary) > 0 and len(summary & seen) >= _SUMMED_UP * len(summary)


def _is_long(message: Message) -> bool:
    return len(text_of(message).strip()) >= _SURELY
