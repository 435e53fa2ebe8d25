"""Rules of memory: ledger, peak, margin."""

from typing import Any

import pytest

from loadgen.analysis.memory import memory
from loadgen.records.model import Component, Sample

_GIB = 1 << 30


def _sample(name: str, value: float | None, variant: str = "mtp", source: str = "process") -> Sample:
    return Sample(run="run", trial="t1", variant=variant, at_ns=0, source=source, name=name, value=value)


def test_the_peak_is_the_highest_sample_of_the_variant() -> None:
    """Other variants, unreadable samples and other sources don't count."""
    samples = [_sample("rss_bytes", 5.0), _sample("rss_bytes", 9.0), _sample("rss_bytes", None)]
    samples += [_sample("rss_bytes", 99.0, variant="off"), _sample("rss_bytes", 98.0, source="other")]
    found = memory("mtp", [], samples)
    assert (found["peak_bytes"], found["source"]) == (9, "process:rss_bytes")


def test_proportional_size_goes_before_resident_size() -> None:
    """Pages shared with other processes count once."""
    found = memory("mtp", [], [_sample("rss_bytes", 9.0), _sample("pss_bytes", 7.0)])
    assert (found["peak_bytes"], found["source"]) == (7, "process:pss_bytes")


def test_without_a_budget_safety_is_unknown() -> None:
    """No budget, or no sample: unknown, with null, never 0."""
    assert memory("mtp", [], [_sample("rss_bytes", 9.0)])["safety"] == "unknown"
    nothing = memory("mtp", [], [], budget_bytes=_GIB)
    assert (nothing["safety"], nothing["peak_bytes"], nothing["margin_bytes"]) == ("unknown", None, None)


@pytest.mark.parametrize(("budget", "used", "safety"), [(8, 7, "safe"), (8, 7.1, "unsafe"), (100, 95.1, "unsafe")])
def test_the_margin_asked_for_is_one_gib_or_5_percent(budget: int, used: float, safety: str) -> None:
    """The larger of the two."""
    found = memory("mtp", [], [_sample("rss_bytes", used * _GIB)], budget_bytes=budget * _GIB)
    assert found["safety"] == safety


def test_the_ledger_is_that_of_the_variants_own_load_log(make: Any) -> None:
    """The first start of the variant that has one."""
    line = Component(component="recurrent_state", bytes=27_525_120, source="log", device="CPU")
    found = memory("mtp", [make.start("off", ledger=[]), make.start("mtp"), make.start("mtp", ledger=[line])], [])
    assert len(found["ledger"]) == 1
    expected = {"component": "recurrent_state", "bytes": 27_525_120, "source": "log", "device": "CPU"}
    assert found["ledger"][0].items() >= expected.items()
