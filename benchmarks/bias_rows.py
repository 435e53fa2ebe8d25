"""Rows on tasks per hour: what a cell of several rounds says against the truth, its sessions longer than a trial."""

import math
import random
from typing import Any

from benchmarks.library import SLOTS, played_trials
from benchmarks.long_run import true_tasks_per_hour
from benchmarks.noise import Noise
from benchmarks.row import Row, clustered_mean
from benchmarks.size import Size
from benchmarks.timing_model import OFF
from benchmarks.trial_model import as_run
from benchmarks.work import Work
from loadgen.analysis.summary import summarise

_LEVEL = 4
_NOISE = Noise(0.05)


def bias_row(work: Work, *, failing: float, size: Size, seed: int, rounds: int = 8) -> Row:
    """Pooled tasks per hour over the truth, minus 1, as the summary shows it to whoever reads a cell.

    Every run is played in full and goes through the real summary. Where turns fail, a cell is void for comparisons and
    shows `tasks_per_hour_with_failures`; where none does, `tasks_per_hour`.
    """
    truth, truth_error = true_tasks_per_hour(
        work, OFF, seed=seed, level=_LEVEL, slots=SLOTS, turns=size.bias_truth_turns, failing=failing
    )
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    biases = []
    for run in range(size.bias_runs):
        trials = played_trials(
            work,
            OFF,
            variant="off",
            seed=seed + run,
            level=_LEVEL,
            rounds=rounds,
            failing=failing,
            factors=_NOISE.factors(rounds, chance),
        )
        biases.append(_shown(summarise(as_run(work, trials))["cells"][0]) / truth - 1)
    value, error = clustered_mean(biases, range(len(biases)))
    name = f"bias of tasks/hour, {failing:.0%} of turns fail, {rounds} rounds pooled"
    return Row(name, value, math.hypot(error, truth_error / truth), -0.02, 0.02)


def _shown(entry: dict[str, Any]) -> float:
    """The cell's rate with failures; without any, its plain rate."""
    failing = entry["tasks_per_hour_with_failures"]["value"]
    return float(entry["tasks_per_hour"]["value"] if failing is None else failing)
