"""aiperf's files with text: mooncake_trace rows with `messages`, `text_input` or `payload`, single_turn, multi_turn.

Schema: github.com/ai-dynamo/aiperf, `src/aiperf/dataset/loader/models.py` (0.13). Times are milliseconds.

- mooncake_trace: one of `messages` (the whole prompt, `tools` beside it), `payload` (a whole request), `text_input`
  (what the user adds) and `input_length` (how many tokens the user adds); `session_id`, `output_length`, `timestamp`
  or `delay`. Rows with `hash_ids`, and files that begin with lengths, are read as the format `mooncake`.
- single_turn (and random_pool): `text` or `texts`. Rows of one `session_id` follow each other, each without what came
  before it.
- multi_turn: `turns` of single turns, each with what came before it. A first turn of the system is no call.
- inputs_json: `{"data": [{"session_id": ..., "payloads": [...]}]}`, as aiperf leaves it beside its results.

Rows of one `session_id` are one session, wherever they stand; by `timestamp` where all have one. `delay` is the wait
after the answer before. Where there are only timestamps, that answer's assumed time
(`transcript.RECORDED_TOKENS_PER_S`) is taken off, and the session's `source` says so. `output_length` is taken as the
length of the answer. When sessions begin isn't kept: agents take one after the other. Images, audio and video are left
out, and so is `extra`, which sets sampling.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.row_fields import Found, Notes, Wrong, at, count, milliseconds, object_of, objects, text
from loadgen.workload.rows import Row
from loadgen.workload.transcript import (
    RECORDED_TOKENS_PER_S,
    Call,
    Message,
    delay_kind,
    generation_s,
    messages_of,
    tools_of,
    turns_of,
)

__all__ = ["looks_like", "read"]

_TYPES = frozenset({None, "mooncake_trace", "single_turn", "multi_turn", "random_pool"})
_MEDIA = ("image", "images", "image_uuids", "audio", "audios", "video", "videos")
_SINGLE = frozenset({"type", "text", "texts", *_MEDIA, "timestamp", "delay", "role", "session_id"}) | {
    "output_length",
    "extra",
}
_FIELDS = _SINGLE | {"turns", "input_length", "text_input", "messages", "tools", "payload", "hash_ids"}
_SPEAKERS = ("user", "system", "developer")
_DELAYS = f"timestamps less output_length / {RECORDED_TOKENS_PER_S:g} tokens/s (assumed)"


@dataclass(frozen=True)
class _Sent:
    """One call of a file: what it sent, and whether that is the whole prompt, what is added, or all there is."""

    mode: Literal["whole", "added", "alone"]
    messages: list[Message]
    line: int
    tools: list[dict[str, Any]] | None = None
    output_tokens: int | None = None
    delay_s: float | None = None
    sent_s: float | None = None


def looks_like(value: Any) -> bool:
    """Whether a row carries text in one of these shapes."""
    if not isinstance(value, dict) or not _known_type(value.get("type")):
        return False
    if isinstance(value.get("data"), list):
        return any(isinstance(one, dict) and "payloads" in one for one in value["data"])
    payload = value.get("payload")
    if isinstance(payload, dict):
        return "messages" in payload or "prompt" in payload
    if isinstance(value.get("turns"), list):
        return any(isinstance(turn, dict) and ("text" in turn or "texts" in turn) for turn in value["turns"])
    if isinstance(value.get("messages"), list):
        return bool(value.keys() & {"session_id", "output_length"})
    return any(isinstance(value.get(name), str | list) for name in ("text_input", "text", "texts"))


def _known_type(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value in _TYPES)


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """The sessions: rows without session_id at once, the others when all of the file has been read."""
    notes = Notes(file)
    groups: dict[str, list[_Sent]] = {}
    number = 0
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        number += 1
        try:
            value = object_of(row.value)
            yield from _left_out(value, row.line, notes)
            found = list(_sessions(value, row.line, number, notes))
            yield from notes.parts(row.line)
        except Wrong as wrong:
            yield Problem(file, row.line, f"skipped: {wrong}")
            continue
        for name, sent in found:
            if name:
                groups.setdefault(name, []).extend(sent)
            else:
                yield from _session(f"row-{number}", sent, file)
    for name, sent in groups.items():
        yield from _session(name, sent, file)


def _left_out(value: dict[str, Any], line: int, notes: Notes) -> Iterator[Problem]:
    if "data" in value:
        return
    yield from notes.strangers(value, _FIELDS, line)
    turns = value.get("turns")
    steps = [value, *(one for one in (turns if isinstance(turns, list) else []) if isinstance(one, dict))]
    for step in steps[1:]:
        yield from notes.strangers(step, _SINGLE, line, "turns")
    for name in _MEDIA:
        if any(step.get(name) for step in steps):
            yield from notes.once(line, f"{name!r} is left out: only text is played")


def _sessions(value: dict[str, Any], line: int, number: int, notes: Notes) -> Iterator[tuple[str | None, list[_Sent]]]:
    """The calls of a row, by session."""
    if "data" in value:
        for index, one in enumerate(objects(value, "data")):
            where = f"data[{index}]"
            payloads = objects(one, "payloads", where)
            sent = [_payload(two, f"{where}.payloads[{place}]", line, notes) for place, two in enumerate(payloads)]
            yield text(one, "session_id", where) or where, sent
        return
    if not _known_type(value.get("type")):
        raise Wrong(f"type is none of {', '.join(sorted(one for one in _TYPES if one))}")
    name = text(value, "session_id")
    turns = objects(value, "turns")
    if turns or "turns" in value:
        yield name, _turns(turns, line)
    else:
        yield name, [_call(value, line, number, notes)]


def _turns(turns: list[dict[str, Any]], line: int) -> list[_Sent]:
    sent = [_single(turn, f"turns[{index}]", line, "added") for index, turn in enumerate(turns)]
    if not sent:
        raise Wrong("turns is empty")
    first = sent[0]
    quiet = first.output_tokens is None and first.delay_s is None and first.sent_s is None
    if len(sent) > 1 and first.messages[0]["role"] == "system" and quiet:
        return [replace(sent[1], messages=[*first.messages, *sent[1].messages]), *sent[2:]]
    return sent


def _call(value: dict[str, Any], line: int, number: int, notes: Notes) -> _Sent:
    shapes = [name for name in ("messages", "payload", "text_input", "input_length") if value.get(name) is not None]
    if not shapes:
        return _single(value, "", line, "alone")
    if len(shapes) > 1:
        raise Wrong(f"{' and '.join(shapes)} exclude each other")
    if value.get("hash_ids") is not None:
        raise Wrong("hash_ids share prompts by their lengths: the format mooncake reads those")
    if shapes[0] == "payload":
        return _timed(value, "", _payload(object_of(value["payload"], "payload"), "payload", line, notes))
    if shapes[0] == "messages":
        sent = _Sent("whole", messages_of(value["messages"], "messages", notes), line, tools_of(value))
    elif shapes[0] == "text_input":
        words = text(value, "text_input")
        if not words:
            raise Wrong("text_input is empty")
        sent = _Sent("added", [{"role": "user", "content": words}], line)
    else:
        tokens = count(value, "input_length")
        if not tokens:
            raise Wrong("input_length is 0")
        sent = _Sent("added", [{"role": "user", "tokens": tokens, "corpus": "prose", "seed": f"row-{number}"}], line)
    return _timed(value, "", sent)


def _payload(body: dict[str, Any], where: str, line: int, notes: Notes) -> _Sent:
    if isinstance(body.get("prompt"), str):
        return _Sent("whole", [{"role": "user", "content": body["prompt"]}], line)
    return _Sent("whole", messages_of(body.get("messages"), at(where, "messages"), notes), line, tools_of(body, where))


def _single(value: dict[str, Any], where: str, line: int, mode: Literal["added", "alone"]) -> _Sent:
    role = text(value, "role", where) or "user"
    if role not in _SPEAKERS:
        raise Wrong(f"{at(where, 'role')} is none of {', '.join(_SPEAKERS)}")
    words = _words(value, where)
    if not words:
        raise Wrong(f"{where or 'the row'} has no text")
    return _timed(value, where, _Sent(mode, [{"role": role, "content": "\n".join(words)}], line))


def _words(value: dict[str, Any], where: str) -> list[str]:
    """`text`, or `texts`: texts, or objects with `contents`."""
    if (one := text(value, "text", where)) is not None:
        return [one]
    several = value.get("texts")
    if several is None:
        return []
    place = at(where, "texts")
    out: list[str] = []
    for item in several if isinstance(several, list) else [None]:
        contents = item.get("contents") if isinstance(item, dict) else [item]
        if not isinstance(contents, list) or not all(isinstance(found, str) for found in contents):
            raise Wrong(f"{place} is no list of texts")
        out += contents
    return out


def _timed(value: dict[str, Any], where: str, sent: _Sent) -> _Sent:
    length = count(value, "output_length", where)
    delay_s, sent_s = milliseconds(value, "delay", where), milliseconds(value, "timestamp", where)
    return replace(sent, output_tokens=length, delay_s=delay_s, sent_s=sent_s)


def _session(name: str, sent: list[_Sent], file: str) -> Iterator[Found]:
    modes = {one.mode for one in sent}
    if len(modes) != 1:
        what = "has no call" if not modes else "mixes whole prompts with what is added to them"
        yield Problem(file, sent[0].line if sent else 1, f"session {name!r} skipped: it {what}")
        return
    if all(one.sent_s is not None for one in sent):
        sent = sorted(sent, key=lambda one: one.sent_s or 0.0)
    delays = [_delay(before, one) for before, one in zip([None, *sent[:-1]], sent, strict=True)]
    tools = next((one.tools for one in sent if one.tools), None)
    if any(one.tools and one.tools != tools for one in sent):
        yield Problem(file, sent[0].line, f"session {name!r} changes its tools: its first ones are kept for all turns")
    assumed = any(one.delay_s is None and one.sent_s is not None for one in sent[1:])
    yield RecordedSession(
        session_id=name,
        source={"name": "aiperf", **({"delays": _DELAYS} if assumed else {})},
        tools=tools,
        turns=_recorded(sent, delays),
    )


def _delay(before: _Sent | None, one: _Sent) -> float:
    if one.delay_s is not None:
        return one.delay_s
    if before is None or before.sent_s is None or one.sent_s is None:
        return 0.0
    return max(one.sent_s - before.sent_s - generation_s(before.output_tokens), 0.0)


def _recorded(sent: Sequence[_Sent], delays: list[float]) -> list[RecordedTurn]:
    if sent[0].mode == "whole":
        return turns_of([Call(one.messages, delay, one.output_tokens) for one, delay in zip(sent, delays, strict=True)])
    alone = sent[0].mode == "alone"
    return [
        RecordedTurn(
            messages=one.messages,
            delay_s=delay,
            delay_kind=delay_kind(one.messages, number),
            output_tokens=one.output_tokens,
            history_reset="edit" if alone and number else None,
        )
        for number, (one, delay) in enumerate(zip(sent, delays, strict=True))
    ]
