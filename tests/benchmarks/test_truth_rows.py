"""Rules of the rows that hold estimates against the truth: what is wrong is noticed."""

import random

import pytest

from benchmarks.bias_rows import bias_row
from benchmarks.call_rows import aa_row, loss_row, same_row
from benchmarks.crossover_rows import crossover_rows, true_crossover
from benchmarks.interval_rows import coverage_row
from benchmarks.library import Library
from benchmarks.look_rows import looks_row, stopped
from benchmarks.noise import Noise
from benchmarks.size import Size
from benchmarks.timing_model import OFF, Speed
from benchmarks.tuning_rows import tuned, tuning_row
from benchmarks.work import make_work

_WORK = make_work(1, sessions=4)
_SIZE = Size(sessions=4, sweeps=20, library=1, truth_turns=2000, bias_runs=3, bias_truth_turns=4000, slack=0)
_FASTER = OFF.slowed(0.5)
_FALLING = Speed(base_s=0.005, per_token_s=0.008)
"""Faster than `OFF` alone, slower for eight."""


def _library(second: Speed, *, rounds: int = 4, levels: tuple[int, ...] = (1, 4)) -> Library:
    return Library(_WORK, {"off": OFF, "second": second}, seed=1, runs=1, rounds=rounds, levels=levels)


def test_a_difference_is_no_a_a() -> None:
    """A variant twice as fast is called in every sweep."""
    row = aa_row(_library(_FASTER), Noise(0.02), sweeps=20, seed=1)
    assert (row.value, row.good(0)) == (1.0, False)


def test_only_what_is_settled_within_5_percent_is_same() -> None:
    """Equals with next to no noise always, a variant twice as fast never."""
    assert same_row(_library(_FASTER), Noise(0.02), sweeps=20, seed=1).value == 0
    equal = _library(OFF.slowed(1.0), rounds=8, levels=(4,))
    assert same_row(equal, Noise(0.001), sweeps=20, seed=1).value == 1


def test_a_loss_that_pays_is_noticed() -> None:
    """What is twice as fast is called pays every time, whatever loss is claimed; what is half as fast never."""
    assert loss_row(_library(_FASTER), Noise(0.02), loss=0.03, sweeps=20, seed=1).value == 1
    assert loss_row(_library(OFF.slowed(2.0)), Noise(0.02), loss=0.5, sweeps=20, seed=1).value == 0


def test_an_interval_that_misses_the_truth_is_noticed() -> None:
    """With a truth far off, coverage is 0; half of the comparisons of a right and a wrong truth hold it at most."""
    library = _library(OFF.slowed(1.0))
    assert coverage_row(library, Noise(0.1), {1: 9.0, 4: 9.0}, sweeps=20, seed=1).value == 0
    assert 0.2 < coverage_row(library, Noise(0.1), {1: 1.0, 4: 9.0}, sweeps=20, seed=1).value <= 0.5


def test_the_true_crossover_is_where_long_runs_cross() -> None:
    """Between two neighbouring numbers of agents whose true speed-ups lie on different sides of 1."""
    agents = (1, 2, 3, 4, 8)
    truth, curve = true_crossover(_WORK, (_FALLING, OFF), agents=agents, turns=2000, seed=1)
    below = max(n for n in agents if n <= truth)
    above = min(n for n in agents if n > truth)
    assert curve[below] > 1 > curve[above]
    with pytest.raises(ValueError, match="0 times"):
        true_crossover(_WORK, (_FASTER, OFF), agents=(1, 2), turns=400, seed=1)


def test_a_crossover_that_is_far_off_or_missing_is_noticed() -> None:
    """Against a truth far away the error is large and nothing is covered; no crossover is infinitely far off."""
    error, coverage = crossover_rows(
        _library(_FALLING, levels=(1, 2, 4, 8)), Noise(0.05), 100.0, curve="x", sweeps=20, seed=1
    )
    assert error.value > 0.9
    assert coverage.value == 0
    error, coverage = crossover_rows(
        _library(_FASTER, levels=(1, 2, 4, 8)), Noise(0.02), 3.0, curve="x", sweeps=20, seed=1
    )
    assert (error.value, coverage.value) == (float("inf"), 0)


def test_the_bias_goes_through_the_real_summary() -> None:
    """Each failing share has a row with its standard error; a run that fails is compared with a truth that fails."""
    none = bias_row(_WORK, failing=0.0, size=_SIZE, seed=1, rounds=3)
    some = bias_row(_WORK, failing=0.02, size=_SIZE, seed=1, rounds=3)
    assert -0.5 < none.value < 0.5
    assert -0.5 < some.value < 0.5
    assert none.error > 0
    assert (none.low, none.high) == (-0.02, 0.02)


def test_a_comparison_that_a_look_finds_known_is_measured_no_further() -> None:
    """What is twice as fast is closed after 4 of 12 rounds; with 8 levels' worth of noise it would go on."""
    library = _library(_FASTER, rounds=12)
    sweep = library.sweep(Noise(0.02), random.Random(1))  # noqa: S311 - a model, no secret
    found = stopped(sweep, "off", 12)
    assert [(c.closed_after, len(c.rounds), c.call) for c in found] == [(4, 4, "pays")] * 2
    assert looks_row(library, Noise(0.02), sweeps=5, seed=1).value == 1


def test_the_winner_of_a_race_is_confirmed_in_rounds_of_its_own() -> None:
    """A race that one candidate wins from the start ends after 3 of 7 rounds; its gain rests on the 4 fresh ones."""
    library = Library(
        _WORK, {"off": OFF, "slow": OFF.slowed(2.0), "fast": _FASTER}, seed=1, runs=1, rounds=7, levels=(4,)
    )
    sweep = library.sweep(Noise(0.02), random.Random(1))  # noqa: S311 - a model, no secret
    entry = tuned(sweep, library.variants, level=4, rounds=7)
    assert (entry["finalist"], entry["call"], entry["confirmed_rounds"]) == ("fast", "pays", 4)
    assert {one["variant"] for one in entry["dropped"]} == {"off", "slow"}
    assert tuning_row(library, Noise(0.02), rounds=7, sweeps=5, seed=1).value == 1
