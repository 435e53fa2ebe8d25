"""Rules of the looks at a run: what is known early, and that early looks don't call more by chance."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from loadgen.analysis.comparison_text import settled, unresolved
from loadgen.analysis.estimators.comparison import Call, Comparison, compare
from loadgen.analysis.estimators.intervals import ALPHA
from loadgen.analysis.sequential.looks import (
    FINAL_ALPHA,
    LOOKS_ALPHA,
    NO_LOOKS,
    Looks,
    compare_after,
    known,
    looks_entry,
    looks_of,
    preset_looks,
)
from loadgen.analysis.sequential.looks_text import looks_text
from loadgen.analysis.summary import summarise
from loadgen.cell_key import CellKey
from loadgen.records.manifest import JournalEntry, Look, Plan, PlannedTrial

PAYS = {1: 0.30, 2: 0.31, 3: 0.32, 4: 0.305}
NOISE = {1: 0.3, 2: -0.3, 3: 0.2, 4: -0.2}
LITTLE = {1: 0.02, 2: 0.05, 3: 0.03, 4: 0.04}
"""1.036 ± 0.02: surely above 1 at 4 % (p = 0.012), not at the 0.5 % of one of two looks, and not surely within 5 %."""


def planned(cells: Mapping[tuple[str, int], int], rounds: int) -> list[PlannedTrial]:
    """The trials of these cells in so many rounds."""
    return [
        PlannedTrial(
            trial=f"r{round_}-{variant}-c{level}",
            round=round_,
            variant=variant,
            level=level,
            order=0,
            turns_per_agent=1,
            short=False,
        )
        for round_ in range(1, rounds + 1)
        for variant, level in cells
    ]


def looked(round_: int, *closed: tuple[str, int]) -> JournalEntry:
    """A look that closed these cells."""
    return JournalEntry(at_ns=0, what="looked", look=Look(round=round_, closed=[CellKey(*cell) for cell in closed]))


@pytest.mark.parametrize(
    ("rounds", "looks"),
    [(1, []), (5, []), (6, [4]), (7, [4]), (8, [4, 6]), (9, [4, 6]), (10, [4, 6]), (11, [4, 8]), (12, [4, 8])],
)
def test_looks_are_few_and_set_before_the_run(rounds: int, looks: list[int]) -> None:
    """None below 6 rounds; then after 4, and after the even number nearest to two thirds."""
    assert preset_looks(rounds) == looks


def test_the_shares_of_the_error_add_up() -> None:
    """All looks together have 1 %, however many there are, and the end has the rest of 5 %."""
    looks = Looks(planned=(4, 8), taken=(4,), family=3)
    assert looks.at_look.alpha * 2 == LOOKS_ALPHA == 0.01
    assert looks.at_look.alone == pytest.approx(0.01 / 2 / 3)
    assert looks.alpha_at_end == FINAL_ALPHA == pytest.approx(0.04)
    assert Looks(planned=(4, 8), family=3).alpha_at_end == ALPHA


def test_known_is_what_would_be_called_under_the_share_of_the_look() -> None:
    """A clear gain and a clear draw are known at the first look; noise, and a gain with p = 0.012, are not."""
    pairs = {
        CellKey("mtp", 1): PAYS,
        CellKey("mtp", 2): {1: 0.001, 2: 0.0, 3: -0.001, 4: 0.0},
        CellKey("mtp", 4): NOISE,
        CellKey("mtp", 8): LITTLE,
    }
    found = known(pairs, Looks(planned=(4, 8), family=4), baseline="off", min_effect=0.05)
    assert {c.level: c.call for c in found} == {1: Call.PAYS, 2: Call.SAME}


def test_the_family_is_the_one_that_was_planned() -> None:
    """A gain with p = 4·10⁻⁵ is known among 2 comparisons at 0.5 %, and not among 200, though only one is open."""
    pairs = {CellKey("mtp", 1): {1: 0.30, 2: 0.32, 3: 0.34, 4: 0.31}}
    assert known(pairs, Looks(planned=(4, 8), family=2), baseline="off", min_effect=0.05)
    assert not known(pairs, Looks(planned=(4, 8), family=200), baseline="off", min_effect=0.05)


def test_a_narrow_interval_is_known_and_calls_nothing() -> None:
    """With a precision of 3 % a gain with p = 0.012 is measured no further, and not called at the look's 1.7 %."""
    pairs = {CellKey("mtp", 1): LITTLE, CellKey("mtp", 2): NOISE}
    looks = Looks(planned=(4, 8), family=2, precision=0.03)
    (found,) = known(pairs, looks, baseline="off", min_effect=0.05)
    assert (found.level, found.call) == (1, Call.UNRESOLVED)
    assert known(pairs, replace(looks, precision=0.01), baseline="off", min_effect=0.05) == []
    after = replace(looks, taken=(4,), closed={CellKey("mtp", 1): 4})
    first, second = compare_after(pairs, after, baseline="off", min_effect=0.05)
    assert (first.call, first.closed_after) == (Call.UNRESOLVED, 4)
    assert first.strictness.alpha == pytest.approx(0.05 / 3)
    assert second.strictness.alpha == pytest.approx(0.05 / 3)


def test_with_a_precision_all_looks_and_the_end_have_the_same_share() -> None:
    """Any look may be the end of a comparison then: 2 looks and the end have a third of 5 % each."""
    looks = Looks(planned=(4, 8), taken=(4,), family=3, precision=0.03)
    assert looks.at_look.alpha == looks.alpha_at_end == pytest.approx(ALPHA / 3)


def test_without_looks_nothing_changes() -> None:
    """Every comparison is what `compare` says at 5 %."""
    pairs = {CellKey("mtp", 1): PAYS, CellKey("mtp", 2): NOISE, CellKey("mtp", 4): {}}
    assert compare_after(pairs, NO_LOOKS, baseline="off", min_effect=0.05) == compare(
        pairs, baseline="off", min_effect=0.05
    )


def test_what_a_look_closed_keeps_its_call_and_its_level() -> None:
    """Bonferroni over the plan at the look's share; the others at 4 %, adjusted over those not yet called."""
    pairs = {CellKey("mtp", 1): PAYS, CellKey("mtp", 2): NOISE, CellKey("mtp", 4): LITTLE}
    looks = Looks(planned=(4, 8), taken=(4, 8), closed={CellKey("mtp", 1): 4}, family=3)
    first, second, third = compare_after(pairs, looks, baseline="off", min_effect=0.05)
    assert (first.call, first.strictness.alpha, first.closed_after) == (Call.PAYS, 0.005, 4)
    assert first.p_adjusted == pytest.approx(3 * (first.p_value or 0))
    assert (second.call, second.strictness.alpha, second.closed_after) == (Call.UNRESOLVED, FINAL_ALPHA, None)
    assert third.p_adjusted == pytest.approx(2 * (third.p_value or 0))
    assert third.call is Call.PAYS


def test_what_was_closed_without_a_call_eases_nothing() -> None:
    """A draw that a look closed stays in the family of the others as a test that failed."""
    draw = {1: 0.001, 2: 0.0, 3: -0.001, 4: 0.0}
    looks = Looks(planned=(4, 8), taken=(4,), closed={CellKey("mtp", 1): 4}, family=2)
    first, second = compare_after(
        {CellKey("mtp", 1): draw, CellKey("mtp", 2): LITTLE}, looks, baseline="off", min_effect=0.05
    )
    assert first.call is Call.SAME
    assert second.p_adjusted == pytest.approx(2 * (second.p_value or 0))


def test_what_another_rule_closed_is_not_called_by_less_than_its_look_asks() -> None:
    """A policy of its own stopped at p = 0.012: at the end that is no call, and the text says where it ended."""
    looks = Looks(planned=(4, 8), taken=(4,), closed={CellKey("mtp", 1): 4}, family=1)
    (found,) = compare_after({CellKey("mtp", 1): LITTLE}, looks, baseline="off", min_effect=0.05)
    assert found.call is Call.UNRESOLVED
    assert unresolved(found, 1) == (
        "Whether mtp pays at 1 agent: 1.04 times off (99.5 % interval 0.99 to 1.09) is "
        "unresolved; it was measured no further after round 4."
    )


def test_texts_print_the_level_of_their_interval() -> None:
    """`same` rests on the 99 % interval at a look and on the 92 % one at the end."""
    draw = {1: 0.001, 2: 0.0, 3: -0.001, 4: 0.0}
    pairs = {CellKey("mtp", 1): draw, CellKey("mtp", 2): draw}
    looks = Looks(planned=(4, 8), taken=(4,), closed={CellKey("mtp", 1): 4}, family=2)
    first, second = compare_after(pairs, looks, baseline="off", min_effect=0.05)
    assert "(99 % interval" in settled(first)
    assert "(92 % interval" in settled(second)


def test_a_side_is_said_only_where_the_interval_shown_says_it_too() -> None:
    """1.02 ± 0.01 (95 %) is above 1, but the 99 % interval that a look's `same` shows is not."""
    logs = {CellKey("mtp", 1): {1: 0.012, 2: 0.028, 3: 0.017, 4: 0.022}}
    looks = Looks(planned=(4, 8), taken=(4,), closed={CellKey("mtp", 1): 4}, family=1)
    (found,) = compare_after(logs, looks, baseline="off", min_effect=0.05)
    (plain,) = compare(logs, baseline="off", min_effect=0.05)
    assert (found.call, plain.call) == (Call.SAME, Call.SAME)
    assert "above 1" in settled(plain)
    assert ("above 1" in settled(found)) is ((found.same_low or 0) > 1)


def test_a_run_is_called_by_the_looks_in_its_folder(make: Any) -> None:
    """The summary recomputes from plan and journal what the looks found, and says so."""
    steady, noisy = [20.0, 20.1, 19.9, 20.0], [10.0, 14.0, 8.0, 11.0, 9.0, 12.0, 10.0]
    tasks = {("off", 1): [10.0] * 4, ("mtp", 1): steady, ("off", 2): [10.0] * 7, ("mtp", 2): noisy}
    plan = Plan(rounds=7, trials=planned(dict.fromkeys(tasks, 7), 7), dropped_levels=[], estimated_s=1, turn_s={})
    journal = [JournalEntry(at_ns=0, what="started"), looked(4, ("mtp", 1)), JournalEntry(at_ns=0, what="complete")]
    run = make.run(tasks, plan=msgspec.structs.replace(plan, looks=[4]), journal=journal)
    assert looks_of(run) == Looks(planned=(4,), taken=(4,), closed={CellKey("mtp", 1): 4}, family=2)
    found = {one["concurrency"]: one for one in summarise(run)["comparisons"]}
    assert (found[1]["call"], found[1]["alpha"], found[1]["closed_after"]) == ("pays", 0.01, 4)
    assert (found[2]["call"], found[2]["alpha"], found[2]["closed_after"]) == ("unresolved", FINAL_ALPHA, None)
    (said,) = looks_text(looks_entry(run))
    assert said == (
        "The results were looked at after round 4 (of 7 planned); known and measured no further: mtp at 1 after "
        "round 4. Of the error of all calls together, looks have 1 % and the end has 4 %."
    )


def test_without_looks_there_is_nothing_to_say(make: Any) -> None:
    """Neither for a folder without a plan nor for one that plans no look."""
    tasks = {("off", 1): [10.0], ("mtp", 1): [20.0]}
    assert looks_entry(make.run(tasks)) is None
    plan = Plan(rounds=1, trials=planned(dict.fromkeys(tasks, 1), 1), dropped_levels=[], estimated_s=1, turn_s={})
    assert looks_entry(make.run(tasks, plan=plan)) is None
    assert looks_text(None) == []


def test_equal_variants_are_called_no_more_often_with_looks() -> None:
    """200 runs of 3 equal levels, 12 rounds, looks after 4 and 8, noise of 7 %: false alarms in 5 % at most."""
    chance = random.Random(4)  # noqa: S311 - noise, no secret
    false = sum(_any_false_call(chance) for _ in range(200))
    assert false <= 0.05 * 200


def test_a_clear_effect_ends_early() -> None:
    """A gain of 30 % with a noise of 2 % is known at the first look at every level, in nearly all of 50 runs."""
    chance = random.Random(5)  # noqa: S311 - noise, no secret
    early = sum(not _left_after_first_look(chance) for _ in range(50))
    assert early >= 45


def _any_false_call(chance: random.Random) -> bool:
    pairs = {CellKey("again", n): {r: chance.gauss(0, 0.07) for r in range(1, 13)} for n in range(3)}
    return any(c.call in (Call.PAYS, Call.COSTS) for c in _played(pairs, rounds=12))


def _left_after_first_look(chance: random.Random) -> bool:
    pairs = {CellKey("mtp", n): {r: chance.gauss(0.26, 0.02) for r in range(1, 5)} for n in range(3)}
    return len(known(pairs, Looks(planned=(4, 8), family=3), baseline="off", min_effect=0.05)) < 3


def _played(pairs: dict[CellKey, dict[int, float]], *, rounds: int) -> list[Comparison]:
    """A run with its looks: what is known is measured no further."""
    preset = preset_looks(rounds)
    closed: dict[CellKey, int] = {}
    seen = pairs
    for after in preset:
        looks = Looks(planned=tuple(preset), family=len(pairs))
        now = {key: {r: d for r, d in logs.items() if r <= after} for key, logs in seen.items() if key not in closed}
        for c in known(now, looks, baseline="off", min_effect=0.05):
            key = c.key
            closed[key] = after
            seen = {**seen, key: now[key]}
    looks = Looks(planned=tuple(preset), taken=tuple(preset), closed=closed, family=len(pairs))
    return compare_after(seen, looks, baseline="off", min_effect=0.05)
