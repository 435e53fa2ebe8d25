"""What a field of somebody else's row holds: the value, if it is what it should be, else null."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from loadgen.workload.recorded import Problem
from loadgen.workload.rows import Row

__all__ = [
    "as_json",
    "first_number",
    "first_text",
    "first_whole",
    "good_rows",
    "mapping",
    "moment",
    "number",
    "objects",
    "parsed",
    "text",
    "whole",
]

_MOST = 1e15
"""No time, count or length in a trace is larger; a value above it is a mistake that would only overflow later."""
_DIGITS = 20
"""Of a count that is written as a text, as OTLP does with 64 bits."""
_NS_SINCE_1970 = 1e16
"""A stamp above this counts nanoseconds (1970-04-26 as such); below it and above the next microseconds, and so on."""
_US_SINCE_1970 = 1e13
_MS_SINCE_1970 = 1e10


def good_rows(rows: Iterator[Row | Problem], file: str) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """The rows that are objects, each with its line; what else there is as problems."""
    for row in rows:
        if isinstance(row, Problem):
            yield row
        elif isinstance(row.value, dict):
            yield row.line, row.value
        else:
            yield Problem(file, row.line, "skipped: the row is no JSON object")


def text(value: Any) -> str | None:
    """A text that isn't empty."""
    return value if isinstance(value, str) and value else None


def number(value: Any) -> float | None:
    """A number from 0 on that is finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        return None
    return float(value)


def whole(value: Any) -> int | None:
    """A whole number from 0 on, also one that is written as a text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        value = int(value)
    found = number(value)
    return int(found) if found is not None and found.is_integer() else None


def mapping(value: Any) -> dict[str, Any]:
    """An object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none of anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def first_text(row: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that is a text."""
    return next((found for name in names if (found := text(row.get(name))) is not None), None)


def first_whole(row: Mapping[str, Any], *names: str) -> int | None:
    """The first of these fields that is a whole number."""
    return next((found for name in names if (found := whole(row.get(name))) is not None), None)


def first_number(row: Mapping[str, Any], *names: str) -> float | None:
    """The first of these fields that is a number."""
    return next((found for name in names if (found := number(row.get(name))) is not None), None)


def moment(value: Any) -> float | None:
    """A stamp in seconds since 1970: ISO 8601 (UTC where it names no zone), or a count of s, ms, µs, ns by its size."""
    if isinstance(value, str) and not value.isdigit():
        try:
            stamp = datetime.fromisoformat(value)
            return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if isinstance(value, str):
        value = int(value) if value.isascii() and len(value) <= _DIGITS else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST * _MOST:
        return None
    for least, divisor in ((_NS_SINCE_1970, 1e9), (_US_SINCE_1970, 1e6), (_MS_SINCE_1970, 1e3)):
        if value >= least:
            return value / divisor
    return float(value)


def parsed(value: Any) -> Any:
    """A value that may be written as JSON in a text; the text itself where it is no JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def as_json(value: Any) -> str:
    """A value as a text: a text itself, anything else as JSON, nothing for null or what can't be written."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""
