"""Runs that say little, or too much: what a capacity makes of them, and what it never recommends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.capacity.prices import Prices
from loadgen.analysis.capacity.servers import Demand
from loadgen.records.model import Sample
from loadgen.units import BYTES_PER_GIB
from tests.analysis.carried import MAKE, STEADY, TWO, Cell, carried, entry, found, times
from tests.analysis.deep import with_prompts


def test_one_level_is_all_that_is_known() -> None:
    """Within or not, and nothing beside it."""
    kept = found(carried({("off", 4): Cell(STEADY, (1.0,))}))
    assert (entry(kept, "off")["largest"]["value"], entry(kept, "off")["largest"]["open_high"]) == (4, True)
    assert entry(kept, "off")["servers"]["most"] == 13
    missed = found(carried({("off", 4): Cell(STEADY, (3.0,))}))
    assert (entry(missed, "off")["largest"]["value"], entry(missed, "off")["largest"]["ends"]) == (None, "below")
    assert (missed["answer"]["keep"], missed["answer"]["call"], missed["best"][0]["call"]) == (None, "none", "none")
    assert missed["answer"]["misses"] == ["off"]
    assert missed["answer"]["text"] == (
        "Nothing can be recommended for 40 agents with 20 % headroom. off: the limits are kept at no measured level."
    )


def test_too_few_requests_for_a_percentile_are_not_kept() -> None:
    """4 agents with 2 turns in 3 rounds are 24 requests, and p95 takes 59."""
    document = found(carried({("off", 4): Cell(STEADY, (1.0,), sessions=2)}))
    off = entry(document, "off")
    assert (off["largest"]["value"], off["largest"]["ends"]) == (None, "not_told")
    assert off["largest"]["reason"] == "24 values are too few for p95"
    assert (document["best"][0]["call"], document["best"][0]["not_told"]) == ("unresolved", ["off"])
    assert document["answer"]["not_told"] == ["off"]
    assert document["answer"]["text"].endswith("How many servers off would take can't be told.")


def test_a_variant_that_misses_a_level_is_interpolated_over_those_it_has() -> None:
    """`mtp` at 8 was never tried: 4 and 16 tell; and at 8 it leaves the best open."""
    cells = {**TWO, ("off", 8): Cell(times(1.4), (1.5,))}
    document = found(carried(cells))
    assert entry(document, "mtp")["largest"]["value"] == 16
    (at_8,) = [one for one in document["best"] if one["concurrency"] == 8]
    assert (at_8["keep"], at_8["call"], at_8["not_told"]) == (None, "unresolved", ["mtp"])


def test_a_level_of_which_no_trial_counts_ends_what_is_known() -> None:
    """The server died there: 4 agents, and why."""
    cells = {**TWO, ("mtp", 16): Cell(times(4.0), (1.0,), alive=False), ("mtp", 32): Cell(times(8.0), (1.0,))}
    mtp = entry(found(carried(cells)), "mtp")
    assert (mtp["largest"]["value"], mtp["largest"]["ends"], mtp["largest"]["at"]) == (4, "not_told", 16)
    assert mtp["largest"]["reason"] == "none of its 3 trials counts"
    assert mtp["excluded"] == []


def test_a_curve_that_is_not_monotone_counts_to_its_first_miss() -> None:
    """8 agents miss it, 16 keep it again: that is told, and promises nothing."""
    cells = {("off", level): Cell(STEADY, (ttft,)) for level, ttft in ((2, 1.0), (8, 4.0), (16, 1.0))}
    off = entry(found(carried(cells)), "off")
    assert (off["largest"]["value"], off["kept_again"]) == (4, [16])


def test_rounds_without_any_spread_are_fine() -> None:
    """Zero variance: an interval of no width."""
    cells = {(name, level): Cell([100.0 * level] * 3, (1.0,)) for name in ("off", "mtp") for level in (4, 16)}
    document = found(carried(cells))
    rate = entry(document, "off")["tasks_per_hour"]
    assert (rate["low"], rate["high"]) == (pytest.approx(rate["value"]), pytest.approx(rate["value"]))
    assert [(one["keep"], one["call"]) for one in document["best"]] == [("off", "alike"), ("off", "alike")]
    assert (document["answer"]["keep"], document["answer"]["call"]) == ("off", "alike")
    assert document["answer"]["text"].endswith("mtp would do as well.")


def test_all_requests_of_one_variant_failed() -> None:
    """It is never recommended, and says why; the other is."""
    cells = {**TWO, **{("mtp", level): Cell(STEADY, failed=20 * level) for level in (4, 16)}}
    document = found(carried(cells))
    mtp = entry(document, "mtp")
    assert mtp["excluded"] == ["No trial of mtp counts, of 6 (failures in 6)."]
    assert (mtp["largest"]["value"], mtp["tasks_per_hour"]["value"]) == (None, None)
    assert (document["answer"]["keep"], document["answer"]["call"]) == ("off", "alone")
    assert [one["keep"] for one in document["best"]] == ["off", None]


def test_every_trial_is_invalid() -> None:
    """Nothing is recommended."""
    document = found(carried({("off", 4): Cell(STEADY, alive=False)}))
    assert entry(document, "off")["excluded"] == ["No trial of off counts, of 3 (server_died in 3)."]
    assert (document["answer"]["keep"], document["answer"]["call"]) == (None, "none")
    assert document["answer"]["text"] == "No variant may be recommended."
    assert document["best"] == []


def test_wrong_answers_are_never_recommended() -> None:
    """Nothing is said of how many agents they would carry."""
    document = found(carried(TWO, checks=[MAKE.check("off"), MAKE.check("mtp", crossed=True)], check_output="on"))
    mtp = entry(document, "mtp")
    assert mtp["excluded"] == ["The output check failed for mtp: agent 0 got text of agent 1's session on slot 0."]
    assert (mtp["levels"], mtp["largest"]["value"], mtp["servers"]["most"]) == ([], None, None)
    assert document["answer"]["keep"] == "off"
    assert entry(document, "off")["not_known"] == ["whether memory suffices for off (no memory was seen)"]


def test_what_would_not_fit_the_memory_is_never_recommended() -> None:
    """20 GiB were used: safe with 24, unsafe with 20.5; --memory goes before the run's own budget."""
    samples = [
        Sample(
            run="run", trial=f"r1-{name}-c4", variant=name, at_ns=at, source="process", name="rss_bytes",
            value=float((20 if name == "mtp" else 10) * BYTES_PER_GIB),
        )
        for name in ("off", "mtp")
        for at in (0, 10**9)
    ]  # fmt: skip
    run = carried(TWO, samples=samples, memory_budget_bytes=32 * BYTES_PER_GIB)
    assert entry(found(run), "mtp")["excluded"] == []
    document = found(run, memory_budget_bytes=round(20.5 * BYTES_PER_GIB))
    (reason,) = entry(document, "mtp")["excluded"]
    assert reason.startswith("mtp is unsafe in memory, whatever its speed: 512 MiB of 20,992 MiB are left at its peak")
    assert (document["answer"]["keep"], document["answer"]["call"]) == ("off", "alone")
    assert entry(document, "off")["not_known"] == [
        "whether answers of off keep to their session (the output check was off)"
    ]


def test_a_diagnostic_is_no_candidate() -> None:
    """Its acceptance was set, or it drafts nothing."""
    variants = [
        {"kind": "launch", "name": "off", "args": []},
        {"kind": "launch", "name": "mtp", "args": ["--spec-synth-len", "3.5"]},
        {"kind": "launch", "name": "idle", "args": [], "overhead": True},
    ]
    cells = {**TWO, ("idle", 4): Cell(STEADY, (1.0,))}
    document = found(carried(cells, variants=variants))
    assert entry(document, "mtp")["excluded"] == ["mtp is a diagnostic: its acceptance was set."]
    assert entry(document, "idle")["excluded"] == [
        "idle is a diagnostic: it drafts nothing and shows what loading speculation costs."
    ]
    assert document["answer"]["keep"] == "off"


def test_a_variant_that_was_never_measured_is_named() -> None:
    """It is in the experiment, and has no trial."""
    variants = [{"kind": "url", "name": name} for name in ("off", "gone")]
    gone = entry(found(carried({("off", 4): Cell(STEADY, (1.0,))}, variants=variants)), "gone")
    assert gone["excluded"] == ["gone was never measured."]
    assert (gone["levels"], gone["largest"]["value"], gone["slots"]) == ([], None, None)


def test_cells_of_unequal_depth_leave_the_best_open() -> None:
    """The run calls nothing there, and neither does its capacity."""
    run = with_prompts(carried(TWO), {"off": 1000, "mtp": 2000})
    assert [(one["call"], one["among"]) for one in found(run, None)["best"]] == [("unresolved", ["off", "mtp"])] * 2


_CELLS = st.builds(
    Cell,
    rates=st.lists(st.floats(1.0, 1e4), min_size=1, max_size=3),
    ttft=st.lists(st.floats(0.001, 0.3), min_size=1, max_size=4),
    sessions=st.integers(1, 3),
    failed=st.integers(0, 3),
    alive=st.integers(0, 9).map(bool),
)


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.tuples(st.sampled_from(["off", "mtp", "ngram"]), st.integers(1, 4)), _CELLS, min_size=1),
    st.sampled_from([None, "ttft_p50<100ms", "ttft_p50<50ms,tpot_max<1s,task_p50<9m", "ttft=100ms,task=9m"]),
    st.integers(1, 200),
)
def test_whatever_was_measured_has_an_answer(cells: dict[tuple[str, int], Cell], slo: str | None, agents: int) -> None:
    """Strict JSON; no variant is kept that is excluded; servers that surely are enough are those of the answer."""
    document = found(carried(cells), slo, demand=Demand(agents=agents), prices=Prices(1.0, 0.3))
    keep = document["answer"]["keep"]
    if keep is not None:
        kept = entry(document, keep)
        assert kept["excluded"] == []
        assert document["answer"]["servers"] == kept["servers"]["total"] >= 2
    for one in document["variants"]:
        levels = [level["concurrency"] for level in one["levels"]]
        assert one["largest"]["value"] is None or levels[0] <= one["largest"]["value"] <= levels[-1]
