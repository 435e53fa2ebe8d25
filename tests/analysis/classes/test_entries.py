"""What each class of a mix did, and what they do together."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.analysis.classes.shares import changes_with_agents, uneven_mix
from loadgen.analysis.measured.failures import tasks_per_hour_with_failures
from loadgen.analysis.measured.work_class import agents_by_class, by_class, of_class
from loadgen.analysis.summary import summarise
from loadgen.records.model import Outcome
from loadgen.records.run import Run
from tests.analysis.mixes import CHAT_PAYS, MIX, mixed_run, valid

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker

ONE: dict[tuple[str, int], list[Any]] = {("off", 4): [{"chat": (1, 40.0), "batch": (3, 10.0)}] * 3}
"""An agent that chats does 90 tasks an hour, three in batch 1,080 together."""


def test_the_rate_of_a_mix_is_the_sum_of_its_classes(make: "Maker") -> None:
    """1,170 tasks an hour. With all agents taken for alike it would be 4 · 4 / 70 s, 823: the slow one weighs more."""
    (trial, *_) = valid(mixed_run(make, ONE))["off", 4]
    assert trial.tasks_per_hour == pytest.approx(90 + 3 * 360)
    assert 3600 * 4 * trial.credits / trial.segment_s == pytest.approx(822.86, abs=0.01)
    assert trial.output_tokens_per_s == pytest.approx(10 / 40 + 3 * 10 / 10)
    cell = summarise(mixed_run(make, ONE))["cells"][0]
    assert cell["tasks_per_hour"]["value"] == pytest.approx(1170)
    assert cell["requests_per_hour"]["value"] == pytest.approx(1170)
    assert cell["output_tokens_per_s"]["value"] == pytest.approx(3.25)


def test_each_class_is_a_cell_of_its_own(make: "Maker") -> None:
    """With the names of a cell, by its own agents alone."""
    chat, batch = summarise(mixed_run(make, ONE))["cells"][0]["classes"]
    assert [(one["name"], one["agents"], one["started"]) for one in (chat, batch)] == [("chat", 1, 3), ("batch", 3, 9)]
    assert chat["tasks_per_hour"] == pytest.approx({"value": 90, "low": 90, "high": 90, "n": 3})
    assert batch["tasks_per_hour"]["value"] == pytest.approx(1080)
    assert (chat["ttft_s"]["p50"]["value"], batch["ttft_s"]["p50"]["value"]) == (4.0, 1.0)
    assert (chat["task_s"]["max"]["value"], batch["task_s"]["max"]["value"]) == (40.0, 10.0)
    assert (chat["outcomes"], batch["outcomes"], chat["attainment"]) == ({"ok": 3}, {"ok": 9}, None)


def test_without_a_mix_there_are_no_classes(make: "Maker") -> None:
    """And a trial is what it was."""
    run = make.run({("off", 2): [20.0] * 3})
    assert summarise(run)["cells"][0]["classes"] == []
    assert summarise(run)["class_comparisons"] == []
    trials = valid(run)["off", 2]
    assert by_class(trials) == {None: trials}
    assert agents_by_class(run.requests) == {}


def test_a_class_has_no_counters_and_no_classes_within(make: "Maker") -> None:
    """What the server counts is of all classes; the trial as a class had it is as any other."""
    run = mixed_run(make, ONE)
    counted = [msgspec.structs.replace(one, counters_before=make.counters(a=1)) for one in run.trials]
    trials = valid(Run(manifest=run.manifest, trials=counted, requests=run.requests))["off", 4]
    (chat, *_), batch = of_class(trials, "chat"), of_class(trials, "batch")
    assert (chat.record.level, chat.record.counters_before, chat.classes) == (1, None, {})
    assert [trial.record.level for trial in batch] == [3] * 3
    assert list(by_class(trials)) == ["chat", "batch"]
    assert of_class(trials, "talk") == []


def test_a_class_of_an_aborted_trial_is_told_by_its_requests(make: "Maker") -> None:
    """Without segments nothing is measured, but what failed is counted under its class."""
    run = mixed_run(make, ONE)
    trials = [msgspec.structs.replace(one, segments=[], complete=False, aborted="x") for one in run.trials]
    requests = [
        msgspec.structs.replace(one, outcome=Outcome.HTTP_ERROR) if one.work_class == "chat" else one
        for one in run.requests
    ]
    found = make.strict_json(summarise(Run(manifest=run.manifest, trials=trials, requests=requests)))
    chat, batch = found["cells"][0]["classes"]
    assert (chat["outcomes"], chat["tasks_per_hour"]["value"]) == ({"http_error": 3}, None)
    assert (batch["outcomes"], batch["agents"]) == ({"ok": 9}, 3)


def test_failures_weigh_in_the_class_that_has_them(make: "Maker") -> None:
    """Nothing of chat fails, so that its 90 tasks an hour stay; the turns that fail in batch end sessions there."""
    run = mixed_run(make, ONE)
    requests = [
        msgspec.structs.replace(one, outcome=Outcome.HTTP_ERROR) if one.agent == 3 else one for one in run.requests
    ]
    trials = valid(Run(manifest=run.manifest, trials=run.trials, requests=requests))["off", 4]
    assert tasks_per_hour_with_failures(trials).value == pytest.approx(90 + 2 * 360)


def test_levels_that_differ_in_their_mix_are_not_compared_with_each_other(make: "Maker") -> None:
    """One agent is all batch, four are a quarter chat: no law of growth, and a warning that names both."""
    cells = {**ONE, ("off", 1): [{"batch": (1, 10.0)}] * 3}
    found = summarise(mixed_run(make, cells))
    assert found["scaling"] == []
    (warning,) = [one for one in found["warnings"] if one["kind"] == "uneven_mix"]
    assert "(1 agent: chat 0, batch 1; 4 agents: chat 1, batch 3)" in warning["text"]
    even = {"mix": MIX}
    assert uneven_mix(even, [4, 8]) == []
    assert [changes_with_agents(even, levels) for levels in ([4, 8], [1, 4])] == [False, True]
    assert not changes_with_agents({}, [1, 4])


def test_the_attainment_of_a_class_stands_beside_its_latencies(make: "Maker") -> None:
    """By the limits that are its own: 4 s to the first token keep 5 s; 1 s doesn't keep half a second."""
    slo = {"ttft_s": 0.5, "classes": {"chat": {"ttft_s": 5.0}}}
    chat, batch = summarise(mixed_run(make, CHAT_PAYS, slo=slo))["cells"][0]["classes"]
    assert (chat["attainment"]["value"], batch["attainment"]["value"]) == (1.0, 0.0)
