"""Goodput of a mix: every class is judged by its own limits, and the worst of them binds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from loadgen.analysis.decision.goodput import goodputs
from loadgen.analysis.decision.objective_text import objective
from loadgen.experiment.slo import parse_slo
from tests.analysis.mixes import mixed_run, valid

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker


def judged(make: "Maker", slo: str, *, rounds: int = 80, seconds: Mapping[str, tuple[int, float]]) -> dict[str, Any]:
    """The entry of one cell whose rounds are alike."""
    run = mixed_run(make, {("off", 4): [seconds] * rounds})
    (entry,) = goodputs(valid(run), parse_slo(slo).model_dump(mode="json"))
    return entry


BOTH = {"chat": (1, 40.0), "batch": (3, 10.0)}
"""Time to the first token: 4 s and 1 s; 9 tokens after it in 36 s and 9 s."""


def test_a_class_is_judged_by_its_own_limits(make: "Maker") -> None:
    """Chat may take 5 s to its first token and all others 2 s: both meet it, and so does the mix."""
    entry = judged(make, "ttft=2s,chat:ttft=5s", seconds=BOTH)
    chat, batch = entry["classes"]
    assert [(one["work_class"], one["agents"], one["meets"]) for one in (chat, batch)] == [
        ("chat", 1, "yes"),
        ("batch", 3, "yes"),
    ]
    assert [one["limits"][0]["asked_s"] for one in (chat, batch)] == [5, 2]
    assert (entry["meets"], entry["binds"], entry["binds_class"]) == ("yes", None, None)
    assert [(one["work_class"], one["asked_s"]) for one in entry["limits"]] == [("chat", 5), ("batch", 2)]


def test_many_good_requests_of_one_class_hide_no_other(make: "Maker") -> None:
    """3 of 4 requests are in time, and of chat none: the mix misses it, and chat's limit binds."""
    entry = judged(make, "ttft=2s,attainment=70%", seconds=BOTH)
    assert entry["requests"]["attainment"]["value"] == pytest.approx(0.75)
    assert (entry["meets"], entry["binds"], entry["binds_class"]) == ("no", "ttft_s", "chat")
    assert [one["meets"] for one in entry["classes"]] == ["no", "yes"]


def test_rates_of_classes_are_added(make: "Maker") -> None:
    """Good requests an hour: none of 90 in chat and all of 1,080 in batch; tasks the same, without an interval."""
    entry = judged(make, "ttft=2s", seconds=BOTH)
    assert entry["requests"]["per_hour"]["value"] == pytest.approx(1080)
    assert entry["tasks"]["per_hour"] == {
        "value": pytest.approx(1080), "low": None, "high": None, "n": 320, "estimable": False,
    }  # fmt: skip
    assert (entry["requests"]["attempted"], entry["requests"]["good"]) == (320, 240)
    assert entry["task_s_estimated"]["value"] is None


def test_the_class_that_falls_shortest_binds(make: "Maker") -> None:
    """No request of chat is good of 95 % that are asked for, and no task of batch of all: batch falls shorter."""
    entry = judged(make, "tpot=2s,batch:attainment=100%,batch:task=9s", seconds=BOTH)
    chat, batch = entry["classes"]
    assert (chat["binds"], batch["binds"]) == ("tpot_s", "task_s")
    assert (entry["meets"], entry["binds"], entry["binds_class"]) == ("no", "task_s", "batch")


def test_a_class_without_a_limit_is_not_judged(make: "Maker") -> None:
    """Nothing is asked of batch, whatever it does."""
    entry = judged(make, "chat:ttft=5s", seconds=BOTH)
    assert [one["work_class"] for one in entry["classes"]] == ["chat"]
    assert (entry["meets"], entry["requests"]["attempted"]) == ("yes", 80)
    alone = judged(make, "chat:ttft=5s", seconds={"batch": (4, 10.0)})
    assert (alone["classes"], alone["limits"], alone["meets"], alone["binds"]) == ([], [], None, None)
    assert objective({**alone, "variant": "off"}) == "No limit applies to any work that off did here."


def test_too_little_of_one_class_leaves_the_mix_unresolved(make: "Maker") -> None:
    """20 good ones of 20 in chat prove no 95 %, whatever batch shows."""
    entry = judged(make, "ttft=5s", rounds=20, seconds=BOTH)
    assert [one["meets"] for one in entry["classes"]] == ["unresolved", "unresolved"]
    more = judged(make, "ttft=5s", rounds=40, seconds=BOTH)
    assert [one["meets"] for one in more["classes"]] == ["unresolved", "yes"]
    assert (entry["meets"], more["meets"]) == ("unresolved", "unresolved")


def test_a_cell_without_valid_trials_says_nothing(make: "Maker") -> None:
    """Null, and strict JSON."""
    (entry,) = goodputs({("off", 4): []}, parse_slo("ttft=2s,chat:ttft=5s").model_dump(mode="json"))
    assert make.strict_json(entry) == entry
    assert (entry["classes"], entry["meets"]) == ([], None)


def test_each_class_is_said(make: "Maker") -> None:
    """With the variant that it ran with."""
    entry = judged(make, "ttft=2s,attainment=70%", seconds=BOTH)
    text = objective(entry)
    assert text.startswith("0 % of 80 requests of chat with off keep every limit (")
    assert ": it misses the objective. 100 % of 240 requests of batch with off keep every limit (" in text
