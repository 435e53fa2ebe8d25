"""Rules of the tokens a step that speculation needs to pay."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.speed.needed_tokens import Needed, Side, from_lengths, from_steps
from loadgen.analysis.speed.step_model import Work


def _parts(found: Needed) -> tuple[Any, ...]:
    """Value, ends and rounds."""
    return found.value, found.low, found.high, found.rounds


def _lengths(*points: tuple[float, Sequence[float]]) -> Needed:
    return from_lengths([(length, dict(enumerate(logs, start=1))) for length, logs in points])


def test_between_two_lengths_the_speed_up_is_on_a_line() -> None:
    """−0.3 at 2.5 and +0.1 at 3.5: three quarters of the way, 3.25."""
    found = _lengths((3.5, [0.1] * 3), (2.5, [-0.3] * 3))
    assert _parts(found) == (pytest.approx(3.25),) * 3 + (3,)
    assert (found.beyond, found.bound, found.reason) == (None, None, None)


def test_the_interval_is_every_length_that_the_rounds_cannot_tell_from_it() -> None:
    """Rounds ±0.2 ± 0.02 at 2 and 4 tokens: within 4.3027 · 0.02 ÷ √3 = 0.0497 of 0, on a slope of 0.2 a token."""
    found = _lengths((2, [-0.22, -0.2, -0.18]), (4, [0.18, 0.2, 0.22]))
    assert found.value == pytest.approx(3)
    assert found.low == pytest.approx(3 - 0.04968 / 0.2, abs=0.01)
    assert found.high == pytest.approx(3 + 0.04968 / 0.2, abs=0.01)


def test_pairs_take_out_the_noise_that_rounds_share() -> None:
    """Rounds that differ alike at both lengths move the root of each, and the interval is of their mean."""
    found = _lengths((2, [-0.3, -0.2, -0.1]), (3, [0.1, 0.2, 0.3]))
    assert found.value == pytest.approx(2.5)
    assert (found.low, found.high) == (None, None)  # 4.3027 · 0.1 ÷ √3 = 0.248 reaches beyond both lengths


def test_nothing_is_extrapolated_above() -> None:
    """Below 1 at the longest length: more than that, surely from there on."""
    found = _lengths((2, [-0.3, -0.31, -0.29]), (3.4, [-0.1, -0.11, -0.09]))
    assert (found.value, found.beyond, found.bound) == (None, Side.MORE_THAN, 3.4)
    assert (found.low, found.high) == (3.4, None)


def test_nothing_is_extrapolated_below() -> None:
    """Above 1 at the shortest length: less than that, surely up to there."""
    found = _lengths((2, [0.1, 0.11, 0.09]), (3.4, [0.3, 0.31, 0.29]))
    assert (found.value, found.beyond, found.bound) == (None, Side.LESS_THAN, 2)
    assert (found.low, found.high) == (None, 2)


def test_what_cannot_be_told_from_1_at_the_end_leaves_shorter_lengths_possible() -> None:
    """−0.05 ± 0.1 at the longest length may be 0 already: the interval begins before it."""
    found = _lengths((2, [-0.5, -0.5, -0.5]), (3, [-0.15, -0.05, 0.05]))
    assert (found.value, found.beyond, found.bound, found.high) == (None, Side.MORE_THAN, 3, None)
    assert found.low is not None
    assert 2.4 < found.low < 3


@pytest.mark.parametrize("logs", [([0.1], [-0.1]), ([-0.1], [0.1], [-0.1]), ([0.1], [-0.1], [0.1])])
def test_a_speed_up_that_does_not_rise_through_1_has_no_length(logs: tuple[list[float], ...]) -> None:
    """More acceptance can't make it slower: noise, or something else, and the reason says so."""
    found = _lengths(*((length, several * 3) for length, several in enumerate(logs, start=2)))
    assert not found.known
    assert found.reason is not None
    assert "up and down" in found.reason


def test_fewer_than_three_rounds_have_no_interval() -> None:
    """The means meet 1, but nothing is said of how surely."""
    found = _lengths((2, [-0.1, -0.1]), (3, [0.1, 0.1]))
    assert _parts(found) == (pytest.approx(2.5), None, None, 2)
    beyond = _lengths((2, [-0.2]), (3, [-0.1]))
    assert (beyond.beyond, beyond.low, beyond.bound) == (Side.MORE_THAN, None, 3)


def test_one_length_is_no_line() -> None:
    """Nor are two variants that gave equally many tokens a step, nor one without a pair of trials."""
    for found in (_lengths((2, [-0.1] * 3)), _lengths((2, [0.1] * 3), (2, [-0.1] * 3)), _lengths((2, [0.1]), (3, []))):
        assert not found.known
        assert found.reason == "acceptance was set to one length only"


@given(
    st.lists(st.tuples(st.floats(1, 20), st.dictionaries(st.integers(1, 6), st.floats(-5, 5), max_size=6)), max_size=6)
)
def test_whatever_the_points_the_answer_lies_within_them(points: list[tuple[float, Mapping[int, float]]]) -> None:
    """No NaN, no crash, no extrapolation, and an interval around its value."""
    found = from_lengths(points)
    lengths = [length for length, logs in points if logs]
    for part in (found.value, found.low, found.high, found.bound):
        assert part is None or (math.isfinite(part) and min(lengths) <= part <= max(lengths))
    assert found.known or found.reason is not None


def _modelled(
    *,
    step: float = 0.05,
    base_step: float = 0.02,
    rest: float = 1.0,
    base_rest: float = 1.0,
    tokens: int = 60,
    length: float = 2.0,
    factors: Sequence[float] = (1.0, 1.0, 1.0),
    base_factors: Sequence[float] | None = None,
    most: float | None = None,
) -> Needed:
    """One turn a round, a whole task; the baseline gives a token a step."""
    works, pace, base = {}, {}, {}
    for number, factor in enumerate(factors, start=1):
        steps = round(tokens / length)
        decode = steps * step * factor
        works[number] = Work(rest * factor + decode, 1, decode, steps, tokens, waited_s=rest * factor)
        pace[number] = (works[number].agent_s, 1.0)
        other = factor if base_factors is None else base_factors[number - 1]
        base[number] = ((base_rest + tokens * base_step) * other, 1.0)
    return from_steps(works, pace, base, most)


def test_with_equal_rest_the_length_is_the_cost_of_a_step() -> None:
    """A step of 50 ms against 20 ms needs 2.5 tokens, whatever it gives now and however long the rest is."""
    for found in (*(_modelled(length=length) for length in (1.0, 2.0, 3.0)), _modelled(rest=0.0, base_rest=0.0)):
        assert found.value == pytest.approx(2.5)


def test_the_rest_of_a_turn_counts() -> None:
    """0.6 s more of rest leave 0.6 of the baseline's 1.2 s for 60 tokens of 50 ms: 5 tokens a step."""
    assert _modelled(rest=1.6).value == pytest.approx(5)


def test_credits_count() -> None:
    """Tasks worth half as much a second need half the time: L* = 3 ÷ (2.2 · ½ − 0.5)."""
    works = {number: Work(0.5 + 1.5, 1, 1.5, 30, 60) for number in (1, 2, 3)}
    found = from_steps(works, dict.fromkeys(works, (2.0, 1.0)), dict.fromkeys(works, (2.2, 2.0)), None)
    assert found.value == pytest.approx(3 / 0.6)


def test_at_the_length_that_is_needed_the_two_do_as_many_tasks() -> None:
    """Closing the circle: at L* a turn takes as long as one of the baseline."""
    needed = _modelled(step=0.031, base_step=0.017, rest=0.8, base_rest=0.7)
    assert needed.value is not None
    assert 0.8 + 60 / needed.value * 0.031 == pytest.approx(0.7 + 60 * 0.017)


def test_where_the_rest_alone_takes_a_turn_of_the_baseline_no_length_would_do() -> None:
    """More than any number of tokens: no bound to name."""
    found = _modelled(rest=2.2)
    assert (found.value, found.beyond, found.bound, found.low, found.high) == (None, Side.MORE_THAN, None, None, None)


def test_more_than_a_draft_can_give_is_beyond_it() -> None:
    """5 tokens a step from drafts of 3: more than the 4 that a step can give."""
    found = _modelled(rest=1.6, most=4)
    assert (found.value, found.beyond, found.bound, found.low, found.high) == (None, Side.MORE_THAN, 4, 4, None)


def test_less_than_a_token_a_step_is_always_given() -> None:
    """A variant that is faster even without a token accepted needs less than 1."""
    found = _modelled(step=0.01)
    assert (found.value, found.beyond, found.bound, found.low, found.high) == (None, Side.LESS_THAN, 1, None, 1)


def test_the_interval_is_over_paired_rounds() -> None:
    """Noise that both sides of a round share leaves none; noise of one side alone widens it."""
    shared = _modelled(factors=(0.8, 1.0, 1.2))
    assert _parts(shared) == (pytest.approx(2.5), pytest.approx(2.5), pytest.approx(2.5), 3)
    alone = _modelled(base_factors=(0.97, 1.0, 1.03))
    assert alone.low is not None
    assert alone.high is not None
    assert alone.low < 2.5 < alone.high
    # 1 ÷ L* is linear in the baseline's time: 0.4 ± 4.3027 · 0.03 · 2.2 ÷ 3 ÷ √3.
    assert 1 / alone.low - 1 / alone.high == pytest.approx(2 * 4.3027 * 0.03 * 2.2 / 3 / 3**0.5, rel=1e-4)


def test_an_interval_that_no_length_may_reach_is_open() -> None:
    """Where the rounds can't exclude that no length would do, there is no upper end; with two rounds no end at all."""
    found = _modelled(rest=1.9, base_factors=(0.8, 1.0, 1.2))
    assert found.value == pytest.approx(10)
    assert found.high is None
    few = _modelled(factors=(1.0, 1.1))
    assert _parts(few) == (pytest.approx(2.5), None, None, 2)


def test_where_queue_and_prefill_take_longer_than_decoding_nothing_is_modelled() -> None:
    """Agents that decode faster only meet at the prefill then; a wait for a tool is another matter."""

    def found(waited: float) -> Needed:
        work = Work(4.0, 1, 1.5, 30, 60, waited_s=waited)
        return from_steps({1: work}, {1: (4.0, 1.0)}, {1: (4.5, 1.0)}, None)

    assert found(waited=1.1).value == pytest.approx(1.5)
    prefilling = found(waited=0.9)
    assert not prefilling.known
    assert prefilling.reason is not None
    assert prefilling.reason.startswith("queue and prefill take longer than decoding")


def test_without_common_rounds_or_tasks_nothing_is_said() -> None:
    """A reason, no number."""
    work = Work(2.0, 1, 1.0, 20, 60)
    for found in (
        from_steps({}, {}, {}, None),
        from_steps({1: work}, {1: (2.0, 1.0)}, {2: (2.0, 1.0)}, None),
        from_steps({1: work}, {1: (2.0, -1.0)}, {1: (2.0, 1.0)}, None),
        from_steps({1: Work(2.0, 1, 0.0, 20, 60)}, {1: (2.0, 1.0)}, {1: (2.0, 1.0)}, None),
    ):
        assert not found.known
        assert found.reason is not None


_TIME = st.floats(0, 1e6)


@given(
    st.lists(st.tuples(_TIME, _TIME, st.integers(1, 10**6), st.floats(-5, 5), _TIME, st.floats(-5, 5)), max_size=6),
    st.one_of(st.none(), st.integers(2, 65)),
)
def test_whatever_the_times_the_answer_is_a_number_or_none(parts: list[tuple[Any, ...]], most: int | None) -> None:
    """No NaN, no infinity, no crash."""
    rounds = dict(enumerate(parts, start=1))
    found = from_steps(
        {
            number: Work(rest + decode, 1, decode, steps, steps, rest)
            for number, (rest, decode, steps, *_) in rounds.items()
        },
        {number: (part[0] + part[1], part[3]) for number, part in rounds.items()},
        {number: (part[4], part[5]) for number, part in rounds.items()},
        most,
    )
    for part in (found.value, found.low, found.high, found.bound):
        assert part is None or (math.isfinite(part) and part >= 1)
