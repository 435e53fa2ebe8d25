"""Rules of the timing model: times that can be worked out by hand."""

import random
from dataclasses import replace

import pytest

from benchmarks.timing_model import Agent, Call, Server, Speed, play

_SPEED = Speed(base_s=0.1, per_token_s=0.0, prefill_s_per_token=0.01, prefill_slowdown=1.0)


def _call(agent: int, *, due: float = 0.0, uncached: int = 100, steps: int = 10) -> Call:
    return Call(
        agent=agent, session=0, play=0, turn=0, phase="segment", ready=due, due=due, wait_kind=None,
        uncached=uncached, tokens=steps, steps=steps, failed=False,
    )  # fmt: skip


def _once(call: Call) -> Agent:
    """An agent that makes one call, and then waits for longer than any test."""
    ended = yield call
    yield _call(ended.agent, due=1e9)


def _played(calls: list[Call], *, slots: int, speed: Speed = _SPEED, factor: float = 1.0) -> list[Call]:
    done: list[Call] = []
    play(
        [_once(c) for c in calls],
        Server(speed, slots, factor),
        stop=lambda: len(done) == len(calls),
        observe=done.append,
    )
    return sorted(done, key=lambda call: call.agent)


def _ends(calls: list[Call], *, slots: int = 8, speed: Speed = _SPEED, factor: float = 1.0) -> list[float]:
    return [call.end for call in _played(calls, slots=slots, speed=speed, factor=factor)]


def test_a_request_alone_is_prefill_and_then_its_steps() -> None:
    """100 tokens of prefill at 10 ms and 10 steps of 0.1 s: first at 1 s, end at 2 s."""
    (call,) = _played([_call(0)], slots=1)
    assert (call.taken, call.first, call.end) == pytest.approx((0, 1, 2))


def test_requests_wait_for_a_slot_in_the_order_of_their_arrival() -> None:
    """Three on one slot: they end at 2, 4 and 6 s and are taken when the one before ends."""
    calls = _played([_call(0), _call(1, due=0.2), _call(2, due=0.1)], slots=1)
    assert [call.end for call in calls] == pytest.approx([2, 6, 4])
    assert [call.taken for call in calls] == pytest.approx([0, 4, 2])


def test_prefills_share_the_device_and_steps_are_taken_together() -> None:
    """Two at once: both prefill until 2 s and end at the same instant, because a step serves them both."""
    first, second = _ends([_call(0), _call(1)])
    assert first == second == pytest.approx(3)


def test_a_request_joins_with_the_next_step() -> None:
    """Its prefill ends at 0.25 s, in the third step: it joins at 0.3 s, and its two steps end at 0.5 s."""
    calls = [_call(0, uncached=0), _call(1, uncached=25, steps=2)]
    assert _ends(calls) == pytest.approx([1.0, 0.5])


def test_a_step_takes_longer_the_wider_it_is() -> None:
    """0.1 s more a token: 0.2 s a step alone, 0.3 s for two; with one drafted token each, 0.3 and 0.5 s."""
    speed = Speed(base_s=0.1, per_token_s=0.1, prefill_s_per_token=0.0, prefill_slowdown=1.0)
    assert _ends([_call(0)], speed=speed) == pytest.approx([2])
    assert _ends([_call(0), _call(1)], speed=speed) == pytest.approx([3, 3])
    drafting = replace(speed, drafted=1)
    assert _ends([_call(0)], speed=drafting) == pytest.approx([3])
    assert _ends([_call(0), _call(1)], speed=drafting) == pytest.approx([5, 5])


def test_a_cliff_is_paid_once_its_width_is_passed() -> None:
    """With 3 drafted tokens, 2 requests are 8 wide and 3 are 12: only these pay the cliff behind 8."""
    speed = Speed(base_s=0.1, per_token_s=0.0, drafted=3, draft_s=0.01, cliffs=((8, 0.5), (16, 0.25)))
    assert [speed.step_s(requests) for requests in (1, 2, 3, 4, 5)] == pytest.approx([0.11, 0.11, 0.61, 0.61, 0.86])


def test_steps_are_slowed_while_anything_prefills() -> None:
    """Ten steps of 0.1 s, those that begin in the first half second twice as long: 3 of 0.2 s, 7 of 0.1 s."""
    speed = replace(_SPEED, prefill_slowdown=2.0)
    assert _ends([_call(0, uncached=0), _call(1, uncached=50, steps=1)], speed=speed)[0] == pytest.approx(1.3)


def test_speculation_takes_fewer_steps() -> None:
    """All accepted: 4 tokens a step; none: 1; half: 1 + ½ + ¼ + ⅛ on average."""
    chance = random.Random(1)  # noqa: S311 - a model, no secret
    assert Speed(drafted=3, acceptance=1.0).steps(10, chance) == 3
    assert Speed(drafted=3, acceptance=0.0).steps(10, chance) == 10
    assert Speed().steps(10, chance) == 10
    assert 30_000 / Speed(drafted=3, acceptance=0.5).steps(30_000, chance) == pytest.approx(1.875, rel=0.02)


def test_noise_scales_everything_on_the_server_and_a_slower_device_too() -> None:
    """Twice as slow: 2 s become 4 s, either way."""
    assert _ends([_call(0)], factor=2.0) == pytest.approx([4])
    assert _ends([_call(0)], speed=_SPEED.slowed(2.0)) == pytest.approx([4])
    cliff = Speed(cliffs=((8, 0.5),)).slowed(2.0)
    assert cliff.step_s(9) == pytest.approx(2 * Speed(cliffs=((8, 0.5),)).step_s(9))
