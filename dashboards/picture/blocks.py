"""Panels of one moment: single values, tables and bars."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.picture.markup import Markup, element
from dashboards.picture.shapes import FONT, TEXT, Axis, Box, colour, drawing, legend, line, rectangle, text, ticks
from dashboards.picture.source import Series
from dashboards.picture.tables import transformed
from dashboards.picture.units import written

Found = Mapping[str, Sequence[Series]]
_LEFT, _BOTTOM, _LEGEND = 72, 20, 18


def stat(panel: Mapping[str, Any], found: Found) -> Markup:
    """The last value of each series, with its name where the panel asks for it."""
    defaults, mode = panel["fieldConfig"]["defaults"], panel["options"]["textMode"]
    items = []
    for one in (one for several in found.values() for one in several):
        value = written(one.points[-1][1], defaults["unit"], defaults.get("decimals"))
        if mode == "name":
            items.append(element("div", element("b", one.name), class_="value"))
        else:
            items.append(element("div", element("span", one.name), element("b", value), class_="value"))
    return element("div", *items, class_="stat")


def table(panel: Mapping[str, Any], found: Found) -> Markup:
    """Rows and columns as the panel's transformations make them, each column in its unit."""
    names, rows = transformed(panel, found)
    head = element("tr", *(element("th", name) for name in names))
    body = [element("tr", *(_cell(panel, name, row.get(name)) for name in names)) for row in rows]
    return element("table", head, *body)


def _cell(panel: Mapping[str, Any], name: str, value: str | float | None) -> Markup:
    if value is None or isinstance(value, str):
        return element("td", value or "")
    config = {**panel["fieldConfig"]["defaults"]}
    for one in panel["fieldConfig"]["overrides"]:
        if one["matcher"] == {"id": "byName", "options": name}:
            config |= {setting["id"]: setting["value"] for setting in one["properties"]}
    return element("td", written(value, config["unit"], config.get("decimals")), class_="number")


def bars(panel: Mapping[str, Any], found: Found, size: Box) -> Markup:
    """Groups of bars: a row of the table is a group, its columns are the bars in it, beside or upon one another."""
    names, rows = transformed(panel, found)
    group, series = names[0], names[1:]
    stacked = panel["options"]["stacking"] != "none"
    defaults = panel["fieldConfig"]["defaults"]
    heights = [sum(row.get(name, 0.0) for name in series) for row in rows]
    values = heights if stacked else [row[name] for row in rows for name in series if name in row]
    below = _LEGEND if panel["options"]["legend"]["showLegend"] else 0
    box = Box(_LEFT, 16, size.width - _LEFT - 8, size.height - 16 - _BOTTOM - below)
    levels = ticks(min(0.0, *values), defaults.get("max", max(0.0, *values)), defaults["unit"])
    up, parts = Axis(levels[0], levels[-1], box.bottom, box.top), []
    for level in levels:
        parts.append(line(box.left, up.at(level), box.right, up.at(level)))
        parts.append(text(box.left - 6, up.at(level) + 4, _said(level, defaults), anchor="end"))
    room = box.width / len(rows)
    inner = room * panel["options"]["groupWidth"]
    for at, row in enumerate(rows):
        middle = box.left + (at + 0.5) * room
        named = row[group] if isinstance(row[group], str) else f"{row[group]:g}"
        parts.append(text(middle, box.bottom + 14, named, TEXT, "middle"))
        parts += _group(row, series, Box(middle - inner / 2, box.top, inner, box.height), up, defaults, stacked=stacked)
    chart = drawing(size.width, size.height - below, parts)
    return element("div", chart, *([legend([(name, colour(at)) for at, name in enumerate(series)])] if below else []))


def _group(
    row: Mapping[str, Any], series: Sequence[str], box: Box, up: Axis, defaults: Mapping[str, Any], *, stacked: bool
) -> list[Markup]:
    """The bars of one group. A value is written where it has room."""
    parts = []
    width, base = box.width if stacked else box.width / len(series), 0.0
    for number, name in enumerate(series):
        if name not in row:
            continue
        x, top = box.left + (0 if stacked else number * width), up.at(base + row[name])
        height = up.at(base) - top
        parts.append(rectangle(x + 1, top, width - 2, height, colour(number), opacity=0.8))
        if not stacked or height > FONT + 2:
            y = top + height / 2 + 4 if stacked else top - 4
            parts.append(text(x + width / 2, y, _said(row[name], defaults), "#111217" if stacked else TEXT, "middle"))
        base += row[name] if stacked else 0.0
    return parts


def _said(value: float, defaults: Mapping[str, Any]) -> str:
    return written(value, defaults["unit"], defaults.get("decimals"))
