"""Rules of the store: what a scrape sees."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from loadgen.metrics.exposition import Exposition
from loadgen.metrics.store import Buckets, Store

CELL = ("s", "w", "mtp", "4")
TTFT = "loadgen_time_to_first_token_seconds"


def text(store: Store) -> str:
    """What Prometheus gets."""
    return generate_latest(store).decode()


def test_what_was_not_measured_is_absent() -> None:
    """A new store has no samples: no series is 0 for want of a value."""
    assert text(Store()) == ""
    assert Store().value("loadgen_draft_tokens_total", (*CELL, "segment")) is None


def test_counters_add_up_and_gauges_take_the_last_value() -> None:
    """Counting adds, setting replaces."""
    store = Store()
    store.count("loadgen_requests_total", (*CELL, "ok", "segment"))
    store.count("loadgen_requests_total", (*CELL, "ok", "segment"), 2)
    store.set("loadgen_agents_active", CELL, 4)
    store.set("loadgen_agents_active", CELL, 0)
    assert store.value("loadgen_requests_total", (*CELL, "ok", "segment")) == 3
    assert store.value("loadgen_agents_active", CELL) == 0
    labels = 'concurrency="4",outcome="ok",phase="segment",series="s",variant="mtp",workload="w"'
    assert f"loadgen_requests_total{{{labels}}} 3.0\n" in text(store)


def test_a_histogram_counts_a_value_at_its_edge_as_below_it() -> None:
    """`le` means less or equal, so that the bucket at a limit holds the requests that kept it."""
    store = Store()
    store.observe(TTFT, CELL, [0.02, 0.5, 60.0, 300.0, 5000.0])
    (family,) = [one for one in read_text(text(store)) if one.name == TTFT]
    below = {sample.labels["le"]: sample.value for sample in family.samples if sample.name.endswith("_bucket")}
    assert (below["0.01"], below["0.02"], below["0.5"], below["60.0"]) == (0, 1, 2, 3)
    assert (below["300.0"], below["1800.0"], below["+Inf"]) == (4, 4, 5)
    totals = {sample.name: sample.value for sample in family.samples if "le" not in sample.labels}
    assert totals == {f"{TTFT}_count": 5, f"{TTFT}_sum": 5360.52}


def test_limits_become_edges() -> None:
    """With an objective of 80 ms a token, the bucket of 0.08 s is there."""
    store = Store()
    store.take_limits({"tpot_s": [0.08]})
    store.observe("loadgen_time_per_output_token_seconds", CELL, [0.08, 0.0800001])
    assert 'le="0.08",series="s",variant="mtp",workload="w"} 1.0' in text(store)


def test_states_have_one_series_each() -> None:
    """The current state is 1, every other one 0, and none of them where none is."""
    store = Store()
    store.state("loadgen_verdict", CELL, "pays")
    held = {call: store.value("loadgen_verdict", (*CELL, call)) for call in ("pays", "costs", "same", "unresolved")}
    assert held == {"pays": 1, "costs": 0, "same": 0, "unresolved": 0}
    store.state("loadgen_verdict", CELL, None)
    assert store.value("loadgen_verdict", (*CELL, "pays")) == 0


def test_what_is_removed_is_absent() -> None:
    """All series whose labels begin with the given ones go, others stay."""
    store = Store()
    for variant, device in (("mtp", "a"), ("mtp", "b"), ("off", "a")):
        store.set("loadgen_memory_used_bytes", ("s", "w", variant, device), 1)
    store.remove("loadgen_memory_used_bytes", ("s", "w", "mtp"))
    assert store.size() == 1
    assert store.value("loadgen_memory_used_bytes", ("s", "w", "off", "a")) == 1


def test_series_are_bounded() -> None:
    """A metric has so many series at most; what comes beyond is left out, and what is there goes on."""
    store = Store(most=100)
    for number in range(10_000):
        store.count("loadgen_requests_total", ("s", "w", f"v{number}", "1", "ok", "segment"))
        store.set("loadgen_trials", ("s", "w", f"v{number}", "1"), 1)
        store.observe(TTFT, ("s", "w", f"v{number}", "1"), [1.0])
    assert store.size() == 300
    store.count("loadgen_requests_total", ("s", "w", "v0", "1", "ok", "segment"))
    assert store.value("loadgen_requests_total", ("s", "w", "v0", "1", "ok", "segment")) == 2


def test_changes_are_told_once() -> None:
    """What was touched since the last call, as it is now; a later value changes no earlier answer."""
    store = Store()
    store.observe(TTFT, CELL, [1.0])
    ((name, labels, value),) = store.take_changes()
    assert (name, labels) == (TTFT, CELL)
    store.observe(TTFT, CELL, [1.0])
    assert isinstance(value, Buckets)
    assert sum(value.counts) == 1
    assert len(store.take_changes()) == 1
    assert store.take_changes() == []


def test_exemplars_name_the_slowest_of_a_bucket_in_openmetrics_alone() -> None:
    """The id of a request is no label: it stands behind the bucket, where the format knows exemplars."""
    store = Store()
    store.observe(TTFT, CELL, [0.3], exemplar={"request": "r1-mtp-c4 agent 0 turn 2"})
    written = generate_openmetrics(store).decode()
    assert '# {request="r1-mtp-c4 agent 0 turn 2"} 0.3' in written
    assert "r1-mtp-c4" not in text(store)
    assert written.endswith("# EOF\n")


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_label_value_is_written_so_that_it_reads_back(variant: str, workload: str) -> None:
    """Quotes, backslashes and newlines are escaped, in both formats."""
    store = Store()
    series = ("s", workload.encode("utf-8", "replace").decode(), variant.encode("utf-8", "replace").decode(), "1")
    store.set("loadgen_trials", series, 3)
    for written in (read_text(text(store)), read_openmetrics(generate_openmetrics(store).decode())):
        (sample,) = [sample for family in written for sample in family.samples]
        assert (sample.labels["workload"], sample.labels["variant"], sample.value) == (*series[1:3], 3)


@pytest.fixture
def busy() -> Iterator[Store]:
    """A store that two threads write to all the time."""
    store, stop = Store(), threading.Event()

    def write(thread: int) -> None:
        number = 0
        while not stop.is_set():
            store.count("loadgen_requests_total", ("s", "w", f"v{thread}", str(number % 500), "ok", "segment"))
            store.remove("loadgen_memory_used_bytes", ("s",))
            store.set("loadgen_memory_used_bytes", ("s", "w", f"v{thread}", str(number % 500)), 1)
            number += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    yield store
    stop.set()
    for thread in threads:
        thread.join()


def test_a_scrape_reads_while_others_write(busy: Store) -> None:
    """Series that come and go in other threads break no scrape."""
    exposition = Exposition(busy)
    for _ in range(5):
        assert list(read_text(exposition.text())) is not None
