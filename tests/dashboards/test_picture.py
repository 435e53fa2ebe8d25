"""Rules of the drawing of dashboards: the page shows what Prometheus answered. No browser, no Prometheus."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dashboards.picture.markup import Markup, element
from dashboards.picture.page import page
from dashboards.picture.shapes import ticks
from dashboards.picture.source import Span, answers
from dashboards.picture.tables import transformed
from dashboards.picture.units import written
from loadgen.dashboards.boards import BOARDS, file_of

SPAN = Span(1_000_000.0, 1_000_060.0, 5.0)
TARGET = {"expr": 'rate(a{x=~"$series"}[$__rate_interval])', "legendFormat": "{{variant}} at {{ concurrency }}"}
CELLS = [("mtp", "10", "3"), ("off", "10", "2"), ("off", "9", "1")]


def labelled(variant: str, concurrency: str) -> dict[str, str]:
    """All labels that a panel may name."""
    named = {"variant": variant, "concurrency": concurrency, "workload": "<b>&", "le": "0.5", "component": "kv"}
    return named | {"instance": "a:1", "device": "gpu0", "call": "pays", "run": "r", "series": "s", "position": "0"}


def get(path: str, parameters: Mapping[str, object]) -> Any:
    """Canned answers: two variants, one of them at two concurrencies."""
    del parameters
    points = [[SPAN.begin, "1"], [SPAN.begin + 5, "2"], [SPAN.begin + 20, "3"]]
    if path == "query":
        return [{"metric": labelled(v, c), "value": [SPAN.end, value]} for v, c, value in CELLS]
    return [{"metric": labelled(v, c), "values": points} for v, c, _ in CELLS]


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_every_committed_dashboard_is_drawn(board: Any) -> None:
    """Every panel has its heading, and a chart, a table or values; labels are escaped."""
    document = json.loads(Path(file_of(board)).read_text(encoding="utf-8"))
    drawn, height = page(document, SPAN, get)
    for panel in document["panels"]:
        assert f">{panel['title']}<" in drawn
    assert "<b>&" not in drawn
    assert "No data" not in drawn
    assert height > 1000
    assert drawn.count("<section") == len(document["panels"])


def test_a_panel_without_an_answer_says_so_in_its_own_words() -> None:
    """Nothing is drawn of nothing."""
    document = json.loads(Path("dashboards/grafana/loadgen-decision.json").read_text(encoding="utf-8"))
    drawn, _ = page(document, SPAN, lambda *_: [])
    assert "nothing is advised" in drawn
    assert "<svg" not in drawn
    assert "<td" not in drawn


def test_what_is_no_markup_is_escaped() -> None:
    """In text and in attributes."""
    made = element("p", "<i>&", element("b", "x"), class_='"', text_anchor="end")
    assert made == '<p class="&quot;" text-anchor="end">&lt;i&gt;&amp;<b>x</b></p>'
    assert isinstance(made, Markup)


def test_questions_are_put_as_grafana_puts_them() -> None:
    """All is chosen, the step fits the width but is no shorter than a scrape, and a rate spans four scrapes."""
    asked: list[tuple[str, Mapping[str, object]]] = []

    def noted(path: str, parameters: Mapping[str, object]) -> Any:
        asked.append((path, parameters))
        return get(path, parameters)

    found = answers(TARGET, SPAN, 600, noted)
    expected = {"query": 'rate(a{x=~".*"}[20s])', "start": SPAN.begin, "end": SPAN.end, "step": 5}
    assert asked == [("query_range", expected)]
    assert [one.name for one in found] == ["mtp at 10", "off at 10", "off at 9"]
    week = Span(SPAN.begin, SPAN.begin + 7 * 86400, 5.0)
    assert week.interval(1000) == 900


def test_lines_break_where_a_step_has_no_value() -> None:
    """Of three points two follow one another, and the third is a dot."""
    panel = {
        "type": "timeseries",
        "title": "t",
        "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8},
        "fieldConfig": {"defaults": {"unit": "s", "custom": {}}, "overrides": []},
        "targets": [{"refId": "A", **TARGET}],
    }
    drawn, _ = page({"title": "b", "panels": [panel]}, SPAN, get)
    assert len(re.findall("<polyline", drawn)) == len(re.findall("<circle", drawn)) == 3


def test_tables_are_sorted_by_number_and_named_by_their_headings() -> None:
    """9 agents come before 10; the columns stand in the panel's order, and time is hidden."""
    document = json.loads(Path("dashboards/grafana/loadgen-decision.json").read_text(encoding="utf-8"))
    (panel,) = [one for one in document["panels"] if one["title"] == "Calls"]
    found = {"A": answers({"expr": "", "instant": True}, SPAN, 600, get)}
    names, rows = transformed(panel, found)
    assert names[:4] == ["workload", "agents", "variant", "call"]
    assert [(row["agents"], row["variant"]) for row in rows] == [(9.0, "off"), (10.0, "mtp"), (10.0, "off")]


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (2104.4, "short", "2.10 K"),
        (2104.4, "locale", "2,104"),
        (0.835, "percentunit", "83.5%"),
        (1.374, "none", "1.37"),
        (4.0, "none", "4"),
        (0.0081, "s", "8.10 ms"),
        (0.0, "s", "0 s"),
        (1800.0, "s", "30 mins"),
        (60.0, "s", "1 mins"),
        (64 * 2.0**20, "bytes", "64 MiB"),
        (250.0, "watt", "250 W"),
        (1e15, "short", "1000 Tri"),
        (1_790_000_000_000.0, "dateTimeAsIso", "2026-09-21 14:13:20"),
        (float("nan"), "short", "-"),
        (float("inf"), "s", "∞"),
    ],
)
def test_numbers_are_written_as_grafana_does(value: float, unit: str, said: str) -> None:
    """In the panel's unit, with as many decimals as the value needs."""
    assert written(value, unit) == said


def test_ticks_embrace_the_values() -> None:
    """Round ones; of bytes in powers of 2, of no values at all from 0 to 1."""
    assert ticks(0.0, 4.9, "short") == [0, 1, 2, 3, 4, 5]
    assert ticks(0.0, 100.0, "bytes") == [0, 32, 64, 96, 128]
    assert ticks(0.0, 0.0, "percentunit") == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
