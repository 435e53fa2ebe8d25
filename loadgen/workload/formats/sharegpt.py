"""ShareGPT conversations: `{"id": "a_0", "conversations": [{"from": "human", "value": ...}, {"from": "gpt", ...}]}`.

Schema: as github.com/vllm-project/vllm (benchmarks/multi_turn/convert_sharegpt_to_openai.py) reads it. The file is one
JSON array, or JSON lines. ShareGPT's long conversations stand in parts, `QWJhYvA_0`, `QWJhYvA_1`, one behind the other:
they become one session, `QWJhYvA`; a message that is repeated where two parts meet is taken once. Only ids of that
kind (7 letters and digits, drawn at random) are taken for parts: others number conversations that have nothing to do
with each other, as FastChat's `identity_0`, `identity_1`. LLaMA-Factory's rows of that shape
(`system`, and the speakers `function_call` and `observation`) are read too: a call stands as text in its answer, and
its result as text of the user.

Data of this kind has no timing and, mostly, no licence: import your own copy.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.row_fields import Found, Notes, Wrong, object_of, objects, text
from loadgen.workload.rows import Row
from loadgen.workload.transcript import Message, split

__all__ = ["looks_like", "read"]

_FIELDS = frozenset({"id", "conversations", "system"})
_SPEAKERS = {
    **dict.fromkeys(("human", "user", "observation", "tool"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "bing", "bard", "assistant", "function_call"), "assistant"),
    "system": "system",
}


_PART_ID = re.compile(r"((?=.+[A-Z])[A-Za-z0-9-]{7})_([0-9]{1,8})")
"""What ShareGPT calls a part. Words are 7 letters long too, but have no capital behind their first letter."""


@dataclass
class _Part:
    """One row: its line, its id, that split into a conversation and the number of its part, and its messages."""

    line: int
    id: str
    name: str | None
    number: int
    messages: list[Message]


def looks_like(value: Any) -> bool:
    """Whether a row has conversations with speakers."""
    if not isinstance(value, dict) or not isinstance(value.get("conversations"), list):
        return False
    first = next(iter(value["conversations"]), {"from": None})
    return isinstance(first, dict) and "from" in first


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[Found]:
    """A session for each conversation, its parts put together."""
    notes = Notes(file)
    parts: list[_Part] = []
    number = 0
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        number += 1
        try:
            value = object_of(row.value)
            yield from notes.strangers(value, _FIELDS, row.line)
            part = _part(value, row.line, f"row-{number}")
        except Wrong as wrong:
            yield Problem(file, row.line, f"skipped: {wrong}")
            continue
        if parts and not _follows(parts[-1], part):
            yield from _session(parts, file)
            parts = []
        parts.append(part)
    if parts:
        yield from _session(parts, file)


def _part(value: dict[str, Any], line: int, unnamed: str) -> _Part:
    number = value.get("id")
    named = str(number) if isinstance(number, int) and not isinstance(number, bool) else text(value, "id")
    system = text(value, "system")
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for index, one in enumerate(objects(value, "conversations")):
        where = f"conversations[{index}]"
        speaker = text(one, "from", where)
        if speaker not in _SPEAKERS:
            raise Wrong(f"{where}.from is none of {', '.join(_SPEAKERS)}")
        messages.append({"role": _SPEAKERS[speaker], "content": text(one, "value", where) or ""})
    if not messages:
        raise Wrong("conversations is empty")
    part = _PART_ID.fullmatch(named or "")
    return _Part(line, named or unnamed, part and part[1], int(part[2]) if part else 0, messages)


def _follows(before: _Part, part: _Part) -> bool:
    return part.name is not None and part.name == before.name and part.number == before.number + 1


def _session(parts: list[_Part], file: str) -> Iterator[Found]:
    messages = list(parts[0].messages)
    for part in parts[1:]:
        again = messages[-1] == part.messages[0]
        messages += part.messages[1:] if again else part.messages
    # A part from the middle begins with an answer to what isn't there.
    first = next((index for index, one in enumerate(messages) if one["role"] != "assistant"), len(messages))
    if first:
        what = "an answer" if first == 1 else f"{first} answers"
        yield Problem(file, parts[0].line, f"left out: {what} of {parts[0].id!r} that nothing asked for")
    if messages[first:]:
        name = parts[0].name if len(parts) > 1 else None
        yield RecordedSession(
            session_id=name or parts[0].id, source={"name": "sharegpt"}, turns=split(messages[first:])
        )
