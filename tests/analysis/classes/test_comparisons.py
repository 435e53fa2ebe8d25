"""How a variant compares with the baseline for each class of work."""

import math
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.analysis.classes.comparisons import TASKS, Says, class_comparisons
from loadgen.analysis.classes.wording import class_words, classes_text, opposed
from loadgen.analysis.estimators.comparison import speedup
from loadgen.analysis.summary import summarise
from loadgen.records.run import Run
from tests.analysis.mixes import CHAT_PAYS, Seconds, mixed_run, valid

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker


def tasks(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those about tasks per hour, by class."""
    return {one["work_class"]: one for one in entries if one["metric"] == TASKS}


def test_a_class_is_compared_by_itself(make: "Maker") -> None:
    """Chat does twice as much, batch a sixth less: the interval of the paired rounds, not corrected."""
    found = tasks(class_comparisons(valid(mixed_run(make, CHAT_PAYS)), "off"))
    chat = [math.log(40 / 20), math.log(41 / 20.6)] * 2
    assert found["chat"]["rounds"] == pytest.approx(chat)
    assert found["chat"]["ratio"] == pytest.approx(speedup(chat).as_json())
    assert [(one["agents"], one["says"], one["corrected"]) for one in found.values()] == [
        (1, Says.MORE, False),
        (3, Says.FEWER, False),
    ]
    assert found["batch"]["ratio"]["value"] == pytest.approx(math.sqrt((10 / 12) * (10.1 / 12.1)))
    assert found["batch"]["of_rounds"] == [1, 2, 3, 4]


def test_latencies_of_a_class_are_compared_too(make: "Maker") -> None:
    """Chat's first token comes in half the time: below 1 is faster."""
    entries = class_comparisons(valid(mixed_run(make, CHAT_PAYS)), "off")
    says = {(one["work_class"], one["metric"]): one["says"] for one in entries}
    assert says["chat", "median_ttft_s"] is says["chat", "median_tpot_s"] is Says.FASTER
    assert says["batch", "median_ttft_s"] is says["batch", "median_tpot_s"] is Says.SLOWER


def test_classes_are_no_part_of_the_family_that_is_called(make: "Maker") -> None:
    """One comparison is called; what the whole server does is the sum: 90 + 1,080 against 180 + 900 an hour."""
    found = summarise(mixed_run(make, CHAT_PAYS))
    (comparison,) = found["comparisons"]
    assert comparison["p_value"] == comparison["p_adjusted"]
    assert comparison["speedup"]["value"] == pytest.approx(1080 / 1170, abs=0.005)
    assert len(found["class_comparisons"]) == 6
    assert all(one["void"] is False for one in found["class_comparisons"])


def test_what_one_side_lacks_is_not_measured(make: "Maker") -> None:
    """A class without a pair of rounds has no ratio, one round no interval, and a baseline without trials nothing."""
    one: dict[tuple[str, int], list[Seconds]] = {
        ("off", 4): [{"chat": (1, 40.0), "batch": (3, 10.0)}],
        ("mtp", 4): [{"chat": (1, 20.0), "batch": (3, 12.0)}],
    }
    run = mixed_run(make, one)
    found = tasks(class_comparisons(valid(run), "off"))
    assert found["chat"]["says"] is Says.NO_INTERVAL
    assert classes_text(list(found.values())) == (
        "By class of work, mtp against off at 4 agents: chat (1 agent): 2.00 times the tasks per hour (without an "
        "interval); batch (3 agents): 0.83 times the tasks per hour (without an interval); these intervals hold one by "
        "one: they are not corrected for several comparisons."
    )
    alone = Run(manifest=run.manifest, trials=run.trials[1:], requests=run.requests)
    nothing = tasks(class_comparisons(valid(alone), "off"))
    assert (nothing["chat"]["says"], nothing["chat"]["ratio"]["value"]) == (Says.NOT_MEASURED, None)
    assert "chat (1 agent): not measured on both sides" in str(classes_text(list(nothing.values())))


def test_a_class_at_another_depth_is_not_compared(make: "Maker") -> None:
    """Other work says nothing of speed."""
    run = mixed_run(make, CHAT_PAYS)
    requests = [
        msgspec.structs.replace(one, prompt_tokens=150) if one.work_class == "chat" and one.variant == "mtp" else one
        for one in run.requests
    ]
    found = tasks(class_comparisons(valid(Run(manifest=run.manifest, trials=run.trials, requests=requests)), "off"))
    assert [one["says"] for one in found.values()] == [Says.NOT_COMPARABLE, Says.FEWER]
    text = str(classes_text(list(found.values())))
    assert "chat (1 agent): tasks per hour not comparable (mean depth 150 against 100 tokens)" in text


def test_classes_that_disagree_are_said(make: "Maker") -> None:
    """In a sentence of the verdict, with both intervals; where all go one way the table is enough."""
    run = mixed_run(make, CHAT_PAYS)
    entries = class_comparisons(valid(run), "off")
    (sentence,) = opposed(entries)
    assert sentence.startswith("By class of work, mtp against off at 4 agents: chat (1 agent): 2.0")
    assert ": more); batch (3 agents): 0.83 times the tasks per hour (95 % interval 0.8" in sentence
    assert sentence in summarise(run)["verdict"]["says"]
    assert class_words(entries) == ["for chat (1 agent): mtp does more", "for batch (3 agents): mtp does less"]
    assert opposed([one for one in entries if one["work_class"] == "chat"]) == []
    assert classes_text([]) is None
