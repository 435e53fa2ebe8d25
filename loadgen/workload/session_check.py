"""What must hold between the parts of recorded sessions before they can be played."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from loadgen.workload.corpus import CORPORA
from loadgen.workload.recorded import Problem, RecordedSession, RecordedTurn
from loadgen.workload.row_fields import is_time

__all__ = ["CORPORA", "checked"]

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_MOST_TOKENS = 1 << 24
"""Of one made-up text: sixteen times the longest context there is."""


def checked(
    sessions: Sequence[RecordedSession], file: str, lines: Mapping[str, int] | None = None
) -> tuple[list[RecordedSession], list[Problem]]:
    """The sessions that can be played, and why the others can't.

    A session goes where it is named twice, has a turn without messages, a message that none is, a result of a tool that
    no call asked for, a time below 0 or without end, or spawns or joins what isn't there or would wait for itself. One
    whose parent doesn't spawn it stays, as an agent of its own.

    Args:
        sessions: of one file.
        file: its name.
        lines: on which line a session stands, by its id, as far as known.
    """
    problems: list[Problem] = []
    by_name: dict[str, RecordedSession] = {}

    def told(name: str, what: str) -> None:
        problems.append(Problem(file, (lines or {}).get(name, 0), f"session {name!r} {what}"))

    for session in sessions:
        twice = session.session_id in by_name
        wrong = "its id stands twice" if twice else next(_wrong(session), None)
        if wrong is not None:
            told(session.session_id, f"skipped: {wrong}")
        else:
            by_name[session.session_id] = session
    broken = True
    while broken:
        # A session that goes takes those with it that would have waited for it.
        broken = False
        parents = _parents(by_name.values())
        for name, session in list(by_name.items()):
            wrong = _wrong_family(session, by_name, parents)
            if wrong is not None:
                told(name, f"skipped: {wrong}")
                del by_name[name]
                broken = True
    parents = _parents(by_name.values())
    out = []
    for name, session in by_name.items():
        parent, named = parents.get(name), session.parent_session_id
        if named is not None and named != parent:
            whose = "it is an agent of its own" if parent is None else f"{parent!r} does"
            told(name, f"isn't spawned by {named!r}, which it names as its parent: {whose}")
        out.append(session if named == parent else msgspec.structs.replace(session, parent_session_id=parent))
    return out, problems


def _wrong(session: RecordedSession) -> Iterator[str]:
    if not session.turns:
        yield "it has no turn"
    called: set[str] = set()
    # Whether there may be a call that the file doesn't show: before it begins, or in an answer that it hasn't.
    unknown = True
    for number, turn in enumerate(session.turns):
        where = f"turns[{number}]"
        yield from _wrong_turn(turn, number, where)
        for index, message in enumerate(turn.messages):
            if wrong := _wrong_message(message):
                yield f"{where}.messages[{index}]{wrong}"
                return  # what follows takes messages for such
            asked = message.get("tool_call_id")
            answers = asked in called if asked is not None else bool(called)
            if message.get("role") == "tool" and not (answers or unknown or turn.history_reset):
                yield f"{where}.messages[{index}] is a tool's result that answers no call"
            called |= _calls(message)
        unknown = (unknown and number > 0) or turn.assistant is None or "tokens" in turn.assistant
        called |= _calls(turn.assistant or {})


def _wrong_turn(turn: RecordedTurn, number: int, where: str) -> Iterator[str]:
    if not turn.messages and (number == 0 or turn.history_reset is not None or turn.assistant is None):
        yield f"{where} has no message"
    if not is_time(turn.delay_s):
        yield f"{where}.delay_s is no time from 0 on"
    if not all(is_time(time) for time in turn.tool_times_s or ()):
        yield f"{where}.tool_times_s has a time that is none"
    for name in ("input_tokens", "output_tokens", "cached_tokens", "max_tokens"):
        if (getattr(turn, name) or 0) < 0:
            yield f"{where}.{name} is below 0"
    yield from _wrong_answer(turn, where)


def _wrong_answer(turn: RecordedTurn, where: str) -> Iterator[str]:
    if turn.assistant is not None:
        if turn.assistant.get("role") != "assistant":
            yield f"{where}.assistant.role is not 'assistant'"
        if wrong := _wrong_message(turn.assistant):
            yield f"{where}.assistant{wrong}"
    if turn.cancel is not None:
        if turn.cancel.after_tokens is None and turn.cancel.after_s is None:
            yield f"{where}.cancel doesn't say when"
        if (turn.cancel.after_tokens or 0) < 0 or not is_time(turn.cancel.after_s or 0):
            yield f"{where}.cancel has a time or length below 0"


def _wrong_message(message: Mapping[str, Any]) -> str | None:
    """What is wrong with a message, its field in front; None where nothing is."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return f".role is none of {', '.join(sorted(_ROLES))}"
    asked, calls = message.get("tool_call_id"), message.get("tool_calls")
    if asked is not None and not isinstance(asked, str):
        return ".tool_call_id is no text"
    if calls is not None and not _are_objects(calls):
        return ".tool_calls is no list of objects"
    if "tokens" in message:
        return _wrong_length(message)
    content = message.get("content")
    if content is None:
        return None if role == "assistant" else ".content is missing"
    return None if isinstance(content, str) or _are_objects(content) else ".content is neither text nor a list of parts"


def _wrong_length(message: Mapping[str, Any]) -> str | None:
    """What is wrong with a message of which only the length is known, or with one of its pieces."""
    tokens, corpus = message["tokens"], message.get("corpus", CORPORA[0])
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 < tokens <= _MOST_TOKENS:
        return f".tokens is no whole number from 1 to {_MOST_TOKENS}"
    if corpus not in CORPORA:
        return f".corpus is none of {', '.join(CORPORA)}"
    pieces = message.get("pieces", [])
    if not _are_objects(pieces) or any("tokens" not in piece for piece in pieces):
        return ".pieces is no list of texts with tokens"
    return next((f".pieces{wrong}" for piece in pieces if (wrong := _wrong_length({**piece, "pieces": []}))), None)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _calls(message: Mapping[str, Any]) -> set[str]:
    return {str(call.get("id")) for call in message.get("tool_calls") or () if isinstance(call, dict)}


def _parents(sessions: Any) -> dict[str, str]:
    """Who spawns whom; of several, the first."""
    parents: dict[str, str] = {}
    for session in sessions:
        for turn in session.turns:
            for child in turn.spawn:
                parents.setdefault(child, session.session_id)
    return parents


def _wrong_family(
    session: RecordedSession, by_name: Mapping[str, RecordedSession], parents: Mapping[str, str]
) -> str | None:
    spawned: set[str] = set()
    for number, turn in enumerate(session.turns):
        where = f"turns[{number}]"
        if unknown := next((name for name in (turn.join or ()) if name not in spawned), None):
            return f"{where}.join names {unknown!r}, which no turn before it spawns"
        for child in turn.spawn:
            if child not in by_name:
                return f"{where}.spawn names {child!r}, which isn't there, or was skipped"
            if child in spawned or parents[child] != session.session_id:
                return f"{where}.spawn names {child!r}, which {parents[child]!r} spawns already"
            spawned.add(child)
    return "its sub-agents spawn each other in a circle" if _circular(session.session_id, parents) else None


def _circular(name: str, parents: Mapping[str, str]) -> bool:
    """Whether a session is among those that its parent, its parent's parent and so on are."""
    seen = {name}
    above = parents.get(name)
    while above is not None:
        if above in seen:
            return True
        seen.add(above)
        above = parents.get(above)
    return False
