"""Rules of the timing model: times that can be worked out by hand."""

from collections.abc import Iterator

import pytest

from benchmarks.timing_model import Agent, Call, Server, Speed, play

_SPEED = Speed(base_s=0.1, per_sequence_s=0.0, tokens_per_step=1.0, prefill_s_per_token=0.01, prefill_slowdown=1.0)


def _call(agent: int, *, due: float = 0.0, uncached: int = 100, tokens: int = 10, fails: float | None = None) -> Call:
    return Call(
        agent=agent, session=0, play=0, turn=0, phase="segment", ready=due, due=due, wait_kind=None,
        uncached=uncached, tokens=tokens, fails_after=fails,
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


def _ends(calls: Iterator[Call] | list[Call]) -> list[float]:
    return [call.end for call in calls]


def test_a_request_alone_is_prefill_and_then_its_steps() -> None:
    """100 tokens of prefill at 10 ms and 10 steps of 0.1 s: first at 1 s, end at 2 s."""
    (call,) = _played([_call(0)], slots=1)
    assert (call.taken, call.first, call.end) == pytest.approx((0, 1, 2))


def test_requests_wait_for_a_slot_in_the_order_of_their_arrival() -> None:
    """Three on one slot: they end at 2, 4 and 6 s and are taken when the one before ends."""
    calls = _played([_call(0), _call(1, due=0.2), _call(2, due=0.1)], slots=1)
    assert _ends(calls) == pytest.approx([2, 6, 4])
    assert [call.taken for call in calls] == pytest.approx([0, 4, 2])


def test_prefills_share_the_device_and_steps_are_taken_together() -> None:
    """Two at once: both prefill until 2 s and end at 3 s, because a step serves them both."""
    assert _ends(_played([_call(0), _call(1)], slots=2)) == pytest.approx([3, 3])


def test_a_step_takes_longer_the_more_it_serves() -> None:
    """0.1 s more a sequence: 0.2 s a step alone, 0.3 s for two."""
    speed = Speed(base_s=0.1, per_sequence_s=0.1, prefill_s_per_token=0.0, prefill_slowdown=1.0)
    assert _ends(_played([_call(0)], slots=1, speed=speed)) == pytest.approx([2])
    assert _ends(_played([_call(0), _call(1)], slots=2, speed=speed)) == pytest.approx([3, 3])


def test_speculation_takes_fewer_steps() -> None:
    """Two tokens a step: 5 steps for 10 tokens."""
    speed = Speed(base_s=0.1, per_sequence_s=0.0, tokens_per_step=2.0, prefill_s_per_token=0.0)
    assert _ends(_played([_call(0)], slots=1, speed=speed)) == pytest.approx([0.5])


def test_a_failure_ends_a_request_early_and_noise_scales_everything() -> None:
    """Failing after half of its tokens: 1 s + 0.5 s; twice as slow: 3 s."""
    assert _ends(_played([_call(0, fails=0.5)], slots=1)) == pytest.approx([1.5])
    assert _ends(_played([_call(0, fails=0.5)], slots=1, factor=2.0)) == pytest.approx([3])
