"""Session logs of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`.

Schema: github.com/openai/codex, `codex-rs/protocol` (`RolloutLine`, `ResponseItem`, `EventMsg`). A row has `timestamp`,
`type` and `payload`. Read are `session_meta` (id, instructions), `response_item` (`message`, `reasoning`,
`function_call` and `function_call_output`, `custom_tool_call` and its output, `local_shell_call`), `compacted`, and of
`event_msg` the counts of tokens, which tell answers apart, turns that were broken off, and prompts that were taken
back.

A tool's time is that between a call and its result, approvals included. The definitions of tools aren't in the log,
and reasoning is in it as far as it was shown. Sub-agents have files of their own: put the files one behind the other to
have them in their places.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from loadgen.workload.formats.codex_log import CodexLog
from loadgen.workload.formats.dialogue import begin_behind
from loadgen.workload.formats.fields import first_text, good_rows, mapping
from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read"]

_Line = tuple[int, str, dict[str, Any], dict[str, Any]]
"""A row: its line, its type, its payload, and all of it."""
_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})


def looks_like(value: Any) -> bool:
    """Whether a row has one of the log's types, and a payload."""
    return isinstance(value, dict) and value.get("type") in list(_TYPES) and "payload" in value


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions in the order in which they stand. All rows are read before the first."""
    logs: list[CodexLog] = []
    waiting: list[_Line] = []
    for row in good_rows(rows, file):
        if isinstance(row, Problem):
            yield row
            continue
        line, value = row
        kind, payload = first_text(value, "type"), value.get("payload")
        if kind is None or not isinstance(payload, dict):
            yield Problem(file, line, "skipped: the row has no type, or no payload")
            continue
        if kind == "session_meta" and not _is_copy(payload, logs):
            yield from _play(logs, waiting, file)
            waiting = []
            log = CodexLog(first_text(payload, "id", "session_id") or f"session-{line}", line)
            log.begin(payload)
            logs.append(log)
        elif kind in _TYPES:
            waiting.append((line, kind, payload, value))
    yield from _play(logs, waiting, file)
    parents = {log.name: _connect(log, logs) for log in logs}
    for log in logs:
        for loss in log.dialogue.losses(untimed=log.untimed, left_out=log.left_out):
            yield Problem(file, log.line, f"{log.name!r}: {loss}")
        if log.dialogue.turns:
            yield _session(log, parents[log.name])


def _is_copy(payload: dict[str, Any], logs: Sequence[CodexLog]) -> bool:
    """Whether a first row is that of the session from which this one was forked: its rows are copied with it."""
    name = first_text(payload, "id", "session_id")
    return bool(logs) and name is not None and name in {logs[-1].name, logs[-1].forked, logs[-1].parent}


def _play(logs: list[CodexLog], rows: Sequence[_Line], file: str) -> Iterator[Problem]:
    """Give a session its rows; it must be known first whether they count tokens."""
    if rows and not logs:
        logs.append(CodexLog("session", rows[0][0]))
    for log in logs[-1:] if rows else ():
        log.counted = any(_counts(kind, payload) for _, kind, payload, _ in rows)
        for line, kind, payload, value in rows:
            wrong = log.add(kind, payload, value)
            if wrong is not None:
                yield Problem(file, line, f"skipped: {wrong}")
        log.close()


def _counts(kind: str, payload: dict[str, Any]) -> bool:
    return kind == "event_msg" and payload.get("type") == "token_count" and bool(mapping(payload.get("info")))


def _connect(log: CodexLog, logs: Sequence[CodexLog]) -> str | None:
    """Let a sub-agent begin behind the answer that started it; its parent's name, null where it isn't in the file."""
    parent = next((one for one in logs if one.name == log.parent and one is not log), None)
    if parent is None or not log.dialogue.turns:
        return None
    turns = parent.dialogue.turns
    answer = next((number for number, turn in enumerate(turns) if log.called in _calls(turn)), None)
    # The results of the call that starts it, and of the one that waits for it, name it.
    named = [number for number, turn in enumerate(turns) if number and _names(turn, log.names)]
    if answer is None and named:
        answer = named[0] - 1
    if answer is None:
        return None
    result = next((number for number in named if number > answer + 1), None)
    begin_behind(log.dialogue, log.name, parent.dialogue, answer=answer, result=result)
    return parent.name


def _calls(turn: RecordedTurn) -> list[str]:
    return [str(call["id"]) for call in (turn.assistant or {}).get("tool_calls", ())]


def _names(turn: RecordedTurn, names: Sequence[str]) -> bool:
    results = [str(message["content"]) for message in turn.messages if message["role"] == "tool"]
    return any(name in result for name in names for result in results)


def _session(log: CodexLog, parent: str | None) -> RecordedSession:
    source = {"name": "codex", "lacks": "definitions of tools"}
    if log.model is not None:
        source["model"] = log.model
    source["harness"] = f"codex {log.version}" if log.version else "codex"
    return RecordedSession(session_id=log.name, parent_session_id=parent, source=source, turns=log.dialogue.turns)
