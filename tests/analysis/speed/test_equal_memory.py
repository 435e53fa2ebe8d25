"""Rules of the equal-memory question: measured, predicted, or not known."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.speed.equal_memory import equal_memory
from loadgen.analysis.speed.equal_memory_text import equal_memory_sentences
from tests.analysis.timed import MAKE, paced

_NOISE = (0.99, 1.0, 1.01)
_OFF = {1: 100.0, 2: 180.0, 4: 300.0}
_MTP = {1: 150.0, 2: 240.0, 4: 330.0}


def _noisy(rates: Mapping[int, float], noise: Sequence[float] = _NOISE) -> dict[int, list[float]]:
    """Rounds around a rate; the noise of a round is shared by all."""
    return {level: [rate * one for one in noise] for level, rate in rates.items()}


def _memory(variant: str, slots: int | None = 4, worth: float | None = None) -> dict[str, Any]:
    return {"variant": variant, "slots": slots, "slots_worth": worth, "slot_bytes": 1000, "ledger": []}


def _found(
    rates: Mapping[str, Mapping[int, float]],
    memory: Sequence[Mapping[str, Any]],
    *,
    noise: Sequence[float] = _NOISE,
    off: Sequence[str] = ("off", "off8"),
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> dict[int, dict[str, Any]]:
    """The entries by level."""
    valid = {key: trials for name, by in rates.items() for key, trials in paced(name, _noisy(by, noise)).items()}
    starts = [MAKE.start(name, **(facts or {}).get(name, {})) for name in rates]
    entries = equal_memory(valid, list(rates), "off", off=set(off), memory=memory, starts=starts, **more)
    return {entry["concurrency"]: entry for entry in MAKE.strict_json(entries)}


_WORTH_4 = [_memory("off"), _memory("mtp", worth=4.2), _memory("off8", slots=8)]
_MEASURED = {"off": _OFF, "mtp": _MTP, "off8": {1: 100.0, 4: 300.0, 8: 440.0}}


def test_measured_it_is_two_machines_with_all_their_slots_busy() -> None:
    """MTP with 4 slots and 4 agents does 330 an hour, no speculation with 8 and 8 does 440: 0.75 times."""
    found = _found(_MEASURED, _WORTH_4)[4]
    assert found["speedup"] == {"value": pytest.approx(0.75), "low": pytest.approx(0.75), "high": pytest.approx(0.75),
                                "n": 3}  # fmt: skip
    assert (found["by"], found["other_variant"], found["other_concurrency"]) == ("measured", "off8", 8)
    assert (found["slots"], found["slots_bought"], found["slots_worth"]) == (4, 4.0, pytest.approx(4.2))
    assert (found["variant"], found["baseline"], found["better"]) == ("mtp", "off", "no_speculation")
    assert found["text"] == (
        "The memory that mtp takes would buy 4.2 slots more of off. Measured: mtp with 4 slots and 4 agents does 0.75 "
        "times (95 % interval 0.75 to 0.75, 3 rounds) the tasks per hour of off8 with 8 slots and 8 agents: slots are "
        "the better use of that memory."
    )


def test_the_pairs_are_of_one_round() -> None:
    """Ratios of 0.7, 0.75 and 0.8 by round: exp of their mean logarithm with its t interval."""
    rates = {"mtp": [308.0, 330.0, 352.0], "off8": [440.0] * 3, "off": [300.0] * 3}
    levels = {"mtp": 4, "off8": 8, "off": 4}
    valid = {key: one for name, several in rates.items() for key, one in paced(name, {levels[name]: several}).items()}
    starts = [MAKE.start(name) for name in rates]
    (found,) = equal_memory(valid, list(rates), "off", off={"off", "off8"}, memory=_WORTH_4, starts=starts)
    assert found["speedup"]["value"] == pytest.approx((0.7 * 0.75 * 0.8) ** (1 / 3))
    logs = [math.log(one) for one in (0.7, 0.75, 0.8)]
    mean = sum(logs) / 3
    half = 4.302653 * (sum((one - mean) ** 2 for one in logs) / 2 / 3) ** 0.5
    assert found["speedup"]["high"] == pytest.approx(math.exp(mean + half), rel=1e-5)


def test_fewer_agents_than_slots_have_no_use_for_more() -> None:
    """At 2 agents it is the plain speed-up, 240 ÷ 180, and the sentence says why."""
    found = _found(_MEASURED, _WORTH_4)[2]
    assert found["speedup"]["value"] == pytest.approx(240 / 180)
    assert (found["by"], found["other_variant"], found["other_concurrency"]) == ("measured", "off", 2)
    assert found["text"] == (
        "With 2 agents more slots than the 4 of mtp are of no use: it does 1.33 times (95 % interval 1.33 to 1.33, 3 "
        "rounds) the tasks per hour of off at 2 agents."
    )


def test_where_no_level_fills_the_slots_that_is_said() -> None:
    """Levels 1 and 2 of a server with 4 slots can't tell what more would be worth."""
    rates = {name: {level: rate for level, rate in by.items() if level < 4} for name, by in _MEASURED.items()}
    assert _found(rates, _WORTH_4)[2]["text"].endswith(" What they are worth to more agents takes a level of 4 agents.")


def test_with_more_agents_than_slots_both_have_them_all() -> None:
    """At 8 agents, MTP with 4 slots queues them; no speculation with 8 slots doesn't: 320 ÷ 440."""
    rates = {**_MEASURED, "mtp": {**_MTP, 8: 320.0}}
    found = _found(rates, _WORTH_4)[8]
    assert found["speedup"]["value"] == pytest.approx(320 / 440)
    assert (found["by"], found["other_variant"], found["other_concurrency"]) == ("measured", "off8", 8)


def test_predicted_beyond_the_curve_it_lies_between_two_bounds() -> None:
    """No variant has 8 slots: at least the 300 that 4 did, at most twice that: 330 ÷ 600 to 330 ÷ 300."""
    found = _found({"off": _OFF, "mtp": _MTP}, _WORTH_4[:2])[4]
    assert found["by"] == "predicted"
    assert found["speedup"]["value"] is None
    assert (found["speedup"]["low"], found["speedup"]["high"]) == (pytest.approx(0.55), pytest.approx(1.1))
    assert (found["other_variant"], found["other_concurrency"], found["better"]) == (None, 8, None)
    assert found["text"] == (
        "The memory that mtp takes would buy 4.2 slots more of off. Predicted, not measured: mtp with 4 slots and 4 "
        "agents does 0.55 to 1.10 times the tasks per hour (taking at least what off did with 4 agents, and at most 2 "
        "times that) of off with 8 slots and 8 agents: which is the better use of that memory is unresolved."
    )


def test_bounds_hold_the_noise_of_the_rounds_too() -> None:
    """The lower end of the interval goes to the lower bound, the upper end to the upper."""
    valid = {**paced("off", {4: [300.0] * 3}), **paced("mtp", {4: [320.0, 330.0, 340.0]})}
    (found,) = equal_memory(valid, ["off", "mtp"], "off", off={"off"}, memory=_WORTH_4[:2])
    assert found["speedup"]["low"] < 0.55 * 0.94
    assert found["speedup"]["high"] > 1.1 * 1.06


def test_a_bound_can_be_enough() -> None:
    """Slower than the same slots without speculation, it is the worse use of memory whatever more slots would do."""
    found = _found({"off": _OFF, "mtp": {4: 270.0}}, _WORTH_4[:2])[4]
    assert (found["by"], found["better"]) == ("predicted", "no_speculation")
    fast = _found({"off": _OFF, "mtp": {4: 700.0}}, _WORTH_4[:2])[4]
    assert (fast["by"], fast["better"]) == ("predicted", "speculation")


def test_within_the_curve_of_a_baseline_with_more_slots_it_is_read_off() -> None:
    """Off has 8 slots and was measured at 8: MTP with 4 takes the memory of 6; √(300 · 440)-wise between 4 and 8."""
    memory = [_memory("off", slots=8), _memory("mtp", worth=-2.0)]
    found = _found({"off": {**_OFF, 8: 440.0}, "mtp": _MTP}, memory)[4]
    at_6 = math.exp(math.log(300) + math.log(6 / 4) / math.log(2) * math.log(440 / 300))
    assert (found["by"], found["other_concurrency"], found["slots_bought"]) == ("predicted", 6, 2.0)
    assert found["speedup"]["value"] == pytest.approx(330 / at_6)
    assert "read off the curve of off at 6 agents" in found["text"]


def test_the_baseline_itself_may_have_the_slots() -> None:
    """Off has 8 slots and was measured at 8; MTP with 4 takes as much: measured against it."""
    memory = [_memory("off", slots=8), _memory("mtp", worth=0.1)]
    found = _found({"off": {**_OFF, 8: 440.0}, "mtp": _MTP}, memory)[4]
    assert (found["by"], found["other_variant"], found["slots_bought"]) == ("measured", "off", 4.0)
    assert found["speedup"]["value"] == pytest.approx(0.75)


@pytest.mark.parametrize("facts", [{"model": "other"}, {"context_per_slot": 2048}])
def test_another_model_or_less_context_a_slot_is_no_rival(facts: dict[str, Any]) -> None:
    """Its slots aren't those that the memory would buy: predicted from the baseline instead."""
    assert _found(_MEASURED, _WORTH_4, facts={"off8": facts})[4]["by"] == "predicted"


def test_a_rival_must_have_about_the_slots() -> None:
    """16 slots aren't the 8.2 that the memory would buy; 9 are, within one."""
    far = [*_WORTH_4[:2], _memory("off8", slots=16)]
    near = [*_WORTH_4[:2], _memory("off8", slots=9)]
    assert _found(_MEASURED, far)[4]["by"] == "predicted"
    assert _found(_MEASURED, near)[4]["by"] == "measured"


@pytest.mark.parametrize("worth", [0.9, 0.0, -3.0])
def test_memory_that_buys_no_whole_slot_leaves_the_speed_up_as_it_is(worth: float) -> None:
    """Nothing is bought: 330 ÷ 300 at 4 agents, and 0 slots."""
    found = _found(_MEASURED, [_memory("off"), _memory("mtp", worth=worth)])[4]
    assert (found["by"], found["other_variant"], found["slots_bought"]) == ("measured", "off", 0.0)
    assert found["speedup"]["value"] == pytest.approx(1.1)
    assert found["text"].startswith(
        "The memory that mtp takes would buy no more slots of off than it has: it does 1.10"
    )


def test_whole_slots_are_those_of_a_log_with_few_digits() -> None:
    """3.9999999 are four, 3.99 are three."""
    bought = [_found(_MEASURED, [_memory("off"), _memory("mtp", worth=worth)])[4]["slots_bought"]
              for worth in (3.9999999, 3.99)]  # fmt: skip
    assert bought == [4.0, 3.0]


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ([], "no load log tells what mtp, off and a slot of off take"),
        ([_memory("off"), _memory("mtp")], "no load log tells what mtp, off and a slot of off take"),
        ([_memory("off"), _memory("mtp", slots=None, worth=4.0)], "how many slots mtp and off have is not known"),
    ],
)
def test_without_a_ledger_it_is_not_known(memory: list[dict[str, Any]], why: str) -> None:
    """Null with why, once for all levels."""
    found = _found(_MEASURED, memory)
    assert {
        (one["by"], one["slots_bought"], one["speedup"]["value"], one["other_variant"]) for one in found.values()
    } == {(None, None, None, None)}
    assert equal_memory_sentences(list(found.values())) == [
        f"Whether the memory of mtp would do more as slots of off is not known: {why}."
    ]


def test_two_rounds_predict_nothing() -> None:
    """Bounds need an interval, and it takes 3 rounds."""
    found = _found({"off": _OFF, "mtp": _MTP}, _WORTH_4[:2], noise=(1.0, 1.0))[4]
    assert (found["by"], found["speedup"]["low"]) == (None, None)
    assert "what they would do at 4 agents is not known" in found["text"]


def test_two_rounds_measure_without_an_interval() -> None:
    """A value and no call."""
    found = _found(_MEASURED, _WORTH_4, noise=(1.0, 1.0))[4]
    assert (found["by"], found["speedup"]["value"], found["better"]) == ("measured", pytest.approx(0.75), None)
    assert "0.75 times (2 rounds, without an interval)" in found["text"]


def test_set_acceptance_is_said_and_idle_speculation_left_out() -> None:
    """A diagnostic answers at the acceptance that was set; one that drafts nothing answers nothing."""
    found = _found(_MEASURED, _WORTH_4, diagnostics={"mtp": Diagnostic.SYNTHETIC})[4]
    assert "4 agents at the acceptance that was set (diagnostic) does" in found["text"]
    assert _found(_MEASURED, _WORTH_4, diagnostics={"mtp": Diagnostic.OVERHEAD}) == {}


def test_a_baseline_that_speculates_poses_no_such_question() -> None:
    """Its slots aren't slots without speculation."""
    assert _found(_MEASURED, _WORTH_4, off=("off8",)) == {}


_RATES = st.dictionaries(st.sampled_from([1, 2, 3, 4, 8, 9]), st.floats(0.1, 1e5), max_size=5)


@settings(max_examples=40)
@given(
    _RATES,
    _RATES,
    st.floats(-20, 20),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.lists(st.floats(0.5, 2), min_size=1, max_size=4),
)
def test_whatever_was_measured_there_is_an_answer_or_why_not(
    off: dict[int, float], mtp: dict[int, float], worth: float, slots: tuple[int, int], noise: list[float]
) -> None:
    """Strict JSON, a text for every level, and bounds in their order."""
    memory = [_memory("off", slots=slots[0]), _memory("mtp", slots=slots[1], worth=worth)]
    found = _found({"off": off, "mtp": mtp}, memory, noise=noise)
    assert set(found) == set(mtp)
    for entry in found.values():
        low, high = entry["speedup"]["low"], entry["speedup"]["high"]
        assert entry["text"]
        assert low is None or low <= high
