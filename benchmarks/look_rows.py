"""Rows on early ends: false calls where the results are looked at on the way."""

import random
from collections.abc import Mapping

from benchmarks.library import MIN_EFFECT, Library, Sweep
from benchmarks.noise import Noise
from benchmarks.row import Row, clustered_mean
from loadgen.analysis.estimators.comparison import Call, Comparison
from loadgen.analysis.sequential.looks import Looks, compare_after, known, preset_looks
from loadgen.cell_key import CellKey


def looks_row(library: Library, noise: Noise, *, sweeps: int, seed: int) -> Row:
    """How often a run of equals that ends where everything is known calls `pays` or `costs` at any level."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    found = [library.sweep(noise, chance) for _ in range(sweeps)]
    baseline = library.variants[0]
    wrong = [float(any(c.call in {Call.PAYS, Call.COSTS} for c in stopped(sweep, baseline, library.rounds)))
             for sweep in found]  # fmt: skip
    name = f"A/A with looks: runs with a call, noise {noise.spread:.0%}, {library.rounds} rounds planned"
    return Row(name, *clustered_mean(wrong, [sweep.run for sweep in found]), 0.0, 0.06)


def stopped(sweep: Sweep, baseline: str, rounds: int) -> list[Comparison]:
    """What a run of so many planned rounds calls that is looked at on the way.

    A comparison that is known is measured no further, and the run ends with the last of them.
    """
    pairs = {CellKey(*key): logs for key, logs in sweep.pairs(baseline).items()}
    planned = tuple(preset_looks(rounds))
    closed: dict[CellKey, int] = {}
    taken: list[int] = []
    for look in planned:
        still = {key: _upto(logs, look) for key, logs in pairs.items() if key not in closed}
        if not still:
            break
        taken.append(look)
        before = Looks(planned, tuple(taken), dict(closed), len(pairs))
        closed |= {c.key: look for c in known(still, before, baseline=baseline, min_effect=MIN_EFFECT)}
    measured = {key: _upto(logs, closed.get(key, rounds)) for key, logs in pairs.items()}
    looks = Looks(planned, tuple(taken), closed, len(pairs))
    return compare_after(measured, looks, baseline=baseline, min_effect=MIN_EFFECT)


def _upto(logs: Mapping[int, float], last: int) -> dict[int, float]:
    return {number: logarithm for number, logarithm in logs.items() if number <= last}
