"""Sessions with nothing of theirs left but their shape: for showing to others, or for keeping.

What stays: roles, the number and order of messages, calls and turns, waits, counts of tokens, how answers ended, the
model's name and the client's. Text becomes text of Python's standard library and its reference, of the same length and
with the same stretches coming again at the same places (`redacted_text`): prompts share what they shared, and the copy
rate stays. Names of tools and of their arguments, ids, and numbers become others (`redacted_names`). Everything else
goes.
"""

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from loadgen.workload.corpus.library import Library, standard
from loadgen.workload.formats.fields import mapping
from loadgen.workload.recorded import RecordedSession, RecordedTurn
from loadgen.workload.redacted_names import Names
from loadgen.workload.redacted_text import Lengths, RedactedText
from loadgen.workload.redacted_tool import redacted_tool

__all__ = ["Lengths", "redacted", "texts_of"]

Message = dict[str, Any]

_THOUGHTS = ("reasoning_content", "reasoning")
_KEPT = ("name", "licence", "api", "harness")
"""Of a source: what it is called and may be used for. A model is often named by its file: of that the last part."""


def redacted(
    sessions: Sequence[RecordedSession], lengths: Lengths | None = None, library: Library | None = None
) -> list[RecordedSession]:
    """The sessions without their content.

    Args:
        sessions: of one recording, in their order.
        lengths: of their texts (`texts_of`); null: by characters.
        library: what text is made of; null: Python's own.
    """
    text = RedactedText(library or standard(), lengths or Lengths())
    return _Walk(text.replaced, text.replaced_object).sessions(sessions)


def texts_of(sessions: Sequence[RecordedSession]) -> list[str]:
    """Every text that would be replaced, once, in order."""
    found: dict[str, None] = {}

    def seen(text: str) -> str:
        found[text] = None
        return text

    _Walk(seen, lambda text, _names: seen(text)).sessions(sessions)
    return list(found)


class _Walk:
    """Goes through sessions and puts other texts and names in their places."""

    def __init__(self, replaced: Callable[[str], str], replaced_object: Callable[[str, Names], str]) -> None:
        self._replaced = replaced
        self._replaced_object = replaced_object
        self._names = Names()

    def sessions(self, sessions: Sequence[RecordedSession]) -> list[RecordedSession]:
        """All of them, in their order."""
        for session in sessions:
            self._session_name(session.session_id)
        return [self._session(session) for session in sessions]

    def _session(self, session: RecordedSession) -> RecordedSession:
        source = {name: session.source[name] for name in _KEPT if isinstance(session.source.get(name), str)}
        if isinstance(session.source.get("model"), str):
            source["model"] = PurePath(session.source["model"]).name
        parent = session.parent_session_id
        return RecordedSession(
            session_id=self._session_name(session.session_id),
            parent_session_id=None if parent is None else self._session_name(parent),
            source=source | {"redacted": True},
            tools=None
            if session.tools is None
            else [redacted_tool(tool, self._names, self._replaced) for tool in session.tools],
            turns=[self._turn(turn) for turn in session.turns],
        )

    def _turn(self, turn: RecordedTurn) -> RecordedTurn:
        messages = [self._message(message) for message in turn.messages]
        left_out = turn.extra.get("reasoning_content")
        return replace(
            turn,
            messages=messages,
            assistant=None if turn.assistant is None else self._message(turn.assistant),
            spawn=[self._session_name(name) for name in turn.spawn],
            join=None if turn.join is None else [self._session_name(name) for name in turn.join],
            extra={"reasoning_content": self._replaced(left_out)} if isinstance(left_out, str) else {},
        )

    def _message(self, message: Message) -> Message:
        """A message: in the order in which the copy rate reads it."""
        out: Message = {"role": message.get("role")}
        out |= {name: self._replaced(message[name]) for name in _THOUGHTS if isinstance(message.get(name), str)}
        if "tokens" in message:
            out |= self._length(message)
        elif "content" in message:
            out["content"] = self._content(message["content"])
        if isinstance(message.get("tool_calls"), list):
            out["tool_calls"] = [self._call(call) for call in message["tool_calls"]]
        if isinstance(message.get("tool_call_id"), str):
            out["tool_call_id"] = self._names.name("call", message["tool_call_id"])
        return out

    def _content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self._replaced(content)
        if isinstance(content, list):
            texts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
            return [{"type": "text", "text": self._replaced(text)} for text in texts]
        return None

    def _call(self, call: Any) -> Message:
        given = mapping(call)
        function = mapping(given.get("function"))
        arguments = function.get("arguments")
        called = {
            "name": self._names.name("tool", function.get("name")),
            "arguments": self._replaced_object(arguments if isinstance(arguments, str) else "{}", self._names),
        }
        return {"id": self._names.name("call", given.get("id")), "type": "function", "function": called}

    def _length(self, message: Message) -> Message:
        """A message of which only the length is known: what its text is made of, its seed another."""
        out: Message = {name: message[name] for name in ("tokens", "corpus") if name in message}
        if "seed" in message:
            out["seed"] = self._names.name("seed", message["seed"])
        if isinstance(message.get("pieces"), list):
            out["pieces"] = [self._length(piece) for piece in message["pieces"]]
        return out

    def _session_name(self, name: str) -> str:
        return self._names.name("session", name)
