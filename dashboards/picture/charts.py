"""Panels over time: lines, states and heatmaps."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from dashboards.picture.markup import Markup, element
from dashboards.picture.shapes import (
    GRID,
    NAMED,
    TEXT,
    Axis,
    Box,
    colour,
    drawing,
    legend,
    line,
    rectangle,
    text,
    ticks,
)
from dashboards.picture.source import Series, Span
from dashboards.picture.units import written

_LEFT, _BOTTOM, _LEGEND, _ROW = 64, 20, 18, 14


def moments(span: Span, box: Box) -> tuple[Axis, list[Markup]]:
    """The axis of time, with its labels in UTC and lines up from them."""
    axis = Axis(span.begin, span.end, box.left, box.right)
    length = span.end - span.begin
    step = next((one for one in (5, 15, 30, 60, 300, 600, 1800, 3600, 21600) if length / one <= box.width / 90), 86400)
    shape = "%H:%M:%S" if step < 60 else "%H:%M" if length < 86400 else "%m/%d %H:%M"  # noqa: PLR2004 - minute, day
    parts = []
    for number in range(math.ceil(span.begin / step), math.floor(span.end / step) + 1):
        x = axis.at(number * step)
        parts.append(line(x, box.top, x, box.bottom))
        parts.append(text(x, box.bottom + 14, f"{datetime.fromtimestamp(number * step, UTC):{shape}}", anchor="middle"))
    return axis, parts


def lines(panel: Mapping[str, Any], found: Sequence[Series], span: Span, size: Box, marks: Sequence[float]) -> Markup:
    """Lines that break where a step has no value; a value between two gaps is a dot."""
    defaults = panel["fieldConfig"]["defaults"]
    styles = [_style(panel, one.name, colour(number)) for number, one in enumerate(found)]
    listed = [(one.name, style["stroke"]) for one, style in zip(found, styles, strict=True) if style.pop("listed")]
    rows = min(math.ceil(sum(len(name) * 6.6 + 30 for name, _ in listed) / (size.width - 60)), 3)
    box = Box(_LEFT, 6, size.width - _LEFT - 8, size.height - 6 - _BOTTOM - rows * _LEGEND)
    values = [value for one in found for _, value in one.points if math.isfinite(value)]
    unit = defaults.get("unit", "none")
    levels = ticks(defaults.get("min", min(values)), defaults.get("max", max(values)), unit)
    up = Axis(levels[0], levels[-1], box.bottom, box.top)
    across, parts = moments(span, box)
    for level in levels:
        parts.append(line(box.left, up.at(level), box.right, up.at(level)))
        said = written(level, unit, defaults.get("decimals"))
        parts.append(text(box.left - 6, up.at(level) + 4, said, anchor="end"))
    parts += [
        line(across.at(at), box.top, across.at(at), box.bottom, "#8e8e98", stroke_dasharray="3 3") for at in marks
    ]
    joined = defaults["custom"].get("spanNulls") is True
    step = math.inf if joined else span.interval(size.width)
    for one, style in zip(found, styles, strict=True):
        for piece in _pieces(one.points, step):
            path = " ".join(f"{across.at(at):.1f},{up.at(value):.1f}" for at, value in piece)
            dots = path.split() if len(piece) == 1 or joined else []
            for x, y in (dot.split(",") for dot in dots):
                parts.append(element("circle", cx=x, cy=y, r=2.5, fill=style["stroke"]))
            if len(piece) > 1:
                parts.append(element("polyline", points=path, fill="none", stroke_width=1.5, **style))
    chart = drawing(size.width, size.height - rows * _LEGEND, parts)
    return element("div", chart, legend(listed))


def _style(panel: Mapping[str, Any], name: str, tint: str) -> dict[str, Any]:
    """What the panel's overrides make of a line."""
    style: dict[str, Any] = {"stroke": tint, "listed": True}
    for one in panel["fieldConfig"]["overrides"]:
        if one["matcher"]["id"] == "byRegexp" and re.search(one["matcher"]["options"], name):
            for setting in one["properties"]:
                if setting["id"] == "custom.lineStyle":
                    style["stroke_dasharray"] = " ".join(map(str, setting["value"]["dash"]))
                elif setting["id"] == "color":
                    style["stroke"] = NAMED[setting["value"]["fixedColor"]]
                elif setting["id"] == "custom.hideFrom":
                    style["listed"] = not setting["value"]["legend"]
    return style


def _pieces(points: Sequence[tuple[float, float]], step: float) -> list[list[tuple[float, float]]]:
    """Points that follow one another without a gap."""
    pieces: list[list[tuple[float, float]]] = []
    before = -math.inf
    for at, value in points:
        if not math.isfinite(value):
            continue
        if not pieces or at - before > 1.5 * step:
            pieces.append([])
        pieces[-1].append((at, value))
        before = at
    return pieces


def states(panel: Mapping[str, Any], found: Sequence[Series], span: Span, size: Box, marks: Sequence[float]) -> Markup:
    """A bar for each series, in the colours of its states; equal neighbours are one."""
    known = panel["fieldConfig"]["defaults"]["mappings"][0]["options"]
    names = max(len(one.name) for one in found) * 6.6 + 12
    shown = bool(panel["options"]["legend"]["showLegend"])
    box = Box(names, 6, size.width - names - 8, size.height - 6 - _BOTTOM - _LEGEND * shown)
    across, parts = moments(span, box)
    step, height = span.interval(size.width), box.height / len(found)
    for number, one in enumerate(found):
        top = box.top + number * height
        parts.append(text(box.left - 6, top + height / 2 + 4, one.name, TEXT, "end"))
        for begin, end, value in _spells(one.points, step):
            state = known[f"{value:g}"]
            x, width = across.at(begin), across.at(min(end, span.end)) - across.at(begin)
            parts.append(rectangle(x, top + height * 0.1, width, height * 0.8, NAMED[state["color"]], opacity=0.8))
            if width > len(state["text"]) * 6.5 + 6:
                parts.append(text(x + 4, top + height / 2 + 4, state["text"], "#111217"))
    parts += [
        line(across.at(at), box.top, across.at(at), box.bottom, "#8e8e98", stroke_dasharray="3 3") for at in marks
    ]
    chart = drawing(size.width, size.height - _LEGEND * shown, parts)
    keys = [(one["text"], NAMED[one["color"]]) for one in known.values()]
    return element("div", chart, *([legend(keys)] if shown else []))


def _spells(points: Sequence[tuple[float, float]], step: float) -> list[tuple[float, float, float]]:
    """(begin, end, value) of neighbours with one value; each point lasts a step."""
    spells: list[tuple[float, float, float]] = []
    for at, value in points:
        if spells and spells[-1][2] == value and at - spells[-1][1] < step / 2:
            spells[-1] = (spells[-1][0], at + step, value)
        else:
            spells.append((at, at + step, value))
    return spells


def heatmap(panel: Mapping[str, Any], found: Sequence[Series], span: Span, size: Box, _: Sequence[float]) -> Markup:
    """A cell for each bucket and step: what the bucket has beyond the one below it. Rows are evenly high."""
    buckets = sorted(found, key=lambda one: float(one.name))
    per = [dict(one.points) for one in buckets]
    own = [per[0]] + [{at: value - low.get(at, 0) for at, value in high.items()} for low, high in pairwise(per)]
    unit = panel["options"]["yAxis"].get("unit", "short")
    box = Box(_LEFT, 6, size.width - _LEFT - 8, size.height - 6 - _BOTTOM)
    across, parts = moments(span, box)
    most = max((value for one in own for value in one.values()), default=0) or 1
    height, step = box.height / len(own), span.interval(size.width)
    for number, (bucket, cells) in enumerate(zip(buckets, own, strict=True)):
        top = box.bottom - (number + 1) * height
        if number % math.ceil(14 / height) == 0:
            parts.append(text(box.left - 6, top + 4, written(float(bucket.name), unit), anchor="end"))
            parts.append(line(box.left, top, box.right, top, GRID))
        for at, value in cells.items():
            if value > 1e-9:  # noqa: PLR2004 - what subtraction leaves
                width = across.at(at + step) - across.at(at)
                parts.append(
                    rectangle(across.at(at), top, width, height, "#ff780a", opacity=0.25 + 0.75 * value / most)
                )
    return drawing(size.width, size.height, parts)
