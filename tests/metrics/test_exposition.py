"""Rules of the text that scrapers read: the same as `prometheus_client` writes."""

from collections.abc import Iterable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from loadgen.metrics.exposition import Exposition
from loadgen.metrics.store import Store
from loadgen.metrics.table import METRICS, Kind

NAMES = st.text(st.sampled_from('ab"\\\n ä{}=,'), max_size=4)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64)
SECONDS = st.lists(st.floats(0, 4000), min_size=1, max_size=4)


@st.composite
def stores(draw: st.DrawFn) -> Store:
    """A store with some series of some metrics."""
    store = Store()
    for metric in draw(st.lists(st.sampled_from(METRICS), max_size=3, unique_by=lambda metric: metric.name)):
        for labels in draw(st.lists(st.tuples(*(NAMES for _ in metric.labels)), min_size=1, max_size=2, unique=True)):
            if metric.kind is Kind.HISTOGRAM:
                store.observe(metric.name, labels, draw(SECONDS), exemplar={"request": "r1 agent 0 turn 2"})
            elif metric.kind is Kind.COUNTER:
                store.count(metric.name, labels, draw(st.floats(0, 1e15)))
            else:
                store.set(metric.name, labels, 1 if metric.kind is Kind.INFO else draw(NUMBERS))
    return store


def plain(families: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """What a parser makes of a page: families, samples and exemplars."""
    for family in families:
        samples = sorted(
            (one.name, tuple(sorted(one.labels.items())), one.value, one.exemplar) for one in family.samples
        )
        yield family.name, family.type, family.documentation, samples


@settings(max_examples=20)
@given(stores())
def test_both_formats_are_those_of_the_client_library(store: Store) -> None:
    """Every name, type, help text, label, value and exemplar; only the order of lines is our own."""
    exposition = Exposition(store)
    ours, theirs = exposition.text(), generate_latest(store).decode()
    assert list(plain(read_text(ours))) == list(plain(read_text(theirs)))
    ours, theirs = exposition.text(openmetrics=True), generate_openmetrics(store).decode()
    assert list(plain(read_openmetrics(ours))) == list(plain(read_openmetrics(theirs)))


def test_a_page_is_made_anew_each_time() -> None:
    """What comes before a value is kept, values are not, and a series that is gone is gone."""
    store = Store()
    exposition = Exposition(store)
    store.set("loadgen_agents_active", ("s", "w", "mtp", "4"), 4)
    before = exposition.text()
    store.set("loadgen_agents_active", ("s", "w", "mtp", "4"), 3)
    assert exposition.text() == before.replace("} 4.0", "} 3.0")
    store.remove("loadgen_agents_active", ("s",))
    assert exposition.text() == ""
    assert exposition.text(openmetrics=True) == "# EOF\n"
