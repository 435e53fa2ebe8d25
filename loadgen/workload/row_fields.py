"""Fields of a row that nobody has checked: each as what it must be, or a `Wrong` that names it.

`where` is the place of the object that has the field (`turns[2]`), empty for the row itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from math import isfinite
from typing import Any

from loadgen.units import ms_to_s
from loadgen.workload.recorded import Problem, RecordedSession
from loadgen.workload.rows import Row

__all__ = [
    "Notes",
    "Wrong",
    "at",
    "count",
    "is_time",
    "milliseconds",
    "object_of",
    "objects",
    "row_by_row",
    "text",
    "texts",
]

Found = RecordedSession | Problem


class Wrong(Exception):  # noqa: N818 - says what the row is
    """What is wrong with a row: its field, and why."""


def at(where: str, name: str) -> str:
    """The place of a field."""
    return f"{where}.{name}" if where else name


def object_of(value: Any, where: str = "") -> dict[str, Any]:
    """The value, an object."""
    if not isinstance(value, dict):
        raise Wrong(f"{where} is no object" if where else "the row is no JSON object")
    return value


def objects(row: dict[str, Any], name: str, where: str = "") -> list[dict[str, Any]]:
    """A list of objects; empty where the field is missing or null."""
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise Wrong(f"{at(where, name)} is no list of objects")
    return value


def text(row: dict[str, Any], name: str, where: str = "") -> str | None:
    """A text; None where the field is missing or null."""
    value = row.get(name)
    if value is not None and not isinstance(value, str):
        raise Wrong(f"{at(where, name)} is no text")
    return value


def texts(row: dict[str, Any], name: str, where: str = "") -> list[str]:
    """A list of texts; empty where the field is missing or null."""
    value = row.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Wrong(f"{at(where, name)} is no list of texts")
    return value


def count(row: dict[str, Any], name: str, where: str = "") -> int | None:
    """A whole number from 0 on (12.0 will do); None where the field is missing or null."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_COUNT:
        raise Wrong(f"{at(where, name)} is no whole number from 0 on")
    return value


def milliseconds(row: dict[str, Any], name: str, where: str = "") -> float | None:
    """Seconds, of a field that has milliseconds; None where it is missing or null."""
    value = row.get(name)
    if value is None:
        return None
    if not is_time(value):
        raise Wrong(f"{at(where, name)} is no time from 0 on")
    return ms_to_s(value)


def is_time(value: Any) -> bool:
    """Whether a value can be a time: a number from 0 on that isn't endless."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return value >= 0 and isfinite(value)
    except OverflowError:
        return False


_LARGEST_COUNT = 1 << 53
"""Larger numbers aren't whole in every reader of JSON."""


class Notes:
    """What is left out of a file, told once for each field and not for each row."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._told: set[str] = set()
        self._parts: list[str] = []

    def part(self, kind: str) -> None:
        """Remember that a part of a message was left out; `parts` tells it."""
        self._parts.append(kind)

    def parts(self, line: int) -> Iterator[Problem]:
        """A problem for each kind of part that was left out since the last call."""
        kinds, self._parts = self._parts, []
        for kind in kinds:
            yield from self.once(line, f"parts of messages of the type {kind!r} are left out: only text is played")

    def once(self, line: int, told: str) -> Iterator[Problem]:
        """A problem with that text, unless there was one."""
        if told not in self._told:
            self._told.add(told)
            yield Problem(self._file, line, f"{told} (here and further on)")

    def strangers(self, row: Iterable[str], known: Collection[str], line: int, where: str = "") -> Iterator[Problem]:
        """A problem for each field of an object that the published schema doesn't have."""
        for name in row:
            if name not in known:
                yield from self.once(line, f"the unknown field {at(where, name)!r} is left out")


def row_by_row(
    rows: Iterator[Row | Problem], file: str, make: Callable[[dict[str, Any], int, str], Iterator[Found]]
) -> Iterator[Found]:
    """Sessions of a file that has each on a row of its own.

    Args:
        rows: the rows.
        file: its name.
        make: from a row's object, its line and a name for a session that has none (`row-3`): what it gives. It raises
            `Wrong` for a row that is skipped.
    """
    number = 0
    for row in rows:
        if isinstance(row, Problem):
            yield row
            continue
        number += 1
        found: list[Found] = []
        try:
            for one in make(object_of(row.value), row.line, f"row-{number}"):
                found.append(one)  # noqa: PERF402 - what came before a fault counts
        except Wrong as wrong:
            found = [one for one in found if isinstance(one, Problem)]
            found.append(Problem(file, row.line, f"skipped: {wrong}"))
        yield from found
