"""What may be asked of a server, in either of two ways of writing it."""

import contextlib
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.capacity.limit import Limits, parse_limits, recorded_limits
from loadgen.experiment.slo import Slo


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ttft_p95<2s,tpot_p95<80ms,task_p95<5m", [("ttft.p95", 2.0), ("tpot.p95", 0.08), ("task.p95", 300.0)]),
        ("ttft.p95<=2s", [("ttft.p95", 2.0)]),
        (" TTFT_p99 = 1 , step-gap_max < 500ms ", [("ttft.p99", 1.0), ("step_gap.max", 0.5)]),
        ("tpot_server_p50<80ms,request_p90<30s", [("tpot_server.p50", 0.08), ("e2e.p90", 30.0)]),
        ("ttft_s_p95<2s", [("ttft.p95", 2.0)]),
    ],
)
def test_percentiles_have_limits(text: str, found: list[tuple[str, float]]) -> None:
    """In seconds, by the names of metrics, with an underscore or a point; a request is its end-to-end latency."""
    limits = parse_limits(text)
    assert [(one.metric.name, one.limit_s) for one in limits.quantiles] == found
    assert limits.slo is None
    assert [one.text for one in limits.quantiles] == [part.strip() for part in text.split(",")]


def test_both_ways_of_writing_stand_in_one_text() -> None:
    """What names no percentile is the objective of `sweep` and `ab`."""
    limits = parse_limits("ttft_p95<2s,tpot=80ms,attainment=90%")
    assert [one.metric.name for one in limits.quantiles] == ["ttft.p95"]
    assert limits.slo == Slo(tpot_s=0.08, attainment=0.9)
    assert parse_limits("ttft=2s,task=10m").slo == Slo(ttft_s=2, task_s=600)


def test_a_percentile_of_tasks_asks_goodput_for_their_mean() -> None:
    """The tightest one; an objective of its own goes first, and without either there is nothing to compute."""
    assert parse_limits("task_p95<5m,task_p50<2m").for_goodput == Slo(task_s=120)
    assert parse_limits("task_p95<5m,ttft=2s").for_goodput == Slo(ttft_s=2)
    assert parse_limits("ttft_p95<2s").for_goodput is None


def test_a_run_brings_its_own_objective() -> None:
    """As it was published; a run without one has no limits."""
    assert recorded_limits({"slo": Slo(ttft_s=2).model_dump(mode="json")}) == Limits(slo=Slo(ttft_s=2))
    assert recorded_limits({}) == recorded_limits({"slo": None}) == Limits()
    assert Limits().as_json() is None


def test_limits_are_published_as_they_were_written() -> None:
    """With what they were understood as."""
    shown = parse_limits("ttft_p95<2s,chat:tpot_p95<60ms,task=10m").as_json()
    assert shown is not None
    assert shown["percentiles"] == [
        {"limit": "ttft_p95<2s", "metric": "ttft.p95", "work_class": None, "asked_s": 2.0},
        {"limit": "chat:tpot_p95<60ms", "metric": "tpot.p95", "work_class": "chat", "asked_s": 0.06},
    ]
    assert shown["objective"] == Slo(task_s=600).model_dump(mode="json")


def test_a_limit_may_be_for_one_class_of_a_mix() -> None:
    """In either way of writing; each class once, and a limit of all beside it."""
    limits = parse_limits("ttft_p95<9s,chat: ttft_p95<2s,batch:task=10m")
    assert [(one.work_class, one.limit_s) for one in limits.quantiles] == [(None, 9.0), ("chat", 2.0)]
    assert limits.classes == {"chat", "batch"}
    with pytest.raises(ValueError, match="given twice"):
        parse_limits("chat:ttft_p95<9s,chat:ttft.p95<2s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no limit; write ttft=TIME"),
        ("ttft_p97<2s", "ttft takes a quantile, such as ttft.p95, and 'p97' is none"),
        ("ttfb_p95<2s", "'ttfb.p95' is no metric"),
        ("ttft_p95<soon", "'soon' is not a duration"),
        ("ttft_p95<", "'' is not a duration"),
        ("ttft_p95<0s", "'ttft_p95<0s': a limit is a time above 0"),
        (f"ttft_p95<{'9' * 400}s", "a limit is a time above 0"),
        ("ttft_p95>2s", "'ttft_p95>2s' bounds a time from below; write ttft_p95<TIME"),
        ("ttft_p95>=2s", "bounds a time from below"),
        ("ttft_p95<2s,ttft.p95<3s", "ttft.p95 is given twice"),
        ("ttft_p95<2s,", "'' is no limit"),
        ("ttft_p95<2s,attainment=95%", "an objective has one limit at least"),
        ("tasks_per_hour>5", "'tasks_per_hour>5' is no limit"),
    ],
)
def test_what_can_not_be_asked_is_said(text: str, message: str) -> None:
    """With the part that is wrong."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_limits(text)


@given(st.text(alphabet=st.sampled_from("tpfskrqueaingm_-.=<>,%0159 \u0660"), max_size=24) | st.text(max_size=12))
def test_any_text_is_limits_or_a_value_error(text: str) -> None:
    """No text makes the parser fail in another way, and what it reads is finite and above 0."""
    with contextlib.suppress(ValueError):
        limits = parse_limits(text)
        assert limits.quantiles or limits.slo is not None
        assert all(0 < one.limit_s < math.inf for one in limits.quantiles)
