"""Rules of the library of played runs and of the sweeps made from it."""

import random

import pytest

from benchmarks.library import Library, played_trials, turns_per_agent
from benchmarks.noise import Noise
from benchmarks.timing_model import OFF, ON
from benchmarks.work import make_work

_WORK = make_work(1, sessions=10)


def _library(rounds: int = 3, runs: int = 1) -> Library:
    return Library(_WORK, {"off": OFF, "on": ON}, seed=1, runs=runs, rounds=rounds, levels=(1, 2))


def _chance() -> random.Random:
    return random.Random(1)  # noqa: S311 - a model, no secret


def test_a_trial_is_as_long_as_loadgen_aims_at() -> None:
    """64 turns in all, and 8 an agent at least."""
    assert [turns_per_agent(level) for level in (1, 2, 3, 8, 16)] == [64, 32, 22, 8, 8]


def test_a_sweep_holds_every_variant_at_every_level_in_every_round() -> None:
    """Without noise its rates are those of the played trials."""
    sweep = _library().sweep(Noise(0.0), _chance())
    assert set(sweep.rates) == {("off", 1), ("off", 2), ("on", 1), ("on", 2)}
    assert all(sorted(rounds) == [1, 2, 3] for rounds in sweep.rates.values())
    trials = played_trials(_WORK, ON, variant="on", seed=1, level=2, rounds=3)
    assert [sweep.rates["on", 2][number] for number in (1, 2, 3)] == pytest.approx([t.tasks_per_hour for t in trials])


def test_noise_is_drawn_anew_for_every_sweep() -> None:
    """Two sweeps of one run differ, and equal chances give equal sweeps."""
    library, chance = _library(), _chance()
    first, second = (library.sweep(Noise(0.05), chance) for _ in range(2))
    assert first.run == second.run == 0
    assert first.rates != second.rates
    assert library.sweep(Noise(0.05), _chance()).rates == first.rates


def test_a_sweep_is_compared_by_the_real_comparison() -> None:
    """Every variant but the baseline at every level, over all rounds."""
    compared = _library().sweep(Noise(0.05), _chance()).compared("off")
    assert [(c.variant, c.level, c.of_rounds) for c in compared] == [("on", 1, (1, 2, 3)), ("on", 2, (1, 2, 3))]


def test_a_selection_of_variants_shares_the_played_runs() -> None:
    """Only what is selected is in its sweeps, and without noise it does the same."""
    library = _library()
    whole = library.sweep(Noise(0.0), _chance())
    part = library.only("on").sweep(Noise(0.0), _chance())
    assert set(part.rates) == {("on", 1), ("on", 2)}
    assert part.rates["on", 1] == whole.rates["on", 1]
