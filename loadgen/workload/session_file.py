"""A file of sessions in any of the formats: recognised, read, and checked."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from loadgen.errors import WorkloadError
from loadgen.workload.formats import FORMATS, Format, recognise, the_format
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row, read_rows
from loadgen.workload.session_check import checked

__all__ = ["SessionFile", "read_sessions", "stream_sessions"]


@dataclass
class SessionFile:
    """What a file holds: its format, its sessions in order, and what was skipped or cut."""

    format: Format
    sessions: list[RecordedSession] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_sessions(path: Path, *, format_name: str | None = None, strict: bool = False) -> SessionFile:
    """All sessions of a file.

    Args:
        path: the file.
        format_name: its format; null: recognised by its first row.
        strict: raise at the first problem.

    Raises `WorkloadError` where the file can't be opened, is of no known format, or holds no session; with `strict`
    also at the first row that isn't as it should be.
    """
    found, stream, place = _stream(path, format_name)
    file = SessionFile(found)
    lines: dict[str, int] = {}
    for one in stream:
        if isinstance(one, Problem):
            if strict:
                raise WorkloadError(f"{one}.")
            file.problems.append(one)
        else:
            file.sessions.append(one)
            if found.a_row_each:
                lines.setdefault(one.session_id, place.line)
    file.sessions, wrong = checked(file.sessions, path.name, lines)
    if strict and wrong:
        raise WorkloadError(f"{wrong[0]}.")
    file.problems += wrong
    if not file.sessions:
        first = f" The first problem: {file.problems[0]}." if file.problems else ""
        raise WorkloadError(f"{path} holds no session of the format {found.name}.{first}")
    return file


def stream_sessions(
    path: Path, *, format_name: str | None = None
) -> tuple[Format, Iterator[RecordedSession | Problem]]:
    """The format of a file and its sessions one by one, as the rows say: nothing across sessions is checked.

    Raises `WorkloadError` where the file can't be opened or its format isn't known.
    """
    found, stream, _ = _stream(path, format_name)
    return found, stream


@dataclass
class _Place:
    """The line of the last row that was read."""

    line: int = 0

    def passing(self, rows: Iterator[Row | Problem]) -> Iterator[Row | Problem]:
        """The rows, their lines remembered."""
        for row in rows:
            self.line = row.line
            yield row


def _stream(path: Path, format_name: str | None) -> tuple[Format, Iterator[RecordedSession | Problem], _Place]:
    rows, place = read_rows(path), _Place()
    if format_name is not None:
        found = the_format(format_name)
        return found, found.reader.read(place.passing(rows), path.name), place
    first: list[Row | Problem] = []
    unknown: list[Row] = []
    for row in rows:
        first.append(row)
        if not isinstance(row, Row):
            continue
        named = recognise(row.value)
        if named is not None:
            return named, named.reader.read(place.passing(chain(first, rows)), path.name), place
        unknown.append(row)
        if len(unknown) == _TRIED:
            break
    if not unknown:
        wrong = f" {first[0]}." if first else ""
        raise WorkloadError(f"{path} holds no row.{wrong}")
    raise WorkloadError(
        f"{path}: line {unknown[0].line} is of none of the known formats ({', '.join(FORMATS)}); name the right one "
        "with --format, if it is one of them."
    )


_TRIED = 20
"""Rows by which a format is looked for: the first ones may be broken, or what a log begins with."""
