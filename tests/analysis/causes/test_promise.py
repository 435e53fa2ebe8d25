"""Rules of the promise: tokens per step against the time a step takes."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.causes.idle_twin import idle_twin
from loadgen.analysis.causes.promise import Promise, verify_width, wide_enough
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.speed.step_model import Work, work_by_round


def work(tokens: int, steps: int, step_ms: float) -> Work:
    """Decode work by its step time."""
    return Work(agent_s=10.0, turns=1, decode_s=steps * step_ms / 1000, steps=steps, tokens=tokens)


OFF = {number: work(100, 100, 10) for number in (1, 2, 3)}
MTP = {number: work(100, 40, 20) for number in (1, 2, 3)}


def test_promised_over_step_time_is_the_speed_up_of_decoding() -> None:
    """2.5 tokens a step, but a step of 20 ms instead of 10: decoding is 1.25 times as fast."""
    found = Promise(MTP, OFF).as_json()
    assert found["promised"]["value"] == pytest.approx(2.5)
    assert found["step_time"]["ratio"]["value"] == pytest.approx(2)
    assert found["decode_speedup"]["value"] == pytest.approx(1.25)
    assert (found["step_time"]["s"], found["step_time"]["baseline_s"]) == (pytest.approx(0.02), pytest.approx(0.01))


counts = st.builds(
    Work,
    agent_s=st.just(10.0),
    turns=st.just(1),
    decode_s=st.just(0.0) | st.floats(1e-6, 1e6),
    steps=st.integers(1, 10**9),
    tokens=st.integers(1, 10**9),
)


@given(st.dictionaries(st.integers(1, 6), counts), st.dictionaries(st.integers(1, 6), counts))
def test_the_identity_holds_whatever_was_measured(make: Any, ours: dict[int, Work], theirs: dict[int, Work]) -> None:
    """Over the rounds that both have, with time in them: promised ÷ step time = decoding; without one, all are null."""
    found = make.strict_json(Promise(ours, theirs).as_json())
    promised, ratio, decoding = (
        one["value"] for one in (found["promised"], found["step_time"]["ratio"], found["decode_speedup"])
    )
    timed = [{number for number, one in works.items() if one.decode_s} for works in (ours, theirs)]
    if not timed[0] & timed[1]:
        assert (promised, ratio, decoding) == (None, None, None)
    else:
        assert promised / ratio == pytest.approx(decoding, rel=1e-6)


def test_one_round_has_no_interval() -> None:
    """The values are there, and say that they are without an interval."""
    found = Promise({1: MTP[1]}, OFF).as_json()["promised"]
    assert found == {"value": pytest.approx(2.5), "low": None, "high": None, "n": 1, "estimable": False}


def test_a_step_is_as_wide_as_the_answers_that_share_it(make: Any) -> None:
    """3 tokens drafted a step and one of its own: 4 an answer, and no more answers than slots."""
    timings = {"predicted_n": 100, "predicted_ms": 800.0, "draft_n": 120, "draft_n_accepted": 60}
    trials = [make.trial([make.request(timings=timings)])]
    widths = [
        verify_width(trials, work_by_round(trials), level=level, slots=slots)
        for level, slots in ((2, 4), (8, 4), (8, None))
    ]
    assert widths == [8, 16, 32]
    plain = [make.trial([make.request(timings={"predicted_n": 100, "predicted_ms": 800.0})])]
    assert verify_width(plain, work_by_round(plain), level=8, slots=4) is None
    assert verify_width(trials, {}, level=8, slots=4) is None


def test_overhead_times_the_rest_is_the_step_time() -> None:
    """Loaded but idle a step takes 12 ms: 1.2 times, and drafting and verifying 20 ÷ 12 times that."""
    idle = {number: work(100, 100, 12) for number in (1, 2, 3)}
    found = Promise(MTP, OFF).overhead(idle)
    assert found["overhead"]["value"] == pytest.approx(1.2)
    assert found["overhead"]["value"] * found["drafting_and_verifying"]["value"] == pytest.approx(2)
    nothing = Promise(MTP, OFF).overhead({})
    assert (nothing["overhead"]["value"], nothing["drafting_and_verifying"]["value"]) == (None, None)


def test_what_a_batch_as_wide_cannot_explain_is_drafting() -> None:
    """The baseline's steps at that width take 16 ms, so at most 1.6 is verifying and at least 1.25 is drafting."""
    promise = Promise(MTP, OFF)
    found = promise.drafting({number: work(100, 100, 16) for number in (1, 2, 3)})
    assert found is not None
    assert found["verification_at_most"]["value"] == pytest.approx(1.6)
    assert found["drafting_at_least"]["value"] == pytest.approx(1.25)
    assert promise.drafting({number: work(100, 100, 25) for number in (1, 2, 3)}) is None
    assert promise.drafting({}) is None


def test_the_width_is_looked_up_at_the_next_level_that_has_a_slot_for_all(make: Any) -> None:
    """7 tokens: 8 agents, not 4; no more than there are slots, and none where these aren't known."""
    timings = {"predicted_n": 10, "predicted_ms": 80.0}
    base = {level: [make.trial([make.request(timings=timings)], level=level)] for level in (1, 4, 8, 16)}
    level, works = wide_enough(7.0, base, 8)
    assert level == 8
    assert works[1].step_s == pytest.approx(0.008)
    assert wide_enough(8.0, base, 8)[0] == 8
    assert wide_enough(8.1, base, 8) == (None, {})
    assert wide_enough(7.0, {**base, 8: []}, 32)[0] == 16
    assert wide_enough(7.0, base, None) == (None, {})
    assert wide_enough(None, base, 8) == (None, {})


def test_the_idle_twin_is_found_by_name_or_by_being_the_only_one() -> None:
    """Experiment files call it after its variant; a set acceptance is the same server."""
    names = ["off", "mtp", "mtp-L2.5", "mtp-overhead", "ngram", "ngram-overhead"]
    idle = {"mtp-overhead": Diagnostic.OVERHEAD, "ngram-overhead": Diagnostic.OVERHEAD}
    twins = [idle_twin(name, names, "off", idle) for name in names]
    assert twins == [None, "mtp-overhead", "mtp-overhead", None, "ngram-overhead", None]
    lone = {"idle": Diagnostic.OVERHEAD}
    assert idle_twin("mtp", ["off", "mtp", "idle"], "off", lone) == "idle"
    assert idle_twin("mtp", ["off", "mtp", "ngram", "idle"], "off", lone) is None
    assert idle_twin("mtp", ["off", "mtp"], "off", {}) is None


def test_log_ratios_of_decoding_keep_their_rounds() -> None:
    """They are paired with tasks per hour later."""
    assert Promise({2: MTP[2], 9: MTP[1]}, OFF).decoding == {2: pytest.approx(math.log(1.25))}
