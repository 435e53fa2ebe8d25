"""aiperf's `dag_jsonl`: conversations that branch, one a row.

Schema: github.com/ai-dynamo/aiperf, `src/aiperf/dataset/loader/dag_jsonl_models.py` (0.13). A row has `session_id` and
`turns`; a turn has `messages` (what is new), `model`, `max_tokens`, `tools`, `extra`, `delay` (milliseconds), `forks`
(ids, or `{child, background}`) and `spawns` (ids, or `{children, join_at}`). Answers aren't in the file: they are the
server's, and `max_tokens` is taken as their length.

What is made of it:

- A **spawned** child begins with nothing, when the turn has been answered; the turn `join_at` (by default the next one)
  waits for it. One that no later turn waits for runs beside.
- A **forked** child goes on from all that its parent had said and heard. Its first turn holds that as messages. The
  parent's answers, which the file doesn't have, are text of `max_tokens` tokens (200 where it isn't given) in both, so
  that parent and child begin alike. Nobody waits for a forked child.
- `pre_session_spawns` begin with the answer of the first turn, not before it; that is told.
- A session that is named again is started anew: its copy, with copies of its own children, is called `name#2`.
- An `orchestrator` sends no request of its own: it is skipped, and the sessions that it starts are agents of their own.
- `context_mode` `message_array_with_responses`: each turn is the whole prompt.

`extra` sets sampling and isn't kept.
"""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.row_fields import Found, Notes, Wrong, at, count, milliseconds, object_of, objects, text, texts
from loadgen.workload.rows import Row
from loadgen.workload.transcript import Call, Message, delay_kind, messages_of, tools_of, turns_of

__all__ = ["looks_like", "read"]

_FIELDS = frozenset(
    (
        *("session_id", "turns", "orchestrator", "spawns", "think_time_ms", "think_time_sigma"),
        *("think_time_min_ms", "think_time_max_ms", "rounds", "context_mode", "pre_session_spawns"),
    )
)
_TURN_FIELDS = frozenset((*("messages", "model", "max_tokens", "tools", "extra", "forks", "spawns", "delay"),))
_WHOLE = "message_array_with_responses"
_MODES = (_WHOLE, "deltas_without_responses", "deltas_with_responses")
_ASSUMED_ANSWER = 200
"""Tokens of a parent's answer, in what its child goes on from: agents answer with a median of 180 to 250."""


_MOST_COPIES = 10_000
"""Of sessions that are named more than once: with copies of copies a small file could mean a great many."""


@dataclass
class _Branch:
    """Children that begin behind a turn, and the turn that waits for them."""

    turn: int
    named: tuple[str, ...]
    join_at: int | None
    forked: bool
    children: list[str] = field(default_factory=list)
    """As the file names them, or their copies."""


@dataclass
class _Talk:
    """A conversation of the file, as it stands there."""

    name: str
    line: int
    turns: list[RecordedTurn]
    tools: list[dict[str, Any]] | None
    branches: list[_Branch] = field(default_factory=list)
    parent: str | None = None
    forked_at: int | None = None
    origin: str = ""
    """The conversation of the file that it is a copy of; empty: it is none."""

    def copied(self, name: str) -> "_Talk":
        """Another one of these, under another name, without its children."""
        branches = [replace(branch, children=[]) for branch in self.branches]
        return replace(self, name=name, branches=branches, origin=self.origin or self.name)


def looks_like(value: Any) -> bool:
    """Whether a row has a session_id and turns with messages, forks or spawns, or is an orchestrator."""
    if not isinstance(value, dict) or not isinstance(value.get("session_id"), str):
        return False
    turns = value.get("turns")
    if value.get("orchestrator") is True:
        return True
    return (
        isinstance(turns, list)
        and any(
            isinstance(turn, dict) and (isinstance(turn.get("messages"), list) or turn.keys() & {"forks", "spawns"})
            for turn in turns
        )
        and value.get("format") is None
        and "conversation_id" not in value
    )


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """The sessions; all of the file is held until then, since a child may stand before its parent."""
    notes = Notes(file)
    talks: dict[str, _Talk] = {}
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        try:
            value = object_of(row.value)
            yield from notes.strangers(value, _FIELDS, row.line)
            for turn in objects(value, "turns"):
                yield from notes.strangers(turn, _TURN_FIELDS, row.line, "turns")
            talk = _talk(value, row.line, notes)
            yield from notes.parts(row.line)
            if talk.name in talks:
                raise Wrong(f"session_id {talk.name!r} stands on line {talks[talk.name].line} already")
            talks[talk.name] = talk
            if texts(value, "pre_session_spawns"):
                yield from notes.once(row.line, "pre_session_spawns begin behind the first answer, not before it")
        except Wrong as wrong:
            yield Problem(file, row.line, f"skipped: {wrong}")
    yield from _wed(talks, file)
    for talk in talks.values():
        yield _session(talk, talks)


def _talk(value: dict[str, Any], line: int, notes: Notes) -> _Talk:
    name = text(value, "session_id")
    if not name:
        raise Wrong("session_id is missing")
    if value.get("orchestrator"):
        raise Wrong("an orchestrator sends no request: the sessions that it starts are agents of their own")
    steps = objects(value, "turns")
    if not steps:
        raise Wrong("turns is empty")
    mode = (text(value, "context_mode") or _MODES[1]).lower()
    if mode not in _MODES:
        raise Wrong(f"context_mode is none of {', '.join(_MODES)}")
    calls = [_call(step, f"turns[{index}]", notes) for index, step in enumerate(steps)]
    tools = next((found for index, one in enumerate(steps) if (found := tools_of(one, f"turns[{index}]"))), None)
    talk = _Talk(name, line, turns_of(calls) if mode == _WHOLE else _turns(calls), tools)
    before = texts(value, "pre_session_spawns")
    talk.branches += [_Branch(0, tuple(before), None, forked=False)] if before else []
    for number, step in enumerate(steps):
        talk.branches += _branches(step, number, len(steps))
    return talk


def _call(step: dict[str, Any], where: str, notes: Notes) -> Call:
    messages = messages_of(step.get("messages"), at(where, "messages"), notes)
    delay = milliseconds(step, "delay", where) or 0.0
    return Call(messages, delay, count(step, "max_tokens", where))


def _turns(calls: list[Call]) -> list[RecordedTurn]:
    return [
        RecordedTurn(
            messages=call.prompt,
            delay_s=call.delay_s,
            delay_kind=delay_kind(call.prompt, number),
            output_tokens=call.output_tokens,
        )
        for number, call in enumerate(calls)
    ]


def _branches(step: dict[str, Any], number: int, turns: int) -> Iterator[_Branch]:
    where = f"turns[{number}]"
    after = number + 1 if number + 1 < turns else None
    for one in _entries(step, "forks", where):
        child = one if isinstance(one, str) else text(one, "child", at(where, "forks"))
        if not child:
            raise Wrong(f"{at(where, 'forks')} has no child")
        yield _Branch(number, (child,), None, forked=True)
    for one in _entries(step, "spawns", where):
        if isinstance(one, str):
            yield _Branch(number, (one,), after, forked=False)
            continue
        place = at(where, "spawns")
        join_at = count(one, "join_at", place)
        if join_at is not None and not number < join_at < turns:
            raise Wrong(f"{at(place, 'join_at')} is none of the turns behind it")
        children = tuple(texts(one, "children", place))
        yield _Branch(number, children, after if join_at is None else join_at, forked=False)


def _entries(step: dict[str, Any], name: str, where: str) -> list[Any]:
    value = step.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str | dict) for one in value):
        raise Wrong(f"{at(where, name)} is no list of ids")
    return value


def _wed(talks: dict[str, _Talk], file: str) -> Iterator[Problem]:
    """Give each branch its children: those that it names, or copies of those that have a parent already."""
    times: Counter[str] = Counter()
    waiting = deque(talks.values())
    left_out = 0
    most = len(talks) + _MOST_COPIES
    while waiting:
        talk = waiting.popleft()
        above = _above(talk, talks)
        for branch in talk.branches:
            for name in branch.named:
                child = talks.get(name)
                if child is None or name in above:
                    branch.children.append(name)  # not there, or in a circle: the check of the whole file tells that
                    continue
                if child.parent is not None:
                    if len(talks) >= most:
                        left_out += 1
                        continue
                    times[name] += 1
                    while (again := f"{name}#{times[name] + 1}") in talks:
                        times[name] += 1
                    child = child.copied(again)
                    talks[child.name] = child
                    waiting.append(child)
                branch.children.append(child.name)
                child.parent, child.forked_at = talk.name, branch.turn if branch.forked else None
    if left_out:
        yield Problem(
            file, 0, f"{left_out} sessions that are named again are left out: {_MOST_COPIES} copies are enough"
        )


def _above(talk: _Talk, talks: dict[str, _Talk]) -> set[str]:
    """The conversations of the file from which a talk comes, its own included."""
    found: set[str] = set()
    while (name := talk.origin or talk.name) not in found:
        found.add(name)
        if talk.parent is None:
            break
        talk = talks[talk.parent]
    return found


def _session(talk: _Talk, talks: dict[str, _Talk]) -> RecordedSession:
    turns = list(talk.turns)
    turns[0] = msgspec.structs.replace(turns[0], messages=[*_inherited(talk, talks), *turns[0].messages])
    for branch in talk.branches:
        if branch.forked:
            turns[: branch.turn + 1] = _answered(talk.name, turns[: branch.turn + 1])
        here = turns[branch.turn]
        turns[branch.turn] = msgspec.structs.replace(here, spawn=[*here.spawn, *branch.children])
        if branch.join_at is not None and branch.children:
            there = turns[branch.join_at]
            turns[branch.join_at] = msgspec.structs.replace(
                there, join=[*(there.join or ()), *branch.children], delay_kind="subagent"
            )
    return RecordedSession(
        session_id=talk.name,
        parent_session_id=talk.parent,
        source={"name": "aiperf-dag"},
        tools=talk.tools,
        turns=turns,
    )


def _inherited(talk: _Talk, talks: dict[str, _Talk]) -> list[Message]:
    """What a forked child goes on from: the parent's messages and answers, and before them what that went on from."""
    parts: list[list[Message]] = []
    seen = {talk.name}
    while talk.forked_at is not None and talk.parent is not None and talk.parent not in seen:
        forked_at, talk = talk.forked_at, talks[talk.parent]
        seen.add(talk.name)
        messages: list[Message] = []
        for turn in _answered(talk.name, talk.turns[: forked_at + 1]):
            messages = [] if turn.history_reset is not None else messages
            messages += [*turn.messages, *([turn.assistant] if turn.assistant else [])]
        parts.append(messages)
    return [message for part in reversed(parts) for message in part]


def _answered(name: str, turns: list[RecordedTurn]) -> list[RecordedTurn]:
    """The turns of a conversation with answers: their own, or text of the length that they were allowed."""
    out = []
    for number, turn in enumerate(turns):
        tokens = turn.output_tokens or _ASSUMED_ANSWER
        said = {"role": "assistant", "tokens": tokens, "corpus": "prose", "seed": f"{name}:{number}"}
        out.append(turn if turn.assistant is not None else msgspec.structs.replace(turn, assistant=said))
    return out
