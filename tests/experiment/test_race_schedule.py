"""How the rounds of a tuning run are used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.race_schedule import ROUNDS, confirm_rounds, fit_race, most_trials, race_looks


@pytest.mark.parametrize(
    ("rounds", "looks", "confirmed"),
    [
        (1, (1,), 0),
        (2, (1,), 1),
        (5, (1,), 4),
        (7, (3,), 4),
        (8, (4,), 4),
        (10, (3, 5), 5),
        (12, (4, 6), 6),
        (13, (3, 5, 7), 6),
        (20, (7, 9, 11), 9),
    ],
)
def test_rounds_are_split_into_race_and_confirmation(rounds: int, looks: tuple[int, ...], confirmed: int) -> None:
    """The last look ends the race; what is left is fresh."""
    assert race_looks(rounds) == looks
    assert confirm_rounds(rounds) == confirmed
    assert looks[-1] + confirmed == rounds


@given(st.integers(2, 200))
def test_looks_are_few_and_ascending(rounds: int) -> None:
    """At most three, each later than the one before, and at least one fresh round behind the last."""
    looks = race_looks(rounds)
    assert list(looks) == sorted(set(looks))
    assert 1 <= len(looks) <= 3
    assert looks[-1] == rounds - confirm_rounds(rounds) < rounds


def test_a_race_that_drops_nobody_takes_the_most_trials() -> None:
    """Ten variants over 13 rounds: 7 rounds of 10 and 6 of 2; two variants are measured to the end."""
    assert most_trials(13, 10) == 7 * 10 + 6 * 2
    assert most_trials(7, 3) == 3 * 3 + 4 * 2
    assert most_trials(13, 2) == 26


def test_fresh_rounds_are_left_where_a_race_drops_nobody() -> None:
    """Ten candidates get the trial lengths that 82 trials fit, confirmation included, not those that 130 would."""
    found = fit_race({4: 1.0}, variants=10, budget_s=900, block_s=0.0)
    assert found.rounds == 13
    trial_s = 3 + (0.5 + found.turns[4] + 0.25) * 1.0 + 0.15
    assert found.estimated_s == pytest.approx(82 * trial_s)
    assert found.estimated_s <= 0.9 * 900
    full = fit_race({4: 1.0}, variants=10, budget_s=900 * 82 / 130, block_s=0.0)
    assert full.turns[4] < found.turns[4]


def test_a_small_budget_gets_fewer_rounds() -> None:
    """The longest schedule whose shortest trials fit; below the shortest schedule the run is as short as it can be."""
    floor = 3 + (0.5 + 2 + 0.25) * 1.0 + 0.15
    for rounds in ROUNDS:
        needed = most_trials(rounds, 6) * floor
        assert fit_race({4: 1.0}, variants=6, budget_s=needed * 1.001, block_s=0.0).rounds == rounds
    assert fit_race({4: 1.0}, variants=6, budget_s=1.0, block_s=0.0).rounds == 7


def test_a_given_number_of_rounds_stays() -> None:
    """Only lengths are fitted then."""
    assert fit_race({4: 1.0}, variants=6, budget_s=1.0, block_s=0.0, rounds=9).rounds == 9
