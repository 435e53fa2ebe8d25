"""Rules of the race: who leads, who is dropped, when it ends."""

import math
import random
from collections.abc import Sequence

import pytest

from loadgen.analysis.sequential.race import first, race


def rates(**logs: Sequence[float | None]) -> dict[str, dict[int, float]]:
    """Tasks per hour by variant and round from ln X; null where a round has no valid trial."""
    return {
        name: {number: math.exp(x) for number, x in enumerate(found, start=1) if x is not None}
        for name, found in logs.items()
    }


OFF = [0.0] * 7
AHEAD = [0.2] * 7


@pytest.mark.parametrize(("spread", "dropped"), [(0.05, ["b"]), (0.06, [])])
def test_one_is_dropped_when_its_bound_over_all_candidates_and_looks_is_below_1(
    spread: float, dropped: list[str]
) -> None:
    """Two rivals and two looks: t at 1 − 0.05/4 with 2 degrees is 6.205, so 0.2 counts where s < 0.2·√3/6.205."""
    assert 0.05 < 0.2 * math.sqrt(3) / 6.2054 < 0.06
    behind = [-spread, 0.0, spread]
    found = race(rates(off=[0.15, 0.25, 0.2], a=[0.2] * 3, b=behind), (3, 5), baseline="off", order=["off", "b", "a"])
    assert found.leader == "a"
    assert [one.variant for one in found.dropped] == dropped
    if dropped:
        (one,) = found.dropped
        assert (one.after_round, one.leader, one.to_leader.n) == (3, "a", 3)
        assert one.to_leader.value == pytest.approx(math.exp(-0.2))
        assert one.to_leader.high == pytest.approx(math.exp(-0.2 + 6.2054 * 0.05 / math.sqrt(3)), rel=1e-4)


def test_nothing_happens_before_the_first_look() -> None:
    """Two rounds of a race that is looked at after three."""
    found = race(rates(off=OFF[:2], a=AHEAD[:2]), (3, 5), baseline="off", order=["off", "a"])
    assert (found.ended_after, found.leader, found.standing, found.dropped) == (None, None, ("off", "a"), ())


def test_the_race_ends_when_one_is_left() -> None:
    """All others, the baseline among them, are behind without any spread at the first look."""
    found = race(rates(off=OFF, a=AHEAD, b=[0.1] * 3), (3, 5, 7), baseline="off", order=["off", "a", "b"])
    assert (found.ended_after, found.leader, found.standing) == (3, "a", ("a",))
    assert [one.variant for one in found.dropped] == ["off", "b"]


def test_the_race_ends_at_its_last_look() -> None:
    """Two that can't be told apart stand; the one with the better mean leads."""
    close = [0.2, 0.1, 0.3, 0.2, 0.2]
    found = race(rates(off=OFF, a=[0.21] * 5, b=close), (3, 5), baseline="off", order=["off", "b", "a"])
    assert (found.ended_after, found.leader, found.standing) == (5, "a", ("b", "a"))


def test_rounds_behind_the_end_change_nothing() -> None:
    """Whatever fresh rounds show, the race is over."""
    before = rates(off=OFF[:5], a=AHEAD[:5], b=[0.19, 0.21, 0.2, 0.18, 0.2])
    after = rates(off=OFF, a=[*AHEAD[:5], -1.0, -1.0], b=[0.19, 0.21, 0.2, 0.18, 0.2])
    order = ["off", "a", "b"]
    assert race(before, (3, 5), baseline="off", order=order) == race(after, (3, 5), baseline="off", order=order)


def test_of_equals_the_first_in_order_leads() -> None:
    """The one to prefer: it takes less memory."""
    same = rates(off=OFF, a=AHEAD, b=AHEAD)
    assert race(same, (3,), baseline="off", order=["b", "a", "off"]).leader == "b"
    assert race(same, (3,), baseline="off", order=["off", "a", "b"]).leader == "a"


def test_the_baseline_may_lead() -> None:
    """Speculation that costs in every setting loses the race to `off`."""
    found = race(rates(off=OFF, a=[-0.1] * 3, b=[-0.2] * 3), (3,), baseline="off", order=["off", "a", "b"])
    assert (found.leader, found.standing) == ("off", ("off",))


def test_who_has_no_valid_trial_takes_no_part() -> None:
    """It neither leads nor keeps the race from ending; who did no task in any round is no better."""
    measured = {**rates(off=OFF, a=AHEAD), "c": {1: -3.0, 2: 0.0}}
    found = race(measured, (3, 5), baseline="off", order=["off", "a", "b", "c"])
    assert (found.ended_after, found.leader, found.absent) == (3, "a", ("b", "c"))


def test_few_rounds_do_not_lead() -> None:
    """One lucky round of three is no lead, unless nobody has more."""
    lucky = rates(off=OFF[:3], a=[0.1, 0.1, 0.1], b=[0.9, None, None])
    assert first(["off", "a", "b"], lucky, "off") == "a"
    assert first(["b"], lucky, "off") == "b"
    assert first(["c"], lucky, "off") is None


def test_without_the_baseline_the_race_goes_on() -> None:
    """Its trials may count in the fresh rounds; until then means are compared as they are."""
    found = race(rates(a=AHEAD, b=OFF), (3,), baseline="off", order=["off", "a", "b"])
    assert (found.ended_after, found.leader, found.standing, found.absent) == (3, "a", ("a",), ("off",))


def test_pairs_are_rounds_in_which_both_count() -> None:
    """A round without the leader is no pair."""
    found = race(
        rates(off=OFF[:5], a=[0.3, None, 0.3, 0.3, 0.3], b=[0.1, 9.0, 0.1, 0.1, 0.1]),
        (5,),
        baseline="off",
        order=["off", "a", "b"],
    )
    assert found.leader == "b"
    assert found.standing == ("off", "a", "b")


def test_the_best_is_rarely_dropped() -> None:
    """Six equal candidates, 5 % noise, three looks: a given one is dropped in at most 5 % of 400 races (seed 7)."""
    draw = random.Random(7)  # noqa: S311 - noise, not a secret
    names = ["off", "a", "b", "c", "d", "e"]
    dropped = 0
    for _ in range(400):
        measured = rates(**{name: [draw.gauss(0, 0.05) for _ in range(7)] for name in names})
        found = race(measured, (3, 5, 7), baseline="off", order=names)
        dropped += any(one.variant == "a" for one in found.dropped)
    assert dropped <= 0.05 * 400
