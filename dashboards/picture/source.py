"""Questions of panels, put to Prometheus as Grafana puts them."""

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Get = Callable[[str, Mapping[str, object]], Any]
"""(path of the API, parameters) → the `result` of the answer."""
_STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
"""Grafana rounds its interval to one of these, in seconds (those that matter here)."""


@dataclass(frozen=True)
class Series:
    """One series of an answer: its name in legends, and (time, value) in seconds since the epoch."""

    name: str
    labels: dict[str, str]
    points: list[tuple[float, float]]


@dataclass(frozen=True)
class Span:
    """The time range of a page, and how often Prometheus scrapes (`timeInterval` of the data source), in seconds."""

    begin: float
    end: float
    scrape: float

    def interval(self, pixels: float) -> int:
        """`$__interval` of a panel of that width: one point a pixel, at least a scrape."""
        least = max((self.end - self.begin) / pixels, self.scrape)
        return next((step for step in _STEPS if step >= least), _STEPS[-1])


def prometheus(url: str) -> Get:
    """A Prometheus that answers over HTTP. Raises `OSError` where it doesn't."""

    def get(path: str, parameters: Mapping[str, object]) -> Any:
        asked = f"{url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(asked) as reply:  # noqa: S310 - the user's own Prometheus
            return json.load(reply)["data"]["result"]

    return get


def answers(target: Mapping[str, Any], span: Span, pixels: float, get: Get) -> list[Series]:
    """The series with which Prometheus answers one question (a panel's `target`), all variables being `All`."""
    step = span.interval(pixels)
    expression = _filled(target["expr"], span, step)
    if target.get("instant"):
        found = get("query", {"query": expression, "time": span.end})
        rows = [(one["metric"], [one["value"]]) for one in found]
    else:
        begin = span.begin - span.begin % step  # as Grafana aligns it
        found = get("query_range", {"query": expression, "start": begin, "end": span.end, "step": step})
        rows = [(one["metric"], [point for point in one["values"] if point[0] >= span.begin]) for one in found]
    return [
        Series(_name(target.get("legendFormat", ""), labels), labels, [(at, float(value)) for at, value in points])
        for labels, points in rows
    ]


def _filled(expression: str, span: Span, step: int) -> str:
    """An expression with its variables in place: every label matches, times are those of the page."""
    values = {
        "$__rate_interval": f"{max(step + span.scrape, 4 * span.scrape):g}s",
        "$__range": f"{max(round(span.end - span.begin), 1)}s",
        "$__interval": f"{step}s",
    }
    for variable, value in values.items():
        expression = expression.replace(variable, value)
    return re.sub(r'"\$\w+"', '".*"', expression)


def _name(legend: str, labels: Mapping[str, str]) -> str:
    if not legend:
        return "{" + ", ".join(f'{key}="{value}"' for key, value in labels.items()) + "}"
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: labels.get(found[1], ""), legend)
