"""Looks are taken when they are due, once, and what they close stays closed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from loadgen.cell_key import CellKey
from loadgen.experiment.stop_policy import Decision
from loadgen.records.manifest import JournalEntry, Look
from loadgen.replay.looks import Looks, preset
from tests.replay.test_plan import experiment, plan

EVERY = {CellKey(variant, level) for variant in ("off", "mtp") for level in (1, 2, 4, 8)}


class Fixed:
    """A policy that leaves open what it was told, by round."""

    def __init__(self, by_round: dict[int, set[CellKey] | None]) -> None:
        self._by_round = by_round
        self.asked: list[int] = []

    def looks(self, rounds: int) -> Sequence[int]:
        """Beyond the plan, too."""
        return [2, 4, rounds, rounds + 1, 0]

    def after(self, round_: int) -> Decision:
        """What was told."""
        self.asked.append(round_)
        left = self._by_round[round_]
        return Decision(open=None if left is None else frozenset(left), note=f"look after {round_}")


class Told:
    """Looks over a plan of 6 rounds, with what they said and noted."""

    def __init__(self, policy: Fixed | None, journal: Sequence[JournalEntry] = ()) -> None:
        self.said: list[tuple[str, str | None, Look | None]] = []
        self.noted: list[str] = []
        made = msgspec.structs.replace(plan(experiment(rounds=6)), looks=[2, 4])
        self.looks = Looks(policy, made, "off", journal, say=self._say, note=self.noted.append)

    def _say(self, what: str, detail: str | None, look: Look | None) -> None:
        self.said.append((what, detail, look))

    @property
    def closed(self) -> list[Any]:
        """Round and cells of each look that was said."""
        return [(look.round, look.closed) for *_, look in self.said if look]


def test_looks_lie_between_the_rounds_of_the_plan() -> None:
    """None at or after the last round, none without a policy."""
    assert preset(Fixed({}), 6) == [2, 4]
    assert preset(None, 6) == []


async def test_a_look_is_taken_before_the_next_round_begins() -> None:
    """After round 2 and 4, not before; the baseline stays only where another variant is open."""
    policy = Fixed({2: {CellKey("mtp", 1), CellKey("mtp", 8)}, 4: {CellKey("mtp", 8)}})
    told = Told(policy)
    for round_ in (1, 2):
        await told.looks.before(round_)
    assert (policy.asked, told.looks.cells()) == ([], EVERY)
    await told.looks.before(3)
    assert told.looks.cells() == {CellKey("mtp", 1), CellKey("mtp", 8), CellKey("off", 1), CellKey("off", 8)}
    await told.looks.before(4)
    await told.looks.before(5)
    assert policy.asked == [2, 4]
    assert told.looks.cells() == {CellKey("mtp", 8), CellKey("off", 8)}
    assert told.closed == [(2, [CellKey("mtp", 2), CellKey("mtp", 4)]), (4, [CellKey("mtp", 1)])]
    assert [what for what, *_ in told.said] == ["looked", "looked"]
    assert told.noted == ["look after 2", "look after 4"]


async def test_a_look_that_leaves_everything_open_is_a_look() -> None:
    """It closes nothing, and the journal has it: it has taken its share of the error."""
    told = Told(Fixed({2: None, 4: None}))
    await told.looks.before(3)
    assert told.closed == [(2, [])]
    assert told.looks.cells() == EVERY


async def test_a_resumed_run_keeps_what_earlier_looks_closed() -> None:
    """And takes only the looks that it hasn't taken; one that was due when it was interrupted is taken late."""
    first = Told(Fixed({2: {CellKey("mtp", 8)}}))
    await first.looks.before(3)
    journal = [JournalEntry(at_ns=0, what=what, detail=detail, look=look) for what, detail, look in first.said]
    policy = Fixed({4: set()})
    again = Told(policy, journal)
    assert again.looks.cells() == {CellKey("mtp", 8), CellKey("off", 8)}
    await again.looks.before(3)
    assert policy.asked == []
    await again.looks.before(6)
    assert policy.asked == [4]
    assert again.looks.cells() == set()
    assert again.closed == [(4, [CellKey("mtp", 8)])]


async def test_without_a_policy_nobody_looks() -> None:
    """What was closed stays closed, though: more rounds go where the answer is open."""
    first = Told(Fixed({2: {CellKey("mtp", 8)}}))
    await first.looks.before(3)
    journal = [JournalEntry(at_ns=0, what=what, detail=detail, look=look) for what, detail, look in first.said]
    told = Told(None, journal)
    await told.looks.before(6)
    assert (told.said, told.looks.cells()) == ([], {CellKey("mtp", 8), CellKey("off", 8)})


async def test_variants_that_are_given_up_need_no_baseline() -> None:
    """With the only open variant out, nothing is left to measure."""
    assert Told(None).looks.cells(out=["mtp"]) == set()
