"""Rules of the table of metrics."""

import re
from pathlib import Path

import pytest

from loadgen.experiment.slo import parse_slo
from loadgen.metrics.buckets import COARSE, FINE, edges, limits
from loadgen.metrics.page import page
from loadgen.metrics.table import METRICS, PHASES, Kind, Metric
from loadgen.records.model import Phase

_BOUNDED = {"outcome", "phase", "device", "position", "component", "safety", "call", "state", "kind"}
_SHARED = {"series", "workload", "variant", "concurrency"}
_OF_THE_RUN = {"run", "model", "baseline", "server_build", "loadgen_version"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_names_follow_the_conventions(metric: Metric) -> None:
    """A prefix, `_total` for counters alone, base units, no colons, and a help text that can end in a stop."""
    assert re.fullmatch(r"loadgen_[a-z0-9_]+", metric.name)
    assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
    assert metric.name.endswith("_info") == (metric.kind is Kind.INFO)
    assert not re.search(r"_(ms|milliseconds|mib|percent|count|sum|bucket)(_|$)", metric.name)
    assert metric.help[0].isupper() or metric.help[0].isdigit()
    assert not metric.help.endswith(".")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_labels_are_the_shared_ones_and_bounded_ones(metric: Metric) -> None:
    """No label takes a value for each request, session or error text; the run's id is in its info alone."""
    assert metric.labels[0] == "series"
    allowed = _SHARED | _BOUNDED | (_OF_THE_RUN if metric.kind is Kind.INFO else set())
    assert set(metric.labels) <= allowed
    assert bool(metric.states) == (metric.kind is Kind.STATE)


def test_names_are_told_apart() -> None:
    """No two metrics share a name, also without what Prometheus adds to it."""
    assert len({metric.name.removesuffix("_total") for metric in METRICS}) == len(METRICS)


def test_the_phases_are_those_of_requests_and_the_pilot() -> None:
    """What a trial does has the names that requests have."""
    assert set(PHASES) == {"pilot", *(phase.value for phase in Phase)}


@pytest.mark.parametrize("base", [COARSE, FINE])
def test_buckets_span_a_millisecond_to_half_an_hour(base: tuple[float, ...]) -> None:
    """Ascending, from 1 ms to 1,800 s, and few enough for Prometheus."""
    assert list(base) == sorted(set(base))
    assert (base[0], base[-1]) == (0.001, 1800.0)
    assert len(base) < 30


def test_every_limit_of_an_objective_has_an_edge() -> None:
    """Only at an edge can the share of good requests be told exactly; a limit that is an edge already adds none."""
    objective = parse_slo("ttft=2s,tpot=80ms,task=10m,chat:ttft=700ms")
    found = limits(objective.model_dump())
    assert found == {"ttft_s": [2.0, 0.7], "tpot_s": [0.08], "task_s": [600.0]}
    assert edges(COARSE, found["ttft_s"]) == tuple(sorted((*COARSE, 0.7)))
    assert edges(FINE, found["tpot_s"]) == tuple(sorted((*FINE, 0.08)))
    assert edges(COARSE, ()) == COARSE
    assert limits(None) == {}
    assert {metric.limit for metric in METRICS if metric.edges} >= {f"{name}_s" for name in ("ttft", "tpot", "task")}


def test_the_page_is_made_from_the_table() -> None:
    """dashboards/metrics.md is what `python -m loadgen.metrics.page` writes."""
    assert Path("dashboards/metrics.md").read_text(encoding="utf-8") == page()
