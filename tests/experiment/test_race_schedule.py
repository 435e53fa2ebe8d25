"""How the rounds of a tuning run are used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.race_schedule import ROUNDS, confirm_rounds, expected_trials, fit_race, race_looks


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


def test_expected_trials_shrink_with_every_look() -> None:
    """Ten variants over 13 rounds: 3 rounds of 10, 2 of 6, 2 of 4 and 6 of 2 are 62 of 130 trials."""
    assert expected_trials(13, 10) == 3 * 10 + 2 * 6 + 2 * 4 + 6 * 2
    assert expected_trials(7, 3) == 3 * 3 + 4 * 2


def test_two_variants_are_measured_to_the_end() -> None:
    """Nothing can be dropped then."""
    assert expected_trials(13, 2) == 26


def test_trial_lengths_are_fitted_to_the_trials_that_are_expected() -> None:
    """Ten candidates get the trial lengths that 62 trials fit, not those that 130 would."""
    found = fit_race({4: 1.0}, variants=10, budget_s=900, block_s=0.0)
    assert found.rounds == 13
    assert found.estimated_s <= 0.9 * 900
    full = fit_race({4: 1.0}, variants=10, budget_s=900 * 62 / 130, block_s=0.0)
    assert full.turns[4] < found.turns[4]


def test_a_small_budget_gets_fewer_rounds() -> None:
    """The longest schedule whose shortest trials fit; below the shortest schedule the run is as short as it can be."""
    floor = 3 + (0.5 + 2 + 0.25) * 1.0 + 0.15
    for rounds in ROUNDS:
        needed = expected_trials(rounds, 6) * floor
        assert fit_race({4: 1.0}, variants=6, budget_s=needed * 1.001, block_s=0.0).rounds == rounds
    assert fit_race({4: 1.0}, variants=6, budget_s=1.0, block_s=0.0).rounds == 7


def test_a_given_number_of_rounds_stays() -> None:
    """Only lengths are fitted then."""
    assert fit_race({4: 1.0}, variants=6, budget_s=1.0, block_s=0.0, rounds=9).rounds == 9
