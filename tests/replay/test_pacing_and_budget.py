"""Back-off, punctual waits, the safety ceiling, and the time budget."""

import time

import pytest

from loadgen.replay.budget import Budget
from loadgen.replay.pacing import LEAST_MARGIN_NS, MOST_MARGIN_NS, Alarm, Ceiling, backoff_s


def test_back_off_doubles_up_to_ten_seconds() -> None:
    """0.5·2ⁱ s after the i-th failure in a row (from 0), at most 10 s."""
    assert [backoff_s(failures) for failures in range(1, 8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_back_off_survives_a_long_night() -> None:
    """Thousands of failures in a row don't overflow."""
    assert backoff_s(5000) == 10.0


async def test_without_a_ceiling_nothing_waits() -> None:
    """No rate, no throttle."""
    ceiling = Ceiling(None)
    for _ in range(1000):
        await ceiling.admit()


async def test_the_ceiling_spaces_requests() -> None:
    """At 200 requests a second the fifth starts no sooner than 20 ms after the first."""
    ceiling = Ceiling(200)
    start = time.monotonic()
    for _ in range(5):
        await ceiling.admit()
    assert time.monotonic() - start >= 0.02


async def test_an_alarm_never_rings_early() -> None:
    """A turn that is sent before its time would shorten the wait that the workload declares."""
    alarm = Alarm()
    for wait_ns in (0, 1_000, 2_000_000, 9_000_000):
        at_ns = time.monotonic_ns() + wait_ns
        await alarm.wait_until(at_ns)
        assert time.monotonic_ns() >= at_ns


def test_an_alarm_learns_how_late_timers_are() -> None:
    """Late sleeps widen the margin at once, punctual ones narrow it slowly; both within bounds."""
    alarm = Alarm()
    alarm.learn(4_000_000)
    assert alarm.margin_ns == 4_000_000
    alarm.learn(100)
    assert alarm.margin_ns == 3_800_000
    alarm.learn(10**9)
    assert alarm.margin_ns == MOST_MARGIN_NS
    for _ in range(100):
        alarm.learn(0)
    assert alarm.margin_ns == LEAST_MARGIN_NS


@pytest.mark.parametrize("round_", [1, 2, 50])
def test_asked_rounds_are_never_cut(round_: int) -> None:
    """With --rounds the budget ends nothing."""
    budget = Budget(0.0, fixed_rounds=True)
    budget.round_started(4)
    assert budget.holds_another_round(round_, 4)


def test_a_spent_budget_ends_the_run_but_not_before_round_one() -> None:
    """The first round always runs; later ones only while there is time."""
    budget = Budget(0.0, fixed_rounds=False)
    assert budget.holds_another_round(1, 4)
    budget.round_started(4)
    assert not budget.holds_another_round(2, 4)
    assert budget.left_s() == 0.0


def test_an_ample_budget_holds_rounds() -> None:
    """Rounds go on while their mean fits into what is left."""
    budget = Budget(3600.0, fixed_rounds=False)
    budget.round_started(4)
    assert budget.holds_another_round(5, 4)


def test_a_resumed_run_goes_on_with_what_is_left_of_its_budget() -> None:
    """Seconds spent before count, and what a round was planned to take decides while none has been seen."""
    budget = Budget(100.0, fixed_rounds=False, spent_s=60.0)
    assert 39 < budget.left_s() <= 40
    budget.expect(7.5)
    assert budget.holds_another_round(5, 4)
    budget.expect(12.5)
    assert not budget.holds_another_round(5, 4)


def test_a_round_with_fewer_trials_takes_less() -> None:
    """Where half of the cells are known, the budget that 4 trials of 12.5 s would break holds 2 of them."""
    budget = Budget(100.0, fixed_rounds=False, spent_s=60.0)
    budget.expect(12.5)
    assert not budget.holds_another_round(5, 4)
    assert budget.holds_another_round(5, 2)
