"""agentic-bench sessions (`abench-session-jsonl-v1`): a session a row.

Schema: pypi.org/project/agentic-bench (0.2.0), `abench/core/dataset.py`. A row has `session_id`, `source` (`dataset`,
`agent`, `model`, `trial`), `system_prompt` and `turns`; a turn `index`, `input_delta` (messages with `role` and
`content`), `assistant_text`, `input_tokens`, `output_tokens`, `cached_tokens`, `pre_gap_ms` and `tool_calls`.

What is made of it:

- `pre_gap_ms` is the time from one step to the next, the generation of the turn that it stands at included. As
  agentic-bench does, the time in which `output_tokens` would have been written is taken off (at
  `transcript.RECORDED_TOKENS_PER_S`); what is left is the wait. The session's `source` says so.
- `tool_calls` stand in `assistant_text` already, and tools' results have no id: answers stay text, and results are sent
  as text of the user, as agentic-bench sends them.
- Published files have their system prompt, and tools, taken out, but count it in `input_tokens`: where the first
  prompt counts more tokens than its messages come to, a system message of as many tokens stands in.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any

import msgspec

from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.row_fields import Found, Notes, Wrong, at, count, milliseconds, objects, row_by_row, text
from loadgen.workload.rows import Row
from loadgen.workload.sizing import ASSUMED_CHARS_PER_TOKEN
from loadgen.workload.transcript import RECORDED_TOKENS_PER_S, Message, delay_kind, generation_s

__all__ = ["looks_like", "read"]

_FIELDS = frozenset({"session_id", "source", "system_prompt", "turns"})
_TURN_FIELDS = frozenset(
    (
        *("index", "input_delta", "assistant_text", "input_tokens", "output_tokens", "cached_tokens"),
        *("pre_gap_ms", "tool_calls"),
    )
)
_ROLES = ("system", "user", "assistant")
_LEAST_STAND_IN = 64
"""Tokens: what a template puts around messages, and errors of the estimate, are no system prompt."""
_DELAYS = f"pre_gap_ms less output_tokens / {RECORDED_TOKENS_PER_S:g} tokens/s (assumed)"


def looks_like(value: Any) -> bool:
    """Whether a row has a session_id, and turns with an input_delta."""
    if not isinstance(value, dict) or "session_id" not in value or not isinstance(value.get("turns"), list):
        return False
    return any(isinstance(turn, dict) and "input_delta" in turn for turn in value["turns"])


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """A session for each row."""
    notes = Notes(file)
    lines: dict[str, int] = {}

    def session(value: dict[str, Any], line: int, _: str) -> Iterator[Found]:
        yield from notes.strangers(value, _FIELDS, line)
        name = text(value, "session_id")
        if not name:
            raise Wrong("session_id is missing")
        if name in lines:
            raise Wrong(f"session_id {name!r} stands on line {lines[name]} already")
        steps = objects(value, "turns")
        if not steps:
            raise Wrong("turns is empty")
        for step in steps:
            yield from notes.strangers(step, _TURN_FIELDS, line, "turns")
        turns = [_turn(step, number) for number, step in enumerate(steps)]
        source = _source(value.get("source"))
        head = _head(text(value, "system_prompt"), turns[0])
        if head is not None:
            turns[0] = msgspec.structs.replace(turns[0], messages=[head, *turns[0].messages])
            source |= {"system_prompt": f"made up: {head['tokens']} tokens"} if "tokens" in head else {}
        lines[name] = line
        yield RecordedSession(session_id=name, source=source, turns=turns)

    yield from row_by_row(rows, file, session)


def _turn(step: dict[str, Any], number: int) -> RecordedTurn:
    where = f"turns[{number}]"
    messages = [
        _message(one, f"{where}.input_delta[{index}]") for index, one in enumerate(objects(step, "input_delta", where))
    ]
    if not messages and number == 0:
        raise Wrong(f"{where}.input_delta is empty")
    was_tool = any(one.get("role") == "tool" for one in objects(step, "input_delta", where))
    calls = objects(step, "tool_calls", where)
    output_tokens = count(step, "output_tokens", where)
    gap = milliseconds(step, "pre_gap_ms", where) or 0.0
    said = text(step, "assistant_text", where)
    kind = delay_kind(messages, number)
    return RecordedTurn(
        messages=messages,
        assistant={"role": "assistant", "content": said} if said else None,
        delay_s=max(gap - generation_s(output_tokens), 0.0),
        delay_kind="tool" if number and was_tool else kind,
        kind=("tool_call" if calls else "prose") if said else None,
        input_tokens=count(step, "input_tokens", where),
        output_tokens=output_tokens,
        cached_tokens=count(step, "cached_tokens", where),
    )


def _message(value: dict[str, Any], where: str) -> Message:
    role = text(value, "role", where)
    if role is None:
        raise Wrong(f"{at(where, 'role')} is missing")
    return {"role": role if role in _ROLES else "user", "content": text(value, "content", where) or ""}


def _head(written: str | None, first: RecordedTurn) -> Message | None:
    """The system message: as it is written, or as long as what the first prompt counts beyond its messages."""
    if written:
        return {"role": "system", "content": written}
    characters = sum(len(message["content"]) for message in first.messages)
    missing = (first.input_tokens or 0) - ceil(characters / ASSUMED_CHARS_PER_TOKEN)
    return (
        {"role": "system", "tokens": missing, "corpus": "prose", "seed": "system"}
        if missing >= _LEAST_STAND_IN
        else None
    )


def _source(value: Any) -> dict[str, Any]:
    found = value if isinstance(value, dict) else {}
    return {
        "name": str(found.get("dataset") or "abench"),
        **({"model": str(found["model"])} if found.get("model") else {}),
        **({"harness": str(found["agent"])} if found.get("agent") else {}),
        **({"trial": found["trial"]} if isinstance(found.get("trial"), int | str) else {}),
        "delays": _DELAYS,
    }
