"""Rows on the crossover: how far off it is, and how often its interval holds the truth."""

import math
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.library import SLOTS, Library
from benchmarks.long_run import true_speedup
from benchmarks.noise import Noise
from benchmarks.row import Row, clustered_mean, median_with_error
from benchmarks.timing_model import Speed
from benchmarks.work import Work
from loadgen.analysis.estimators.crossover import crossover


def true_crossover(
    work: Work, speeds: tuple[Speed, Speed], *, agents: Sequence[int], turns: int, seed: int
) -> tuple[float, dict[int, float]]:
    """Where the true speed-up of the first speed over the second crosses 1, and the speed-ups themselves.

    Long runs with every number of agents in `agents` (each one, not only the levels of a sweep), and a line in log₂ N
    between the two neighbours where the sign changes. Raises `ValueError` where it changes other than once.
    """
    logs = {n: math.log(true_speedup(work, speeds, seed=seed, level=n, slots=SLOTS, turns=turns)[0]) for n in agents}
    signs = [(a, b) for a, b in pairwise(agents) if (logs[a] < 0) != (logs[b] < 0)]
    if len(signs) != 1:
        raise ValueError(f"the true speed-up crosses 1 {len(signs)} times")
    a, b = signs[0]
    crossing = a * (b / a) ** (logs[a] / (logs[a] - logs[b]))
    return crossing, {n: math.exp(logarithm) for n, logarithm in logs.items()}


def crossover_rows(
    library: Library, noise: Noise, truth: float, *, curve: str, sweeps: int, seed: int
) -> tuple[Row, Row]:
    """The median error, and the coverage of the interval. `curve` names what is crossed.

    An answer without a number counts as infinitely far off, and as not covered unless its interval holds the truth.
    """
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    errors, covered, runs = [], [], []
    for _ in range(sweeps):
        sweep = library.sweep(noise, chance)
        by_level = {level: rounds for (_, level), rounds in sweep.pairs(library.variants[0]).items()}
        found = crossover(library.variants[1], by_level)
        if found is None:
            raise ValueError("a sweep without a pair of trials")
        errors.append(_error(found, truth))
        covered.append(float(_covers(found, truth)))
        runs.append(sweep.run)
    where = f"noise {noise.spread:.0%}, {library.rounds} rounds"
    return (
        Row(f"crossover of {curve}: median error, {where}", *median_with_error(errors), 0.0, 0.10),
        Row(f"crossover of {curve}: coverage, {where}", *clustered_mean(covered, runs), 0.92, 1.0),
    )


def _error(found: Mapping[str, Any], truth: float) -> float:
    """Of a step between two levels: how far off the middle between them is."""
    low, value, high = (found["concurrency"][name] for name in ("low", "value", "high"))
    if found["kind"] == "step":
        value = math.sqrt(low * high)
    return abs(value / truth - 1) if found["kind"] in {"at", "step"} else math.inf


def _covers(found: Mapping[str, Any], truth: float) -> bool:
    low, high = found["concurrency"]["low"], found["concurrency"]["high"]
    above = found["open_low"] or (low is not None and low <= truth)
    below = found["open_high"] or (high is not None and truth <= high)
    return bool(above and below)
