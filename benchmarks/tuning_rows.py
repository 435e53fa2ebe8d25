"""Rows on tuning: what the winner of a race among equals is said to gain."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.library import MIN_EFFECT, Library, Sweep
from benchmarks.noise import Noise
from benchmarks.row import Row, clustered_mean
from loadgen.analysis.estimators.comparison import Call
from loadgen.analysis.sequential.tuning import standing, tuning


def tuning_row(library: Library, noise: Noise, *, rounds: int, sweeps: int, seed: int) -> Row:
    """How often the winner of a race among equals is confirmed to pay or cost, though nothing does.

    The library has one level. All of its variants are candidates, and of its rounds the first `rounds` are planned.
    """
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    wrong, runs = [], []
    for _ in range(sweeps):
        sweep = library.sweep(noise, chance)
        entry = tuned(sweep, library.variants, level=library.levels[0], rounds=rounds)
        wrong.append(float(entry["call"] in {Call.PAYS.value, Call.COSTS.value}))
        runs.append(sweep.run)
    name = f"tuning {len(library.variants)} equals: winners with a call, noise {noise.spread:.0%}, {rounds} rounds"
    return Row(name, *clustered_mean(wrong, runs), 0.0, 0.06)


def tuned(sweep: Sweep, variants: Sequence[str], *, level: int, rounds: int) -> dict[str, Any]:
    """The summary's `tuning` entry of a race of these variants, the first of them the baseline.

    Whoever is dropped or not the finalist is measured no further, as in a real run.
    """
    experiment = _experiment(variants, level)
    rates = {name: {number: x for number, x in sweep.rates[name, level].items() if x is not None} for name in variants}
    planned = {name: {number: x for number, x in one.items() if number <= rounds} for name, one in rates.items()}
    stands = standing(experiment, planned, rounds)
    end = stands.race.ended_after or rounds
    gone = {one.variant: one.after_round for one in stands.race.dropped}
    last = {name: gone.get(name, end) for name in variants}
    last |= dict.fromkeys({variants[0], stands.finalist or variants[0]}, rounds)
    cells = [_cell(name, level, {n: x for n, x in planned[name].items() if n <= last[name]}) for name in variants]
    entry = tuning(experiment, cells, rounds=rounds)
    if entry is None:
        raise ValueError("a tuning run without a tuning entry")
    return entry


def _experiment(variants: Sequence[str], level: int) -> dict[str, Any]:
    candidates = [
        {"variant": name, "n_max": place, "slots": 8, "predicted_bytes": None, "command": name}
        for place, name in enumerate(variants)
    ]
    tune = {
        "candidates": candidates, "pruned": [], "budget_bytes": None, "margin_bytes": None, "not_pruned": None,
    }  # fmt: skip
    return {"baseline": variants[0], "agents": level, "min_effect": MIN_EFFECT, "tune": tune}


def _cell(variant: str, level: int, rounds: Mapping[int, float]) -> dict[str, Any]:
    by_trial = [{"round": number, "valid": True, "tasks_per_hour": x} for number, x in rounds.items()]
    return {"variant": variant, "concurrency": level, "by_trial": by_trial}
