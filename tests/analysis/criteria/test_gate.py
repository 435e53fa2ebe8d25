"""Rules of the gate: what passes, what fails, and what can't be told."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.criteria.figure import Figure, figure
from loadgen.analysis.criteria.gate import _bounds, _judged, gate
from loadgen.analysis.criteria.threshold import METRICS, parse_threshold
from loadgen.analysis.estimators.intervals import t_quantile
from loadgen.analysis.summary import summarise

LN_LIMIT = math.log(0.97)


def summary(logs: Mapping[int, Sequence[float]], **changes: Any) -> dict[str, Any]:
    """As much of a summary as non-inferiority reads: `good` and `new` with these dᵣ by concurrency."""
    plain: dict[str, Any] = {
        "run": {"baseline": "good"},
        "cells": [
            {"variant": name, "concurrency": level, "started": 8, "trials": len(rounds), "valid_trials": len(rounds)}
            for level, rounds in logs.items()
            for name in ("good", "new")
        ],
        "comparisons": [
            {
                "variant": "new", "concurrency": level, "metric": "tasks_per_hour", "rounds": list(rounds),
                "speedup": {
                    "value": math.exp(sum(rounds) / len(rounds)) if rounds else None, "low": None, "high": None,
                    "n": len(rounds),
                },
            }
            for level, rounds in logs.items()
        ],
        "latency_comparisons": [], "output_check": [], "memory": [],
    }  # fmt: skip
    return {**plain, **changes}


def held(logs: Mapping[int, Sequence[float]], at_least: float = 0.97) -> dict[str, Any]:
    """The gate of these dᵣ."""
    return gate(summary(logs), at_least=at_least)


def test_the_lower_bound_is_one_sided_and_of_its_level_alone() -> None:
    """Logs 0.1, 0.2, 0.3: exp(0.2 − 2.919986·0.1/√3), however many levels there are."""
    low = math.exp(0.2 - 2.919986 * 0.1 / math.sqrt(3))
    alone = held({1: (0.1, 0.2, 0.3)})["criteria"][0]
    among = held({1: (0.1, 0.2, 0.3), 2: (0.0, 0.1, 0.2), 4: (0.0, 0.1, 0.3)})["criteria"][0]
    assert alone["value"] == pytest.approx(math.exp(0.2))
    assert alone["low"] == pytest.approx(low, rel=1e-6)
    assert among["low"] == pytest.approx(low, rel=1e-6)


def test_the_upper_bound_is_of_all_levels_together() -> None:
    """Alone it is the one-sided 95 % bound, among two levels the one-sided 97.5 % bound: 4.302653·0.1/√3."""
    alone = held({1: (0.1, 0.2, 0.3)})["criteria"][0]
    among = held({1: (0.1, 0.2, 0.3), 2: (0.0, 0.1, 0.2)})["criteria"][0]
    assert alone["high"] == pytest.approx(math.exp(0.2 + 2.919986 * 0.1 / math.sqrt(3)), rel=1e-6)
    assert among["high"] == pytest.approx(math.exp(0.2 + 4.302653 * 0.1 / math.sqrt(3)), rel=1e-6)


@pytest.mark.parametrize(
    ("logs", "result", "results"),
    [
        ({1: (0.0, 0.001, -0.001), 4: (0.01, 0.02, 0.03)}, "pass", ["pass", "pass"]),
        ({1: (0.0, 0.001, -0.001), 4: (-0.2, -0.21, -0.22)}, "fail", ["pass", "fail"]),
        ({1: (0.0, 0.001, -0.001), 4: (-0.1, 0.0, 0.1)}, "unknown", ["pass", "unknown"]),
        ({1: (-0.2, -0.21, -0.22), 4: (-0.1, 0.0, 0.1)}, "fail", ["fail", "unknown"]),
        ({1: (0.0, 0.0, 0.0)}, "pass", ["pass"]),
        ({1: (-0.1, -0.1, -0.1)}, "fail", ["fail"]),
        ({1: (0.0, 0.0)}, "unknown", ["unknown"]),
    ],
)
def test_a_gate_passes_where_all_levels_do_and_fails_where_one_does(
    logs: dict[int, tuple[float, ...]], result: str, results: list[str]
) -> None:
    """One failure fails it, else one unknown leaves it unknown; below three rounds nothing is known."""
    found = held(logs)
    assert found["result"] == result
    assert [one["result"] for one in found["criteria"]] == results


def test_a_difference_within_the_limit_passes_though_it_is_sure() -> None:
    """2 % slower, surely, is at least 0.97: non-inferior, and with 0.99 asked it fails."""
    logs = {1: (-0.0200, -0.0201, -0.0199)}
    assert held(logs)["result"] == "pass"
    assert held(logs, at_least=0.99)["result"] == "fail"


def test_more_rounds_are_those_after_which_the_bound_clears_the_limit() -> None:
    """Mean 0, s = 0.05: t₀.₉₅·0.05/√n falls below −ln 0.97 = 0.0305 at n = 10 (1.833/√10), 7 more than 3."""
    assert held({1: (-0.05, 0.0, 0.05)})["criteria"][0]["more_rounds"] == 7


def test_a_mean_at_the_limit_can_not_be_settled() -> None:
    """With the mean at ln 0.97 no number of rounds up to 999 helps: null."""
    logs = (LN_LIMIT - 0.05, LN_LIMIT + 1e-12, LN_LIMIT + 0.05)
    one = held({1: logs})["criteria"][0]
    assert (one["result"], one["more_rounds"], one["reason"]) == ("unknown", None, None)


def test_a_level_that_was_left_out_can_not_be_told() -> None:
    """A concurrency that was asked for and not measured leaves the gate open, with the reason."""
    found = gate(summary({1: (0.0, 0.0, 0.0)}), at_least=0.97, levels=(1, 8))
    assert found["result"] == "unknown"
    assert found["criteria"][1]["reason"] == "no round has a valid trial of new and of good at 8"
    assert found["criteria"][1]["more_rounds"] is None


@pytest.mark.parametrize("failed", ["new", "good"])
def test_wrong_answers_leave_nothing_to_tell(failed: str) -> None:
    """Where the output check of either side failed, its speed says nothing."""
    checks = [{"variant": failed, "result": "failed", "reasons": ["empty"]}]
    found = gate(summary({1: (0.0, 0.0, 0.0)}, output_check=checks), at_least=0.97)
    assert found["result"] == "unknown"
    assert found["criteria"][0]["value"] is None
    assert found["criteria"][0]["reason"] == "the output check failed, so nothing is said of new"


@given(
    st.dictionaries(st.integers(1, 16), st.lists(st.floats(-0.3, 0.3), max_size=6), min_size=1, max_size=4),
    st.floats(0.8, 1.1),
)
def test_a_result_never_contradicts_its_bounds(logs: dict[int, list[float]], at_least: float) -> None:
    """Pass lies at or above the limit, fail below it, and what is unknown holds the limit between its bounds."""
    found = gate(summary(logs), at_least=at_least)
    for one in found["criteria"]:
        if one["low"] is None:
            assert one["result"] == "unknown"
        elif one["result"] == "pass":
            assert one["low"] >= at_least * (1 - 1e-9)
        elif one["result"] == "fail":
            assert one["high"] < at_least * (1 + 1e-9)
        else:
            assert one["low"] <= at_least * (1 + 1e-9)
            assert one["high"] >= at_least * (1 - 1e-9)


@given(st.floats(-0.2, 0.2), st.floats(0.001, 0.2), st.integers(3, 12), st.integers(1, 4))
def test_bounds_hold_the_mean_between_them(mean: float, spread: float, n: int, family: int) -> None:
    """The more levels share the error from above, the further that bound lies away."""
    under, over = _bounds(mean, spread, n, family)
    assert under <= mean <= over
    assert over >= _bounds(mean, spread, n, 1)[1]


def decided(text: str, found: Figure) -> Any:
    """How a threshold on the acceptance rate is decided at a figure."""
    cell = {
        "variant": "new", "concurrency": 1, "started": 9, "trials": found.rounds, "valid_trials": found.rounds,
        "acceptance_rate": {"value": found.value, "low": found.low, "high": found.high, "n": found.n},
    }  # fmt: skip
    return _judged(summary({}, cells=[cell]), parse_threshold(text), "new", 1)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("acceptance_rate>=0.55", "pass"),
        ("acceptance_rate>0.55", "unknown"),
        ("acceptance_rate>0.54", "pass"),
        ("acceptance_rate>=0.60", "unknown"),
        ("acceptance_rate>=0.65", "unknown"),
        ("acceptance_rate>0.65", "fail"),
        ("acceptance_rate>=0.66", "fail"),
        ("acceptance_rate<=0.65", "pass"),
        ("acceptance_rate<0.65", "unknown"),
        ("acceptance_rate<=0.55", "unknown"),
        ("acceptance_rate<0.55", "fail"),
        ("acceptance_rate<=0.54", "fail"),
    ],
)
def test_a_threshold_is_decided_by_the_whole_interval(text: str, result: str) -> None:
    """0.60 [0.55, 0.65]: passes where all of it keeps the limit, fails where none of it does, else can't be told."""
    assert decided(text, Figure(0.6, 0.55, 0.65, n=5, rounds=5)).result == result


def test_a_threshold_says_about_how_many_more_rounds_would_tell() -> None:
    """0.60 [0.50, 0.72] of 5 rounds against 0.55: t·/√n must shrink by ln(0.60/0.55)/ln(0.60/0.50), from 5 to 14."""
    shrink = math.log(0.60 / 0.55) / math.log(0.60 / 0.50)
    width = t_quantile(0.975, 4) / math.sqrt(5) * shrink
    needed = next(n for n in range(6, 99) if t_quantile(0.975, n - 1) / math.sqrt(n) < width)
    assert decided("acceptance_rate>=0.55", Figure(0.6, 0.5, 0.72, n=5, rounds=5)).more_rounds == needed - 5 == 9


def test_without_an_interval_a_threshold_waits_for_three_rounds() -> None:
    """One round: unknown, two more are missing."""
    found = decided("acceptance_rate>=0.1", Figure(0.6, None, None, n=1, rounds=1))
    assert (found.result, found.more_rounds) == ("unknown", 2)
    assert found.reason == "1 observation is too few for this end of an interval"


def quantile_of(text: str, **estimate: Any) -> Any:
    """How a threshold on TTFT is decided at an estimate from 4 rounds."""
    cell = {
        "variant": "new", "concurrency": 1, "started": 20, "trials": 4, "valid_trials": 4,
        "ttft_s": {"p95": estimate, "max": {"value": 3.0, "low": None, "high": None, "n": 20}},
    }  # fmt: skip
    return _judged(summary({}, cells=[cell]), parse_threshold(text), "new", 1)


def test_a_quantile_of_too_few_requests_says_how_many_rounds_are_missing() -> None:
    """A bound of p95 from above takes 59 requests: with 20 in 4 rounds that is 12 rounds, 8 more."""
    found = quantile_of("ttft.p95<=2s", value=1.0, low=0.5, high=None, n=20)
    assert (found.result, found.more_rounds) == ("unknown", 8)
    assert found.reason == "20 observations are too few for this end of an interval"


def test_one_end_of_an_interval_can_fail_alone() -> None:
    """Where even the lower bound exceeds the limit, the missing upper one doesn't matter."""
    assert quantile_of("ttft.p95<=400ms", value=1.0, low=0.5, high=None, n=20).result == "fail"


@pytest.mark.parametrize(("text", "result"), [("ttft.max<=3s", "pass"), ("ttft.max<3s", "fail")])
def test_what_was_seen_needs_no_interval(text: str, result: str) -> None:
    """The largest TTFT is what it is."""
    found = quantile_of(text, value=1.0, low=0.5, high=None, n=20)
    assert (found.result, found.seen) == (result, True)


def test_a_speed_up_of_times_is_the_baselines_over_the_variants() -> None:
    """TTFT at 2.0 [1.6, 2.5] times the baseline's is a speed-up of 0.5 [0.4, 0.625]."""
    entry = {
        "variant": "new", "concurrency": 1, "metric": "median_ttft_s",
        "ratio": {"value": 2.0, "low": 1.6, "high": 2.5, "n": 4},
    }  # fmt: skip
    found = figure(summary({}, latency_comparisons=[entry]), METRICS["speedup.ttft"], "new", 1)
    assert (found.value, found.low, found.high) == (0.5, 0.4, 0.625)


def test_memory_is_of_a_variant_and_null_where_nobody_saw_it() -> None:
    """A peak that was seen decides as it is; unseen it is unknown with the summary's reason."""
    memory = [{"variant": "new", "peak_bytes": 2**30, "margin_bytes": None, "safety_reason": "the budget is not known"}]
    found = gate(
        summary({1: (0.0,)}, memory=memory),
        at_least=None,
        thresholds=[parse_threshold("memory_peak<=1GiB"), parse_threshold("memory_margin>=1GiB")],
    )
    assert [(one["concurrency"], one["result"]) for one in found["criteria"]] == [(None, "pass"), (None, "unknown")]
    assert found["criteria"][1]["reason"] == "the budget is not known"


RATES = {("good", 1): [100.0, 101.0, 99.0, 100.0], ("new", 1): [99.0, 101.0, 98.0, 100.0]}


def test_thresholds_are_about_the_new_side_at_every_level_unless_they_say_otherwise(make: Any) -> None:
    """Without names: every variant but the baseline, at every concurrency; `good:` and `@2` name one."""
    run = make.run({**RATES, **{(name, 2): rates for (name, _), rates in RATES.items()}})
    texts = ["tasks_per_hour>=1", "good:tasks_per_hour>=1", "tasks_per_hour@2>=1", "memory_peak<=1GiB"]
    found = gate(summarise(run), at_least=0.9, thresholds=[parse_threshold(text) for text in texts])
    assert [(one["variant"], one["concurrency"], one["kind"]) for one in found["criteria"]] == [
        ("new", 1, "non_inferiority"),
        ("new", 2, "non_inferiority"),
        ("new", 1, "threshold"),
        ("new", 2, "threshold"),
        ("good", 1, "threshold"),
        ("good", 2, "threshold"),
        ("new", 2, "threshold"),
        ("new", None, "threshold"),
    ]
    assert make.strict_json(found) == found


def test_a_single_variant_is_held_to_thresholds_itself(make: Any) -> None:
    """A sweep of one server has no other."""
    found = gate(
        summarise(make.run({("server", 1): [100.0] * 3})),
        at_least=None,
        thresholds=[parse_threshold("tasks_per_hour>=99"), parse_threshold("failures<=50%")],
    )
    assert [(one["variant"], one["result"]) for one in found["criteria"]] == [("server", "pass"), ("server", "unknown")]
    assert found["criteria"][1]["value"] == 0


def test_every_metric_can_be_asked_of_a_run(make: Any) -> None:
    """Each gives a criterion with a figure or a reason, never a crash; the document is strict JSON."""
    values = {"ratio": "1", "share": "1", "seconds": "1s", "bytes": "1GiB", "number": "1"}
    thresholds = [parse_threshold(f"{name}<={values[metric.unit]}") for name, metric in METRICS.items()]
    found = gate(summarise(make.run(RATES)), at_least=None, thresholds=thresholds)
    assert [one["metric"] for one in found["criteria"]] == list(METRICS)
    assert all(one["value"] is not None or one["reason"] for one in found["criteria"])
    make.strict_json(found)


def test_without_criteria_a_gate_says_nothing() -> None:
    """Nothing was asked: unknown, not passed."""
    assert gate(summary({1: (0.0, 0.0, 0.0)}), at_least=None)["result"] == "unknown"
