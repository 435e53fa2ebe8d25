"""MLPerf Endpoints, agentic JSONL: one message a row, the rows of a conversation in the order of `turn`.

Schema: github.com/mlcommons/endpoints, `scripts/agentic_inference_dataset_schema.json`. A row has `conversation_id`,
`turn` (from 1, counting messages), `role` (`user`, `assistant`, `tool`), `content`; the first row of a conversation
also has `system` and `tools`; an assistant's `reasoning_content` and `tool_calls`; a tool's `tool_results` and
`delay_seconds`, the wait before that message. Further fields may stand anywhere; they are kept.

`write` gives the rows back as they were, field by field and in their order.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import IO, Any

from loadgen.errors import WorkloadError
from loadgen.workload.recorded import DelayKind, Problem, RecordedSession, RecordedTurn
from loadgen.workload.row_fields import Found, Wrong, is_time, object_of, objects, text
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read", "rows_of", "write"]

_ROLES = ("user", "assistant", "tool")
_TEXTS = ("content", "system", "tools", "tool_results")
"""What the messages of a turn, and the session's tools, hold: it isn't kept a second time for an export."""
_ANSWER = ("content", "reasoning_content", "tool_calls")


def looks_like(value: Any) -> bool:
    """Whether a row has a conversation, a turn and a role."""
    return isinstance(value, dict) and {"conversation_id", "turn", "role"} <= value.keys()


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """A session for each run of rows with one `conversation_id`; one that is broken is skipped as a whole."""
    seen: set[str] = set()
    broken: set[str] = set()
    # Rows were lost that don't say to which conversation they belong: in this one, and behind its last good row.
    lost = lost_behind = False
    good: list[Row] = []
    for row in rows:
        if isinstance(row, Problem):
            if row.text.startswith("skipped"):
                lost = lost_behind = True
            yield row
            continue
        name = row.value.get("conversation_id") if isinstance(row.value, dict) else None
        if good and isinstance(name, str) and name != good[-1].value["conversation_id"]:
            yield from _session(good, file, seen, broken, lost=lost)
            good, lost = [], lost_behind
        try:
            _check(row.value)
            good.append(row)
            lost_behind = False
        except Wrong as wrong:
            yield Problem(file, row.line, f"skipped: {wrong}")
            if isinstance(name, str):
                broken.add(name)
            else:
                lost = lost_behind = True
    if good:
        yield from _session(good, file, seen, broken, lost=lost)


def _check(value: Any) -> None:
    row = object_of(value)
    if text(row, "conversation_id") is None:
        raise Wrong("conversation_id is missing")
    role = row.get("role")
    if role not in _ROLES:
        raise Wrong(f"role is none of {', '.join(_ROLES)}")
    if not isinstance(row.get("turn"), int) or isinstance(row["turn"], bool):
        raise Wrong("turn is missing, or no whole number")
    if not is_time(row.get("delay_seconds", 0)):
        raise Wrong("delay_seconds is no time from 0 on")
    if isinstance(row.get("content"), list):
        objects(row, "content")
    else:
        text(row, "content")
    text(row, "system")
    text(row, "reasoning_content")
    objects(row, "tool_calls")
    if not objects(row, "tool_results") and role == "tool":
        raise Wrong("a tool's row has no tool_results")


def _session(rows: list[Row], file: str, seen: set[str], broken: set[str], *, lost: bool) -> Iterator[Found]:
    name = rows[0].value["conversation_id"]
    wrong = _wrong(rows, name in seen, name in broken, lost=lost)
    seen.add(name)
    if wrong is not None:
        yield Problem(file, rows[0].line, f"skipped: {name!r} {wrong}")
        return
    named = rows[0].value.get("tools")
    tools = named if isinstance(named, list) and all(isinstance(one, dict) for one in named) else None
    turns, left = _turns(rows, tools)
    if left:
        what = "a message" if len(left) == 1 else f"{len(left)} messages"
        yield Problem(file, left[0].line, f"not played: {what} behind the last answer of {name!r}")
    yield RecordedSession(
        session_id=name,
        task=name,
        source={"name": "mlperf"},
        tools=tools,
        turns=turns,
        extra={"left": [row.value for row in left]} if left else {},
    )


def _wrong(rows: list[Row], again: bool, broken: bool, *, lost: bool) -> str | None:
    """Why the conversation of these rows can't be played."""
    steps = {after.value["turn"] - before.value["turn"] for before, after in pairwise(rows)}
    if again:
        return "has rows that don't stand together"
    if broken or (lost and (rows[0].value["turn"] != 1 or steps - {1})):
        return "lacks the rows that were skipped"
    if any(step <= 0 for step in steps):
        return "has turns that don't rise"
    if rows[0].value["role"] == "assistant":
        return "begins with an answer"
    if all(row.value["role"] != "assistant" for row in rows):
        return "has no answer"
    return None


def _turns(rows: list[Row], tools: Any) -> tuple[list[RecordedTurn], list[Row]]:
    """A turn for each answer, with the messages before it; and what stands behind the last one."""
    turns: list[RecordedTurn] = []
    given: list[Row] = []
    for is_answer, group in groupby(rows, key=lambda row: row.value["role"] == "assistant"):
        several = list(group)
        if not is_answer:
            given = several
            continue
        for row in several:
            turns.append(_turn(given, row, len(turns), tools))
            given = []
    return turns, given


def _turn(given: list[Row], answer: Row, number: int, tools: Any) -> RecordedTurn:
    value = answer.value
    said = {name: value[name] for name in _ANSWER if name in value}
    kind: DelayKind = "tool" if not given or given[-1].value["role"] == "tool" else "user"
    return RecordedTurn(
        messages=[message for row in given for message in _messages(row.value)],
        assistant={"role": "assistant", **said},
        delay_s=float(sum(row.value.get("delay_seconds", 0) for row in given)),
        delay_kind=kind if number else "arrival",
        kind="tool_call" if value.get("tool_calls") else "prose",
        extra={
            "rows": [_frame(row.value, tools) for row in given],
            "answer": {"names": list(value), "fields": {name: value[name] for name in value if name not in said}},
        },
    )


def _frame(value: dict[str, Any], tools: Any) -> dict[str, Any]:
    """A row without its texts, which the messages give back; the whole row where they wouldn't."""
    messages = _messages(value)
    frame = {
        "names": list(value),
        "fields": {name: found for name, found in value.items() if name not in _TEXTS},
        "messages": len(messages),
    }
    same = json.dumps(_filled(frame, messages, tools)) == json.dumps(value)  # == would take 1 for true
    return frame if same else {"row": value, "messages": len(messages)}


def _filled(frame: dict[str, Any], messages: list[dict[str, Any]], tools: Any) -> dict[str, Any]:
    """The row of a frame, from the messages that it stands for."""
    texts: dict[str, Any] = {"tools": tools}
    if messages[0]["role"] == "system":
        texts["system"] = messages[0]["content"]
    texts["tool_results"] = [
        {"tool_call_id": one["tool_call_id"], "content": one["content"]} for one in messages if one["role"] == "tool"
    ]
    if messages[-1]["role"] != "tool":
        texts["content"] = messages[-1]["content"]
    return {name: frame["fields"][name] if name in frame["fields"] else texts.get(name) for name in frame["names"]}


def _messages(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that a row stands for: a system message where it has one, results one by one."""
    out: list[dict[str, Any]] = []
    if value.get("system"):
        out.append({"role": "system", "content": value["system"]})
    if value["role"] == "tool":
        out += [
            {"role": "tool", "tool_call_id": one.get("tool_call_id"), "content": one.get("content") or ""}
            for one in value["tool_results"]
        ]
    else:
        out.append({"role": value["role"], "content": value.get("content") or ""})
    return out


def rows_of(session: RecordedSession) -> Iterator[dict[str, Any]]:
    """The rows of a session that came from such a file, as they were. Raises `WorkloadError` for any other."""
    if any("rows" not in turn.extra or "answer" not in turn.extra for turn in session.turns):
        raise WorkloadError(f"session {session.session_id!r} doesn't come from a file of MLPerf rows.")
    for turn in session.turns:
        messages = list(turn.messages)
        for frame in turn.extra["rows"]:
            mine = messages[: frame["messages"]]
            messages = messages[frame["messages"] :]
            yield frame["row"] if "row" in frame else _filled(frame, mine, session.tools)
        said, answer = turn.assistant or {}, turn.extra["answer"]
        yield {name: answer["fields"].get(name, said.get(name)) for name in answer["names"]}
    yield from session.extra.get("left", ())


def write(sessions: Iterable[RecordedSession], file: IO[bytes]) -> int:
    """Write the rows of sessions that came from such a file; returns how many rows."""
    count = 0
    for session in sessions:
        for row in rows_of(session):
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count
