"""Rules of what the report's figures become: the same numbers, and nothing where it has none."""

from collections.abc import Sequence
from typing import Any

import pytest

from loadgen.analysis.summary import summarise
from loadgen.metrics.results import Results
from loadgen.metrics.scope import Scope
from loadgen.metrics.store import Store
from tests.analysis.conftest import Maker

MAKE = Maker()
_RATES: dict[tuple[str, int], Sequence[float]] = {
    ("off", 1): [11.11] * 3,
    ("mtp", 1): [21.22] * 3,
    ("off", 2): [20.14] * 3,
    ("mtp", 2): [15.87] * 3,
}


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    """A run in which mtp pays at one agent and costs at two."""
    return summarise(MAKE.run(_RATES, slo={"ttft_s": 1.0, "attainment": 0.95}))


def shown(summary: dict[str, Any]) -> Store:
    """The metrics of a summary."""
    store = Store()
    Results(store, Scope("s", "chat")).show(summary)
    return store


def cell(variant: str, level: int, *more: str) -> tuple[str, ...]:
    """The labels of a cell."""
    return ("s", "chat", variant, str(level), *more)


def test_cells_have_the_figures_of_the_summary(summary: dict[str, Any]) -> None:
    """Value and bounds are those of `summary.json`, to the last digit."""
    store = shown(summary)
    for one in summary["cells"]:
        labels = cell(one["variant"], one["concurrency"])
        for key in ("tasks_per_hour", "requests_per_hour"):
            assert store.value(f"loadgen_{key}", labels) == one[key]["value"]
            assert store.value(f"loadgen_{key}_lower", labels) == one[key]["low"]
            assert store.value(f"loadgen_{key}_upper", labels) == one[key]["high"]
        assert store.value("loadgen_trials_valid", labels) == 3
        assert store.value("loadgen_slo_attainment_ratio", labels) == 1


def test_figures_that_are_null_have_no_series(summary: dict[str, Any]) -> None:
    """Nothing was drafted and no memory was seen: no acceptance, no margin; the baseline has no speed-up."""
    store = shown(summary)
    assert store.value("loadgen_acceptance_ratio", cell("mtp", 1)) is None
    assert store.value("loadgen_memory_margin_bytes", ("s", "chat", "mtp")) is None
    assert store.value("loadgen_verdict_keep", ("s", "chat", "mtp")) is None
    assert store.value("loadgen_speedup_ratio", cell("off", 1)) is None
    assert store.value("loadgen_memory_safety", ("s", "chat", "mtp", "unknown")) == 1


def test_speed_ups_have_their_call_as_a_state(summary: dict[str, Any]) -> None:
    """One of the calls is 1, the others are 0; the speed-up is that of the headline."""
    store = shown(summary)
    assert store.value("loadgen_speedup_ratio", cell("mtp", 1)) == pytest.approx(1.910, abs=5e-4)
    assert store.value("loadgen_verdict", cell("mtp", 1, "pays")) == 1
    assert store.value("loadgen_verdict", cell("mtp", 1, "costs")) == 0
    assert store.value("loadgen_verdict", cell("mtp", 2, "costs")) == 1
    crossover = store.value("loadgen_crossover_concurrency", ("s", "chat", "mtp"))
    assert crossover == summary["crossovers"][0]["concurrency"]["value"]
    assert store.value("loadgen_crossover", ("s", "chat", "mtp", "at")) == 1


def test_a_void_comparison_has_no_speed_up(summary: dict[str, Any]) -> None:
    """Of a variant whose output check failed no speed is told; what an earlier look had shown is taken out."""
    store = shown(summary)
    void = {**summary, "comparisons": [{**one, "void": True} for one in summary["comparisons"]]}
    Results(store, Scope("s", "chat")).show(void)
    assert store.value("loadgen_speedup_ratio", cell("mtp", 1)) is None
    assert store.value("loadgen_verdict", cell("mtp", 1, "void")) == 1
    assert store.value("loadgen_verdict", cell("mtp", 1, "pays")) == 0


def test_what_cannot_be_compared_is_refused(summary: dict[str, Any]) -> None:
    """A comparison without a call, of cells at other depths say, is neither unresolved nor missing."""
    refused = {**summary, "comparisons": [{**one, "call": None} for one in summary["comparisons"]]}
    store = shown(refused)
    assert store.value("loadgen_verdict", cell("mtp", 1, "refused")) == 1
    assert store.value("loadgen_verdict", cell("mtp", 1, "unresolved")) == 0


def test_the_variant_to_keep_is_1(summary: dict[str, Any]) -> None:
    """The others are 0; where a later look advises nothing, all are absent again."""
    store = shown({**summary, "verdict": {"keep": "mtp"}})
    assert store.value("loadgen_verdict_keep", ("s", "chat", "mtp")) == 1
    assert store.value("loadgen_verdict_keep", ("s", "chat", "off")) == 0
    Results(store, Scope("s", "chat")).show(summary)
    assert store.value("loadgen_verdict_keep", ("s", "chat", "mtp")) is None
