"""Calls of a model, each with its whole prompt, put together to sessions.

What belongs to one session is found by its prompts: a call whose prompt goes on behind another's answer is the turn
after it. Calls of which only lengths are known make one session in the order in which they began.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from loadgen.workload.formats.chat import same_said
from loadgen.workload.formats.lengths import Prompt, grown, made_up
from loadgen.workload.recorded import DelayKind, RecordedSession, RecordedTurn

__all__ = ["Call", "Thread", "ToolRun", "attach", "main_thread", "session_of", "threads_of"]

Message = dict[str, Any]

_SURELY = 16
"""Characters of an answer that must stand in a later prompt of another session for it to have waited for that answer;
shorter ones (*done*, *yes*) stand there by chance."""
_GOES_ON, _EDITED, _NOT = 2, 1, (0, 0)
_ROUNDING_S = 0.001
"""Stamps are rounded to milliseconds by many exporters."""


@dataclass
class Call:
    """One call of a model.

    Attributes:
        line: of the file, from 1.
        start_s: when it was made, in seconds since 1970.
        end_s: when its answer was there.
        messages: the whole prompt; empty where the file has no text.
        answer: null where the file has none.
        tools: definitions in OpenAI's shape; null: none.
        input_tokens: of the prompt, cached ones included.
        output_tokens: of the answer.
        cached_tokens: of the prompt.
        finish_reason: in OpenAI's words.
        left_out: parts of the messages that were no text.
    """

    line: int
    start_s: float
    end_s: float
    messages: list[Message] = field(default_factory=list)
    answer: Message | None = None
    tools: list[Message] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    left_out: int = 0


@dataclass(frozen=True)
class ToolRun:
    """A tool at work: the call that it answers (null: not given), when it began and ended."""

    call: str | None
    start_s: float
    end_s: float


@dataclass
class Thread:
    """The calls of one session in order, and which other sessions begin behind each and are waited for before each."""

    calls: list[Call]
    name: str = ""
    parent: str | None = None
    spawns: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    joins: dict[int, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    begun_s: float | None = None
    """When the answer behind which it begins was there; null: it is a root."""


def threads_of(calls: Iterable[Call]) -> list[Thread]:
    """The calls of one agent, by the session to which each belongs, in the order in which the sessions began."""
    threads: list[Thread] = []
    for call in sorted(calls, key=lambda call: (call.start_s, call.end_s)):
        if not call.messages:
            if threads:
                threads[0].calls.append(call)
            else:
                threads.append(Thread([call]))
            continue
        fits = [(_fit(thread.calls[-1], call), -number) for number, thread in enumerate(threads)]
        best, place = max(fits, default=(_NOT, 0))
        if best > _NOT:
            threads[-place].calls.append(call)
        else:
            threads.append(Thread([call]))
    return threads


def main_thread(threads: Sequence[Thread]) -> Thread:
    """The one with the most calls: clients make single calls beside it, for a title, say."""
    return max(threads, key=lambda thread: len(thread.calls))


def attach(parent: Thread, child: Thread, *, ended_s: float | None = None) -> None:
    """Let a session begin behind the last answer of another that was there when it began; nothing where there was none.

    The other waits for it before its first later call that begins when the child has ended (`ended_s`, where the trace
    says that it was waited for), else before the first whose new messages hold the child's last answer.
    """
    start = child.calls[0].start_s
    behind = max(
        (number for number, call in enumerate(parent.calls) if call.end_s <= start + _ROUNDING_S), default=None
    )
    if behind is None:
        return
    child.parent, child.begun_s = parent.name, parent.calls[behind].end_s
    parent.spawns[behind].append(child.name)
    end = max(call.end_s for call in child.calls)
    for number in range(behind + 1, len(parent.calls)):
        if ended_s is None:
            waited = _holds(parent.calls[number - 1], parent.calls[number], child.calls[-1].answer)
        else:
            waited = parent.calls[number].start_s + _ROUNDING_S >= ended_s
        if waited:
            parent.joins[number][child.name] = end if ended_s is None else ended_s
            return


def session_of(
    thread: Thread, tools: Sequence[ToolRun], source: Mapping[str, Any], *, task: str | None = None
) -> RecordedSession:
    """The session of a thread; waits are those of its tools where their runs are known, else the gaps between calls."""
    turns: list[RecordedTurn] = []
    lengths: Prompt | None = None
    for number, call in enumerate(thread.calls):
        before = thread.calls[number - 1] if number else None
        if call.messages:
            new, reset = _new(before, call)
            answer = _played_answer(call, thread.calls[number + 1] if number + 1 < len(thread.calls) else None)
        else:
            new, reset, lengths = _lengths(lengths, call, f"{thread.name}:{number}")
            answer = lengths.answer
        delay, kind, times = _wait(thread, number, new, tools)
        turns.append(
            RecordedTurn(
                messages=new,
                assistant=answer,
                delay_s=delay,
                delay_kind=kind,
                kind=_kind(call),
                input_tokens=call.input_tokens,
                output_tokens=call.output_tokens,
                cached_tokens=call.cached_tokens,
                finish_reason=call.finish_reason,
                tool_times_s=times,
                history_reset=reset,
                spawn=list(thread.spawns.get(number, ())),
                join=list(thread.joins[number]) if number in thread.joins else None,
            )
        )
    return RecordedSession(
        session_id=thread.name,
        parent_session_id=thread.parent,
        task=task,
        source=dict(source),
        tools=next((call.tools for call in thread.calls if call.tools), None),
        turns=turns,
    )


def _fit(last: Call, call: Call) -> tuple[int, int]:
    """How well a call follows another: `_GOES_ON` behind n messages, `_EDITED` with n of them left, or `_NOT`."""
    same = 0
    for one, other in zip(last.messages, call.messages, strict=False):
        if not same_said(one, other):
            break
        same += 1
    if _goes_on(last, call, same):
        return _GOES_ON, same
    # At least half of a history that was edited is still there, or all of a prompt that was sent again.
    enough = same == len(last.messages) or (same > 1 and 2 * same >= len(last.messages))
    return (_EDITED, same) if enough and call.start_s + _ROUNDING_S >= last.end_s else _NOT


def _goes_on(last: Call, call: Call, same: int) -> bool:
    behind = call.messages[same : same + 1]
    return same == len(last.messages) and bool(behind) and behind[0]["role"] == "assistant"


def _new(before: Call | None, call: Call) -> tuple[list[Message], Literal["compact", "edit"] | None]:
    """What is new in a prompt, or all of it and why."""
    if before is None:
        return call.messages, None
    if before.messages and _fit(before, call)[0] == _GOES_ON:
        new = call.messages[len(before.messages) + 1 :]
        if new:
            return new, None
    return call.messages, "compact" if len(call.messages) < len(before.messages) else "edit"


def _played_answer(call: Call, after: Call | None) -> Message | None:
    """The answer as the next prompt has it, with its own reasoning: clients change blanks, and drop the reasoning."""
    if after is None or _fit(call, after)[0] != _GOES_ON:
        return call.answer
    sent = after.messages[len(call.messages)]
    reasoning = (call.answer or {}).get("reasoning_content")
    return sent | {"reasoning_content": reasoning} if reasoning and "reasoning_content" not in sent else sent


def _lengths(
    before: Prompt | None, call: Call, seed: str
) -> tuple[list[Message], Literal["compact", "edit"] | None, Prompt]:
    """A prompt of known length: a longer one goes on from the one before, a shorter one has nothing of it."""
    tokens = call.input_tokens or 1
    goes_on = before is not None and tokens > before.tokens_with_answer
    corpus = "code" if call.finish_reason == "tool_calls" else "prose"
    made = grown(before, before.tokens if before and goes_on else 0, tokens, corpus=corpus, seed=seed)
    answer = made_up("assistant", call.output_tokens, corpus, f"{seed}:answer") if call.output_tokens else None
    prompt = Prompt(tokens, messages=tuple(made.messages), answer=answer)
    if made.goes_on or before is None:
        return made.new, None, prompt
    return made.messages, "compact" if tokens < before.tokens else "edit", prompt


def _wait(
    thread: Thread, number: int, new: Sequence[Message], tools: Sequence[ToolRun]
) -> tuple[float, DelayKind, list[float] | None]:
    """Seconds before a call, what was waited for, and how long each tool ran where several did at once."""
    call = thread.calls[number]
    if number == 0:
        begun = call.start_s if thread.begun_s is None else thread.begun_s
        return max(call.start_s - begun, 0.0), "arrival", None
    if number in thread.joins:
        return max(call.start_s - max(thread.joins[number].values()), 0.0), "subagent", None
    before = thread.calls[number - 1]
    gap = max(call.start_s - before.end_s, 0.0)
    runs = _runs(before, call, tools)
    by_tool = new[-1]["role"] == "tool" if call.messages else bool(runs) or before.finish_reason == "tool_calls"
    if not by_tool:
        return gap, "user", None
    if not runs:
        return gap, "tool", None
    times = [run.end_s - run.start_s for run in runs]
    busy = _busy(runs)
    return busy, "tool", times if sum(times) > busy + _ROUNDING_S else None


def _runs(before: Call, call: Call, tools: Sequence[ToolRun]) -> list[ToolRun]:
    """The tools that ran between two calls: those that the first asked for, where both say so."""
    asked = {one["id"] for one in (before.answer or {}).get("tool_calls", ())}
    return [
        run
        for run in tools
        if before.start_s - _ROUNDING_S <= run.start_s and run.end_s <= call.start_s + _ROUNDING_S
        if run.call is None or not asked or run.call in asked
    ]


def _busy(runs: Sequence[ToolRun]) -> float:
    """Seconds in which at least one of them ran."""
    total, until = 0.0, float("-inf")
    for run in sorted(runs, key=lambda run: run.start_s):
        total += max(run.end_s - max(run.start_s, until), 0.0)
        until = max(until, run.end_s)
    return total


def _kind(call: Call) -> Literal["tool_call", "prose"] | None:
    if call.answer is None:
        return "tool_call" if call.finish_reason == "tool_calls" else None
    return "tool_call" if call.answer.get("tool_calls") else "prose"


def _holds(before: Call, call: Call, answer: Message | None) -> bool:
    """Whether what is new in a prompt holds the answer of another session."""
    said = str((answer or {}).get("content") or "").strip()
    if len(said) < _SURELY:
        return False
    new, _ = _new(before, call)
    return any(said in str(message.get("content")) for message in new)
