"""Answers as rows, and what Grafana's transformations make of them (those that these dashboards use)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dashboards.picture.source import Series

Row = dict[str, Any]
Rows = tuple[list[str], list[Row]]
"""The columns in their order, and the rows; a row lacks what it has no value of."""


def framed(found: Mapping[str, Sequence[Series]]) -> list[Rows]:
    """One table for each question (by its letter) that has an answer: time, labels, and the value."""
    frames = []
    for letter, several in found.items():
        value = "Value" if len(found) == 1 else f"Value #{letter}"
        rows = [{"Time": at * 1e3, **one.labels, value: number} for one in several for at, number in one.points[-1:]]
        if rows:
            frames.append((_columns(rows), rows))
    return frames


def transformed(panel: Mapping[str, Any], found: Mapping[str, Sequence[Series]]) -> Rows:
    """The table that a panel shows. Raises `KeyError` for a transformation that isn't known here."""
    frames = framed(found)
    for step in panel.get("transformations", []):
        frames = [_STEPS[step["id"]](frame, step["options"]) for frame in _merged(step["id"], frames)]
    return frames[0] if frames else ([], [])


def _columns(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _merged(step: str, frames: list[Rows]) -> list[Rows]:
    """Rows of all tables whose labels (and time) are equal are one row."""
    if step != "merge":
        return frames
    rows: dict[tuple[Any, ...], Row] = {}
    for _, several in frames:
        for row in several:
            key = tuple(sorted((name, value) for name, value in row.items() if not name.startswith("Value")))
            rows.setdefault(key, {}).update(row)
    return [(list(dict.fromkeys(name for names, _ in frames for name in names)), list(rows.values()))]


def _organized(frame: Rows, options: Mapping[str, Any]) -> Rows:
    """Columns left out, in another order, under other names."""
    names, rows = frame
    places = options["indexByName"]
    kept = [name for name in names if not options["excludeByName"].get(name)]
    kept.sort(key=lambda name: places.get(name, len(places)))
    told = options["renameByName"]
    return [told.get(name, name) for name in kept], [
        {told.get(name, name): row[name] for name in kept if name in row} for row in rows
    ]


def _converted(frame: Rows, options: Mapping[str, Any]) -> Rows:
    names, rows = frame
    fields = {one["targetField"] for one in options["conversions"] if one["destinationType"] == "number"}
    return names, [{name: float(value) if name in fields else value for name, value in row.items()} for row in rows]


def _sorted(frame: Rows, options: Mapping[str, Any]) -> Rows:
    (by,) = options["sort"]
    names, rows = frame
    return names, sorted(rows, key=lambda row: row[by["field"]], reverse=by.get("desc", False))


def _matrix(frame: Rows, options: Mapping[str, Any]) -> Rows:
    """One row for each value of a label, one column for each value of another."""
    column, row, value = options["columnField"], options["rowField"], options["valueField"]
    first = f"{row}\\{column}"
    rows: dict[Any, Row] = {}
    for one in frame[1]:
        rows.setdefault(one[row], {first: one[row]})[str(one[column])] = one[value]
    return [first, *dict.fromkeys(str(one[column]) for one in frame[1])], list(rows.values())


_STEPS: dict[str, Callable[[Rows, Mapping[str, Any]], Rows]] = {
    "merge": lambda frame, _: frame,
    "organize": _organized,
    "convertFieldType": _converted,
    "sortBy": _sorted,
    "groupingToMatrix": _matrix,
}
