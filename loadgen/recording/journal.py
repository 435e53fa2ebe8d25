"""The journal of a recording: every call that ended, appended to a file as it ends.

What is recorded are calls; sessions are made of them. So the journal is all that must survive: a call is in it, whole,
before the next one is placed, and a process that dies loses the calls that were under way and no other. From the
journal of a recording that ended badly the same sessions come as without its end. (It is handed to the system and not
forced to the disk: it outlives the process, not the machine.)

A prompt is written as what it has in common with that of an earlier call, and the rest: else a session of n turns would
be written n times. The file is the user's own (mode 600); requests' headers, and keys in them, never get this far.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from loadgen.errors import UsageError
from loadgen.recording.call import Call, Message

__all__ = ["Journal", "journal_path"]

_FORMAT: Final = "agent-session-journal/1"


def journal_path(out: Path) -> Path:
    """Where the journal of the recording that is written to `out` lies."""
    return out.with_name(f"{out.name}.journal")


class Journal:
    """The calls so far, and the file to which further ones are appended.

    `calls` are those of an earlier recording that ended badly; `damaged` says that its last call was cut off.

    Raises `UsageError` where the file can't be written, is no journal, or another recording writes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls: list[Call] = []
        self.damaged = False
        try:
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        except OSError as error:
            raise UsageError(f"can't write {path}: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except BlockingIOError:
            self._file.close()
            raise UsageError(f"another recording writes {path}; name another file with -o") from None
        except (ValueError, KeyError, TypeError, IndexError):
            self._file.close()
            raise UsageError(
                f"{path} is no journal of a recording; move it away, or name another file with -o"
            ) from None

    def append(self, call: Call, base: int | None) -> None:
        """Keep a call. `base` is the number of an earlier one with which its prompt begins; null: none.

        Raises `UsageError` where it can't be written.
        """
        kept = 0 if base is None else _alike(_history(self.calls[base]), call.messages)
        row = {"base": base, "kept": kept, "call": msgspec.to_builtins(call) | {"messages": call.messages[kept:]}}
        try:
            self._write(row)
        except OSError as error:
            raise UsageError(f"can't write {self.path}: {error.strerror}") from None
        self.calls.append(call)

    def close(self, *, remove: bool = False) -> None:
        """Let go of the file; with `remove` there is nothing in it that isn't elsewhere."""
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _read(self) -> None:
        """The calls of an earlier recording; a last line that was cut off goes."""
        whole = 0
        for number, line in enumerate(self._file):
            if not line.endswith(b"\n"):
                self.damaged = True
                break
            row = json.loads(line)
            if number == 0:
                if row["format"] != _FORMAT:
                    raise ValueError(row["format"])
            else:
                self.calls.append(self._call(row))
            whole += len(line)
        self._file.seek(whole)
        self._file.truncate()
        if not whole:
            self._write({"format": _FORMAT})

    def _call(self, row: dict[str, Any]) -> Call:
        before = [] if row["base"] is None else _history(self.calls[row["base"]])[: row["kept"]]
        call = row["call"]
        return msgspec.convert(call | {"messages": [*before, *call["messages"]]}, Call)

    def _write(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        self._file.flush()


def _history(call: Call) -> list[Message]:
    """The prompt of a call and its answer: what the prompt after it may begin with."""
    return call.messages if call.answer is None else [*call.messages, call.answer]


def _alike(one: list[Message], other: list[Message]) -> int:
    """How many equal messages two lists begin with. Compared as JSON: 1 and true are not the same there."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a is not b and json.dumps(a) != json.dumps(b):
            break
        count += 1
    return count
