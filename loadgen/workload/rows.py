"""Rows of a file of sessions: JSON lines, or JSON documents, plain or compressed.

A file from elsewhere is never trusted: what can't be read is a `Problem` with its place, and reading goes on where it
can.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from loadgen.errors import WorkloadError
from loadgen.workload.compressed import Source, opened
from loadgen.workload.json_values import NotJson, elements, explained, values
from loadgen.workload.recorded import Problem

__all__ = ["DEEPEST", "LONGEST_LINE", "Row", "read_rows"]

LONGEST_LINE = 256 << 20
"""Bytes: a session with a million tokens of context has some 5 MB; what is longer is no row, and would fill memory."""
DEEPEST = 100
"""Lists and objects in each other. Schemas of tools nest ten deep; what goes beyond this would end a recursion."""
_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_MAYBE_UNSENDABLE = re.compile(rb"\\u(?:[dD][89a-fA-F]|0000)|\xed[\xa0-\xbf]")
"""What a lone surrogate or a NUL looks like in the file; whole pairs look like it too."""
_REPLACEMENT = "�"


@dataclass(frozen=True)
class Row:
    """One JSON value and the line (from 1) on which it begins."""

    line: int
    value: Any


def read_rows(path: Path) -> Iterator[Row | Problem]:
    """The rows of a file of JSON lines, one at a time; of a file that is one JSON array, its elements.

    A file whose first line isn't a whole JSON value is one document over several lines, or several of them. Lines may
    end in CR LF, the file may begin with a byte order mark, and be compressed (gzip, zstd): the content tells, not the
    name. Empty lines are no rows. Half characters (lone surrogates) and NULs in texts are replaced, and told.

    Raises `WorkloadError` where the file can't be opened, or isn't UTF-8 from its first bytes on.
    """
    name = path.name
    with opened(path) as file:
        lines = _lines(name, file)
        first = next(lines, None)
        while isinstance(first, Problem):
            yield first
            first = next(lines, None)
        if first is None:
            return
        number, line = first
        if line.startswith(_UTF_16):
            raise WorkloadError(f"{path} is UTF-16, not UTF-8: iconv -f UTF-16 -t UTF-8 turns it.")
        begin = b"\n" * (number - 1) + line
        if line.lstrip().startswith(b"["):
            yield from _values(name, file, elements(file, begin, LONGEST_LINE))
        elif line.lstrip().startswith(b"{") and not _is_json(line):
            yield from _broken_or_document(name, file, first, lines)
        else:
            yield from _rows(name, chain([first], lines))


def _broken_or_document(
    name: str, file: Source, first: tuple[int, bytes], lines: Iterator[tuple[int, bytes] | Problem]
) -> Iterator[Row | Problem]:
    """The first line is no JSON. Where the second is, then the first is broken; else they are one document."""
    second = next(lines, None)
    if not isinstance(second, tuple) or (second[1].lstrip().startswith(b"{") and _is_json(second[1])):
        yield from _rows(name, chain([first], [] if second is None else [second], lines))
        return
    begin = b"\n" * (first[0] - 1) + first[1] + b"\n" * (second[0] - first[0] - 1) + second[1]
    yield from _values(name, file, values(file, begin, LONGEST_LINE))


def _lines(name: str, file: Source) -> Iterator[tuple[int, bytes] | Problem]:
    """Lines that hold something, with their numbers; the file's damage, where it has any, comes last."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        line = line.removeprefix(_BOM) if number == 1 else line
        if len(line) > LONGEST_LINE:
            yield Problem(name, number, f"skipped: the line is longer than {LONGEST_LINE >> 20} MiB")
            while line and not line.endswith(b"\n"):
                line = file.readline(1 << 20)
        elif line.strip() and (file.damage is None or line.endswith(b"\n") or line.lstrip().startswith(b"[")):
            # What damage leaves of a line is no row; of an array on one line it may be many.
            yield number, line
    if file.damage:
        yield Problem(name, number, f"{file.damage}: the file is read up to here")


def _rows(name: str, lines: Iterator[tuple[int, bytes] | Problem]) -> Iterator[Row | Problem]:
    for one in lines:
        if isinstance(one, Problem):
            yield one
            continue
        number, line = one
        try:
            # Not json.loads(line), which would take NULs for another encoding.
            value = json.loads(line.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            yield Problem(name, number, f"skipped: no JSON: {explained(error)}")
            continue
        openings = line.count(b"{") + line.count(b"[")
        yield from _clean(name, number, value, deep=openings > DEEPEST, odd=bool(_MAYBE_UNSENDABLE.search(line)))


def _values(name: str, file: Source, found: Iterator[tuple[int, Any]]) -> Iterator[Row | Problem]:
    try:
        for line, value in found:
            yield from _clean(name, line, value, deep=True, odd=True)
    except NotJson as error:
        why = f"{file.damage}: the rest isn't read" if file.damage else f"no JSON from here on: {error}"
        yield Problem(name, error.line, why)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return True


def _clean(name: str, line: int, value: Any, *, deep: bool, odd: bool) -> list[Row | Problem]:
    """The row, and what was replaced in it; a problem alone where it nests too deeply."""
    if deep and _too_deep(value):
        return [Problem(name, line, f"skipped: more than {DEEPEST} lists and objects stand in each other")]
    places: list[str] = []
    clean = _replaced(value, "", places) if odd else value
    if not places:
        return [Row(line, clean)]
    first = f" in {places[0]}" if places[0] else ""
    several = f"; {len(places)} texts in all" if len(places) > 1 else ""
    told = f"characters that can't be sent (NUL, or half of a pair) were replaced{first}{several}"
    return [Row(line, clean), Problem(name, line, told)]


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inside = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, list | dict))
        level = [one for several in inside for one in several if isinstance(one, list | dict)]
        if not level:
            return False
    return True


def _replaced(value: Any, where: str, places: list[str]) -> Any:
    """The value with every lone surrogate and NUL replaced, and the fields in which there were any."""
    if isinstance(value, str):
        text, count = _UNSENDABLE.subn(_REPLACEMENT, value)
        places += [where] if count else []
        return text
    if isinstance(value, list):
        return [_replaced(item, f"{where}[{index}]", places) for index, item in enumerate(value)]
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            clean = _replaced(key, where, places)
            out[clean] = _replaced(item, f"{where}.{clean}" if where else clean, places)
        return out
    return value
