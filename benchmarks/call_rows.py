"""Rows on the calls of a comparison: of equals, and of a variant that loses."""

import random

from benchmarks.library import Library
from benchmarks.noise import Noise
from benchmarks.row import Row, clustered_mean
from loadgen.analysis.estimators.comparison import Call

_CALLED = (Call.PAYS, Call.COSTS)


def aa_row(library: Library, noise: Noise, *, sweeps: int, seed: int, where: str = "") -> Row:
    """How often a comparison of equals calls `pays` or `costs` at any level; `where` says what work it is."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    found = [library.sweep(noise, chance) for _ in range(sweeps)]
    wrong = [float(any(c.call in _CALLED for c in sweep.compared(library.variants[0]))) for sweep in found]
    name = f"A/A{where}: sweeps of {len(library.levels)} levels with a call, {_where(library, noise)}"
    return Row(name, *clustered_mean(wrong, [sweep.run for sweep in found]), 0.0, 0.06)


def same_row(library: Library, noise: Noise, *, sweeps: int, seed: int) -> Row:
    """How often equals are called `same`, over all levels of all sweeps."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    values, runs = [], []
    for _ in range(sweeps):
        sweep = library.sweep(noise, chance)
        compared = sweep.compared(library.variants[0])
        values += [float(c.call is Call.SAME) for c in compared]
        runs += [sweep.run] * len(compared)
    return Row(f"equals called same at ±5 %, {_where(library, noise)}", *clustered_mean(values, runs), 0.8, 1.0)


def loss_row(library: Library, noise: Noise, *, loss: float, sweeps: int, seed: int) -> Row:
    """How often `pays` is called where the truth is a loss of `loss`, over all levels of all sweeps."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    values, runs = [], []
    for _ in range(sweeps):
        sweep = library.sweep(noise, chance)
        compared = sweep.compared(library.variants[0])
        values += [float(c.call is Call.PAYS) for c in compared]
        runs += [sweep.run] * len(compared)
    name = f"pays called where the truth is {-loss:+.1%}, {_where(library, noise)}"
    return Row(name, *clustered_mean(values, runs), 0.0, 0.01)


def _where(library: Library, noise: Noise) -> str:
    return f"noise {noise.spread:.0%}, {library.rounds} rounds"
