"""A dashboard's JSON and the answers to its questions as one HTML page, laid out by the dashboard's grid."""

from collections.abc import Mapping
from typing import Any

from dashboards.picture import blocks, charts
from dashboards.picture.markup import Markup, element
from dashboards.picture.shapes import Box
from dashboards.picture.source import Get, Series, Span, answers

WIDTH, CELL, GAP, HEAD, TOP = 1600, 30, 8, 30, 40
"""In pixels; cells and gaps are those of Grafana's grid, a panel's heading is as high as there."""
_STYLE = """
body{background:#111217;color:#ccccdc;font:12px/1.4 Inter,"DejaVu Sans",sans-serif;margin:0;position:relative}
h1{font-size:15px;font-weight:500;margin:0;padding:10px 12px;height:20px}
h1 small{color:#8e8e98;font-size:12px;margin-left:16px}
section{position:absolute;background:#181b1f;border:1px solid #2c3235;box-sizing:border-box;overflow:hidden}
section.row{background:none;border:none;font-weight:600;padding:5px 4px}
h2{font-size:13px;font-weight:500;margin:0;padding:5px 8px;height:18px;white-space:nowrap;overflow:hidden}
svg{display:block}
.empty{color:#8e8e98;text-align:center;padding-top:40px;font-size:14px}
.legend{padding:0 8px;line-height:18px;max-height:54px;overflow:hidden}
.key{margin-right:14px;white-space:nowrap}.key i{display:inline-block;width:14px;height:3px;margin:0 6px 3px 0}
.stat{display:flex;flex-wrap:wrap;justify-content:space-around;align-items:center;height:80%}
.value{text-align:center;padding:4px}.value span{display:block}.value b{font-size:28px;font-weight:500;color:#73bf69}
table{border-collapse:collapse;width:100%}td,th{padding:5px 8px;border-bottom:1px solid #2c3235;text-align:left;
white-space:nowrap}th{color:#6e9fff;font-weight:500}td.number{text-align:right}
"""


def page(board: Mapping[str, Any], span: Span, get: Get) -> tuple[Markup, int]:
    """The page and its height in pixels. Raises `OSError` where Prometheus refuses a question."""
    marks = _marks(board, span, get)
    panels = [_panel(panel, span, marks, get) for panel in board["panels"]]
    height = max(_box(panel).bottom for panel in board["panels"]) + GAP
    heading = element("h1", board["title"], element("small", board.get("description", "")))
    head = element("head", element("meta", charset="utf-8"), element("style", Markup(_STYLE)))
    body = element("body", heading, *panels, style=f"width:{WIDTH}px;height:{height:.0f}px")
    return Markup("<!doctype html>" + element("html", head, body)), round(height)


def _box(panel: Mapping[str, Any]) -> Box:
    """Where a panel lies on the page."""
    grid = panel["gridPos"]
    column = (WIDTH - GAP) / 24
    return Box(
        GAP + grid["x"] * column,
        TOP + grid["y"] * (CELL + GAP),
        grid["w"] * column - GAP,
        grid["h"] * (CELL + GAP) - GAP,
    )


def _panel(panel: Mapping[str, Any], span: Span, marks: list[float], get: Get) -> Markup:
    box = _box(panel)
    place = f"left:{box.left:.0f}px;top:{box.top:.0f}px;width:{box.width:.0f}px;height:{box.height:.0f}px"
    if panel["type"] == "row":
        return element("section", panel["title"], class_="row", style=place)
    found = {target["refId"]: answers(target, span, box.width, get) for target in panel["targets"]}
    body = _body(panel, found, span, marks, Box(0, 0, box.width - 2, box.height - HEAD))
    return element("section", element("h2", panel["title"]), body, style=place)


def _body(
    panel: Mapping[str, Any], found: Mapping[str, list[Series]], span: Span, marks: list[float], size: Box
) -> Markup:
    """What is below a heading. Raises `KeyError` for a kind of panel that isn't drawn here."""
    every = [one for several in found.values() for one in several]
    if not every:
        return element("div", panel["fieldConfig"]["defaults"].get("noValue", "No data"), class_="empty")
    if panel["type"] == "stat":
        return blocks.stat(panel, found)
    if panel["type"] == "table":
        return blocks.table(panel, found)
    if panel["type"] == "barchart":
        return blocks.bars(panel, found, size)
    draw = {"timeseries": charts.lines, "state-timeline": charts.states, "heatmap": charts.heatmap}[panel["type"]]
    return draw(panel, every, span, size, marks)


def _marks(board: Mapping[str, Any], span: Span, get: Get) -> list[float]:
    """When the annotations' questions have an answer: as often as their step says (Grafana's default: a minute)."""
    marks = []
    for one in board.get("annotations", {}).get("list", []):
        if one.get("expr"):
            step = float(one.get("step", "60s").removesuffix("s"))
            stepped = Span(span.begin, span.end, step)
            for series in answers(one, stepped, (span.end - span.begin) / step, get):
                marks += [at for at, _ in series.points]
    return marks
