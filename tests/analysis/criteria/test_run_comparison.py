"""Rules of holding two runs against each other."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.criteria.run_comparison import RunCall, compare_cells, compare_runs

SAME_NAMES = {"off": "off", "mtp": "mtp"}


def compared(first: Any, second: Any, **how: Any) -> dict[str, Any]:
    """The document of two runs whose variants have the same names."""
    return compare_runs(first, second, **{"names": SAME_NAMES, "min_effect": 0.05, **how})


def test_the_ratio_is_that_of_the_geometric_means_with_welchs_interval(make: Any) -> None:
    """Logs 0, 0.1, 0.2 against 0.3, 0.4, 0.5: exp(0.3 ± 2.776445·0.1·√(2/3))."""
    first = make.run({("off", 1): [100 * math.exp(x) for x in (0.0, 0.1, 0.2)]})
    second = make.run({("off", 1): [100 * math.exp(x) for x in (0.3, 0.4, 0.5)]})
    (one,) = compared(first, second, names={"off": "off"})["comparisons"]
    half = 2.776445 * 0.1 * math.sqrt(2 / 3)
    assert one["ratio"]["value"] == pytest.approx(math.exp(0.3), rel=1e-6)
    assert one["ratio"]["low"] == pytest.approx(math.exp(0.3 - half), rel=1e-5)
    assert one["ratio"]["high"] == pytest.approx(math.exp(0.3 + half), rel=1e-5)
    assert (one["n_a"], one["n_b"], one["ratio"]["n"], one["call"]) == (3, 3, 3, "faster")


@pytest.mark.parametrize(
    ("second", "call"),
    [
        ((1.50, 1.51, 1.49), RunCall.FASTER),
        ((0.70, 0.71, 0.69), RunCall.SLOWER),
        ((1.00, 1.01, 0.99), RunCall.SAME),
        ((1.02, 1.0201, 1.0199), RunCall.SAME),
        ((1.00, 1.60, 0.70), RunCall.UNRESOLVED),
        ((2.00, 2.00), RunCall.UNRESOLVED),
    ],
)
def test_each_call_has_its_case(second: tuple[float, ...], call: RunCall) -> None:
    """Surely above, surely below, within 5 % however surely, anywhere, and too few rounds."""
    logs = [math.log(x) for x in (1.0, 1.001, 0.999)], [math.log(x) for x in second]
    assert compare_cells({("off", 1): logs}, {"off": "off"}, 0.05)[0].call is call


def test_calls_are_adjusted_over_all_cells() -> None:
    """A cell that alone is faster (p = 0.04) isn't among four, and its simultaneous interval contains 1."""
    one = [0.0, 0.1, 0.2], [0.27, 0.38, 0.52]
    noise = [-0.3, 0.0, 0.3], [-0.2, 0.0, 0.3]
    alone = compare_cells({("off", 1): one}, {"off": "off"}, 0.05)[0]
    among = compare_cells({("off", n): one if n == 1 else noise for n in (1, 2, 4, 8)}, {"off": "off"}, 0.05)[0]
    assert (alone.call, among.call) == (RunCall.FASTER, RunCall.UNRESOLVED)
    assert among.p_adjusted == pytest.approx(4 * (alone.p_value or 0))
    assert among.sim_low is not None
    assert among.sim_low < 1 < alone.ratio["low"]


@given(
    st.lists(
        st.tuples(st.lists(st.floats(-2, 2), max_size=5), st.lists(st.floats(-2, 2), max_size=5)),
        min_size=1,
        max_size=4,
    ),
    st.floats(0.01, 0.5),
)
def test_a_call_never_contradicts_its_interval(cells: list[tuple[list[float], list[float]]], min_effect: float) -> None:
    """Faster lies above 1, slower below, same inside the band, and an unresolved simultaneous interval contains 1."""
    logs = {("off", n): pair for n, pair in enumerate(cells, start=1)}
    for one in compare_cells(logs, {"off": "off"}, min_effect):
        if one.p_value is None:
            assert one.call is RunCall.UNRESOLVED
            continue
        assert None not in (one.sim_low, one.sim_high, one.same_low, one.same_high)
        if one.call is RunCall.FASTER:
            assert one.ratio["low"] > 1 - 1e-9
        elif one.call is RunCall.SLOWER:
            assert one.ratio["high"] < 1 + 1e-9
        elif one.call is RunCall.SAME:
            assert 1 / (1 + min_effect) <= (one.same_low or 0) * (1 + 1e-9)
            assert (one.same_high or math.inf) <= (1 + min_effect) * (1 + 1e-9)
        else:
            assert (one.sim_low or 0) <= 1 + 1e-9 <= (one.sim_high or math.inf) + 2e-9


def test_cells_without_a_counterpart_are_listed(make: Any) -> None:
    """Levels and variants of one run alone are not compared, each with the run that has it."""
    first = make.run({("off", 1): [10.0] * 3, ("off", 2): [10.0] * 3, ("ngram", 1): [9.0] * 3})
    second = make.run({("off", 1): [10.0] * 3, ("off", 4): [10.0] * 3})
    found = compared(first, second, names={"off": "off"})
    assert [(one["variant"], one["concurrency"]) for one in found["comparisons"]] == [("off", 1)]
    assert [(one["run"], one["variant"], one["concurrency"]) for one in found["not_compared"]] == [
        ("a", "ngram", 1),
        ("a", "off", 2),
        ("b", "off", 4),
    ]


def test_variants_of_other_names_are_held_against_each_other_where_told(make: Any) -> None:
    """`names` maps the first run's variants to the second's."""
    first, second = make.run({("mtp", 1): [10.0] * 3}), make.run({("mtp-5", 1): [20.0] * 3})
    (one,) = compared(first, second, names={"mtp": "mtp-5"})["comparisons"]
    assert (one["variant"], one["variant_b"], one["call"]) == ("mtp", "mtp-5", "faster")
    assert one["ratio"]["value"] == pytest.approx(2)


def test_a_variant_that_answers_wrongly_is_not_compared(make: Any) -> None:
    """A failed output check of either run takes its cells out, with the reason."""
    tasks = {("off", 1): [10.0] * 3, ("mtp", 1): [20.0] * 3}
    second = make.run(tasks, checks=[make.check("mtp", crossed=True)])
    found = compared(make.run(tasks), second)
    assert [one["variant"] for one in found["comparisons"]] == ["off"]
    assert found["not_compared"] == [
        {"run": "b", "variant": "mtp", "concurrency": 1, "reason": "its output check failed"}
    ]


def test_speed_ups_differ_by_what_did_not_change_for_both(make: Any) -> None:
    """The whole machine 3 times as fast, and speculation 2 instead of 1.5: the ratio of the speed-ups is 4/3."""
    first = make.run({("off", 1): [10.0] * 3, ("mtp", 1): [15.0] * 3})
    second = make.run({("off", 1): [30.0] * 3, ("mtp", 1): [60.0] * 3})
    (one,) = compared(first, second)["speedups"]
    assert (one["variant"], one["concurrency"]) == ("mtp", 1)
    assert one["ratio"]["value"] == pytest.approx(4 / 3)
    assert compared(first, second, names={"mtp": "mtp"})["speedups"] == []


def test_other_quantities_are_described(make: Any) -> None:
    """Median TTFT of 0.1 s in both runs: a ratio of 1, without a call."""
    run = make.run({("off", 1): [10.0] * 3})
    described = {one["metric"]: one for one in compared(run, run, names={"off": "off"})["described"]}
    assert set(described) == {"median_ttft_s", "median_tpot_s", "output_tokens_per_s"}
    assert described["median_ttft_s"]["ratio"]["value"] == pytest.approx(1)
    assert "call" not in described["median_ttft_s"]


def test_the_document_is_strict_json_and_says_that_nothing_is_paired(make: Any) -> None:
    """Schema, both runs, and `paired` false; also with one round and with no valid trial."""
    first, second = make.run({("off", 1): [10.0], ("off", 2): [5.0]}), make.run({("off", 1): [11.0]})
    found = compared(first, second, names={"off": "off"})
    assert (found["schema"], found["paired"]) == ("loadgen-compare/1", False)
    assert found["comparisons"][0]["ratio"] == {
        "value": pytest.approx(1.1),
        "low": None,
        "high": None,
        "n": 1,
        "estimable": False,
    }
    assert make.strict_json(found)["a"]["id"] == "run"
