"""loadgen's own format `agent-session/1`: one session a line, as `RecordedSession` has it.

Also what an import writes and `loadgen record` records.
"""

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

import msgspec

from loadgen.workload.recorded import FORMAT, Cancel, Problem, RecordedSession, RecordedTurn
from loadgen.workload.rows import Row

__all__ = ["looks_like", "read", "write"]

_BEGIN = b'{"format":"' + FORMAT.encode() + b'",'


def looks_like(value: Any) -> bool:
    """Whether a row says that it is one."""
    return isinstance(value, dict) and value.get("format") == FORMAT


def read(rows: Iterator[Row | Problem], file: str) -> Iterator[RecordedSession | Problem]:
    """The sessions; a row that breaks the format is a problem that names the field."""
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        unknown = _unknown(row.value)
        if unknown is not None:
            yield Problem(file, row.line, f"skipped: {unknown}")
            continue
        try:
            yield msgspec.convert(row.value, RecordedSession)
        except msgspec.ValidationError as error:
            yield Problem(file, row.line, f"skipped: {_worded(error)}")


def write(sessions: Iterable[RecordedSession], file: IO[bytes]) -> int:
    """Write sessions, one a line; returns how many."""
    count = 0
    for session in sessions:
        # Defaults are left out, and the format's name is one; but it is what a file is known by.
        file.write(_BEGIN + _encoded(session)[1:] + b"\n")
        count += 1
    return count


def _encoded(session: RecordedSession) -> bytes:
    try:
        return msgspec.json.encode(session)
    except OverflowError:
        # A field that somebody else filled has a whole number of more than 64 bits.
        return json.dumps(msgspec.to_builtins(session), ensure_ascii=False, separators=(",", ":")).encode()


def _unknown(value: Any) -> str | None:
    """The first field that the format doesn't have: a typing error there would silently change what is played."""
    if not isinstance(value, dict):
        return "the row is no JSON object"
    if value.get("format") != FORMAT:
        return f"format is not {FORMAT!r}"
    if name := _stranger(value, RecordedSession):
        return f"a session has no field {name!r}"
    turns = value.get("turns")
    for number, turn in enumerate(turns if isinstance(turns, list) else []):
        if name := _stranger(turn, RecordedTurn):
            return f"turns[{number}] has no field {name!r}"
        if isinstance(turn, dict) and (name := _stranger(turn.get("cancel"), Cancel)):
            return f"turns[{number}].cancel has no field {name!r}"
    return None


def _stranger(value: Any, kind: type[msgspec.Struct]) -> str | None:
    known = kind.__struct_fields__
    return next((name for name in value if name not in known), None) if isinstance(value, dict) else None


def _worded(error: msgspec.ValidationError) -> str:
    """`turns[2].delay_s: expected float, got str`."""
    what, _, where = str(error).partition(" - at `$")
    what = what[0].lower() + what[1:] if what else "it is no session"
    return f"{where.rstrip('`').removeprefix('.')}: {what}" if where else what
