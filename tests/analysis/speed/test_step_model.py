"""Rules of the time of a decode step."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.speed.step_model import step_times, steps_known, work_by_round
from tests.analysis.timed import MAKE, rounds, timed, with_timings


def _step_times(*cells: list[Trial], off: tuple[str, ...] = ("off",)) -> dict[str, Any]:
    """The entries by variant."""
    valid = {(cell[0].record.variant, cell[0].record.level): cell for cell in cells}
    return {entry["variant"]: entry for entry in MAKE.strict_json(step_times(valid, "off", off=off))}


def test_a_step_takes_decoding_time_over_decode_steps() -> None:
    """60 tokens at 3 a step are 20 steps; at 50 ms each, 1 s of a turn of 3 s, whose rest is 2 s."""
    found = _step_times(rounds("mtp", 4, step=0.05, rest=2.0, per_step=3))["mtp"]
    assert found["step_s"]["value"] == pytest.approx(0.05)
    assert found["tokens_per_step"]["value"] == 3
    assert found["rest_s"]["value"] == pytest.approx(2.0)
    assert found["decode_share"]["value"] == pytest.approx(1 / 3)
    assert (found["in_flight"], found["reason"]) == (4, None)


def test_declared_waits_are_told_from_the_rest() -> None:
    """Two turns of 1 s of waiting, 0.5 s of prefill and 3 s of decoding: 2 of 9 s were waited."""
    work = work_by_round([timed("off", 1, rest=1.0, prefill=0.5)])[1]
    assert [work.agent_s, work.waited_s, work.decode_s] == pytest.approx([9, 2, 6])
    assert (work.turns, work.steps, work.tokens) == (2, 120, 120)


@pytest.mark.parametrize("level", [1, 2, 8])
def test_slots_share_their_steps(level: int) -> None:
    """Eight agents in lockstep each see every step whole: 50 ms, not 50 ÷ 8."""
    found = _step_times(rounds("off", level, step=0.05))["off"]
    assert found["step_s"]["value"] == pytest.approx(0.05)


def test_steps_are_summed_before_they_are_divided() -> None:
    """20 steps of 50 ms and 60 of 10 ms are 1.6 s ÷ 80 steps, not the mean of 50 and 10."""
    slow, fast = timed("off", 1, 1, step=0.05, tokens=20), timed("off", 1, 2, step=0.01, tokens=60)
    found = _step_times([slow, fast])["off"]
    assert found["step_s"] == {"value": pytest.approx(0.02), "low": None, "high": None, "n": 2, "estimable": False}


def test_the_interval_is_over_rounds() -> None:
    """Rounds of 49, 50 and 51 ms: around 50 ms by 4.3027 · 1 ÷ √3 ms, but for the logarithm."""
    found = _step_times(rounds("off", 1, (0.98, 1.0, 1.02), step=0.05))["off"]["step_s"]
    assert found["value"] == pytest.approx(0.05)
    assert found["high"] - found["low"] == pytest.approx(2 * 4.3027 * 0.001 / 3**0.5, rel=1e-3)


def test_what_speculation_promised_is_held_against_what_it_made_of_it() -> None:
    """Three tokens a step promise 3 times the speed; with steps 2.5 times as long, decoding gets 1.2 times."""
    found = _step_times(rounds("off", 2, (1.0, 1.3, 0.9)), rounds("mtp", 2, (1.0, 1.3, 0.9), step=0.125, per_step=3))
    assert (found["off"]["promised"], found["off"]["step_cost"], found["off"]["realised"]) == (None, None, None)
    assert found["mtp"]["promised"]["value"] == pytest.approx(3)
    assert found["mtp"]["step_cost"]["value"] == pytest.approx(2.5)
    assert found["mtp"]["realised"]["value"] == pytest.approx(1.2)
    # The noise of a round is shared, so that pairs have none.
    assert found["mtp"]["step_cost"]["low"] == pytest.approx(2.5)


def test_a_server_without_timings_has_no_steps() -> None:
    """Null with the reason, never 0; the ratios to it are null too."""
    bare = [with_timings(trial, predicted_ms=None) for trial in rounds("off", 1)]
    found = _step_times(bare, rounds("mtp", 1, per_step=3))
    assert found["off"]["step_s"]["value"] is None
    assert "does not tell" in found["off"]["reason"]
    assert found["mtp"]["step_cost"] == {"value": None, "low": None, "high": None, "n": 0, "estimable": False}
    assert found["mtp"]["step_s"]["value"] == pytest.approx(0.05)


def test_a_variant_that_may_draft_and_reports_no_drafts_has_no_steps() -> None:
    """Whether a step gave one token or several isn't known then; of one that is off it is."""
    trials = rounds("mtp", 1, drafts=False)
    assert not steps_known(trials, off=False)
    assert _step_times(trials)["mtp"]["step_s"]["value"] is None
    assert _step_times(trials, off=("mtp",))["mtp"]["step_s"]["value"] == pytest.approx(0.05)


def test_turns_that_tell_nothing_make_a_round_unusable_beyond_one_in_twenty() -> None:
    """19 of 20 told are enough, 18 are not: the others' decoding would pass for rest."""

    def told(count: int) -> dict[int, Any]:
        trial = timed("off", 20, turns=1)
        requests = [
            msgspec.structs.replace(request, timings=request.timings if number < count else None)
            for number, request in enumerate(trial.requests)
        ]
        return work_by_round([Trial(record=trial.record, requests=requests, events=trial.events)])

    assert list(told(19)) == [1]
    assert told(18) == {}


def test_sub_agents_decode_beside_their_agents() -> None:
    """Their decoding adds up to more than the time that it takes, so nothing is modelled."""
    trial = timed("off", 1)
    requests = [msgspec.structs.replace(trial.requests[0], session="child"), *trial.requests[1:]]
    assert work_by_round([Trial(record=trial.record, requests=requests, events=trial.events)]) == {}


_NUMBER = st.one_of(
    st.none(),
    st.integers(-10, 10**6),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=3),
    st.booleans(),
)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(["predicted_ms", "predicted_n", "draft_n", "draft_n_accepted"]), _NUMBER))
def test_whatever_a_server_calls_its_timings_the_document_is_strict_json(timings: dict[str, Any]) -> None:
    """No NaN, no infinity, no crash."""
    odd = [with_timings(trial, **timings) for trial in rounds("mtp", 2, per_step=3)]
    _step_times(rounds("off", 2), odd)
