"""A library of fully played runs, from which sweeps are made by drawing the noise of the machine anew.

Sweeps of 2,000 times 64 trials would take hours. The work behind them comes from some hundred runs that were played in
full by the real procedure; credits and segment times of a run are kept, and each sweep scales the times by fresh noise.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.agents import Setting
from benchmarks.noise import Noise
from benchmarks.timing_model import Speed
from benchmarks.trial_model import play_trial
from benchmarks.work import Work
from loadgen.analysis.estimators.comparison import Comparison, compare, log_ratios
from loadgen.analysis.measured.trial import Trial
from loadgen.experiment.schedule import TARGET_TURNS, TARGET_TURNS_ALL_AGENTS, blocks
from loadgen.units import per_hour
from loadgen.workload.draws import start_turns

LEVELS = (1, 2, 4, 8)
SLOTS = 8
MIN_EFFECT = 0.05

Key = tuple[str, int]
"""Variant and level."""
Rates = dict[Key, dict[int, float | None]]
"""Tasks per hour by round."""


Totals = list[tuple[float, float]]
"""Credits and segment seconds of the trials of one cell without noise, round by round."""


@dataclass(frozen=True)
class Sweep:
    """One whole sweep: which run of the library it rests on, and its rates."""

    run: int
    rates: Rates

    def pairs(self, baseline: str) -> dict[Key, dict[int, float]]:
        """dᵣ of every other variant against the baseline."""
        return {
            (variant, level): log_ratios(rates, self.rates[baseline, level])
            for (variant, level), rates in self.rates.items()
            if variant != baseline
        }

    def compared(self, baseline: str) -> list[Comparison]:
        """The real comparison of every other variant with the baseline."""
        return compare(self.pairs(baseline), baseline=baseline, min_effect=MIN_EFFECT)


class Library:
    """Runs that are played in full when they are first asked for; the first variant is the baseline."""

    def __init__(
        self,
        work: Work,
        speeds: Mapping[str, Speed],
        *,
        seed: int,
        runs: int,
        rounds: int,
        levels: Sequence[int] = LEVELS,
    ) -> None:
        self.variants = list(speeds)
        self.levels = levels
        self.rounds = rounds
        self._work = work
        self._speeds = speeds
        self._seed = seed
        self._runs = runs
        self._played: dict[tuple[int, str, int], Totals] = {}

    def only(self, *variants: str) -> "Library":
        """The same runs with only these variants, played once for both."""
        speeds = {name: self._speeds[name] for name in variants}
        selected = Library(self._work, speeds, seed=self._seed, runs=self._runs, rounds=self.rounds, levels=self.levels)
        selected._played = self._played
        return selected

    def sweep(self, noise: Noise, chance: random.Random) -> Sweep:
        """Any run of the library, with fresh noise in the order in which the real schedule plays its trials."""
        run = chance.randrange(self._runs)
        cells = [(variant, level) for variant in self.variants for level in self.levels]
        totals = {cell: self._totals(run, *cell) for cell in cells}
        order = [
            (block.variant, level, block.round)
            for block in blocks(self.variants, self.levels, rounds=self.rounds, seed=chance.getrandbits(32))
            for level in block.levels
        ]
        rates: Rates = {cell: {} for cell in cells}
        for (variant, level, number), factor in zip(order, noise.factors(len(order), chance), strict=True):
            credits_, seconds = totals[variant, level][number - 1]
            rates[variant, level][number] = per_hour(level * credits_, seconds * factor)
        return Sweep(run, rates)

    def _totals(self, run: int, variant: str, level: int) -> Totals:
        key = run, variant, level
        if key not in self._played:
            speed, seed = self._speeds[variant], self._seed + run
            trials = played_trials(self._work, speed, variant=variant, seed=seed, level=level, rounds=self.rounds)
            self._played[key] = [(trial.credits, trial.segment_s) for trial in trials]
        return self._played[key]


def turns_per_agent(level: int) -> int:
    """The length of a trial that loadgen aims at."""
    return max(TARGET_TURNS, -(-TARGET_TURNS_ALL_AGENTS // level))


def played_trials(
    work: Work,
    speed: Speed,
    *,
    variant: str,
    seed: int,
    level: int,
    rounds: int,
    failing: float = 0.0,
    factors: Sequence[float] | None = None,
) -> list[Trial]:
    """The trials of one cell, round by round."""
    starts = start_turns(work.depths, seed=seed, level=level, rounds=rounds)
    return [
        play_trial(
            Setting(
                work=work,
                speed=speed,
                seed=seed,
                variant=variant,
                round=number,
                level=level,
                slots=SLOTS,
                turns=turns_per_agent(level),
                starts=starts[number - 1],
                failing=failing,
                factor=1.0 if factors is None else factors[number - 1],
            )
        )
        for number in range(1, rounds + 1)
    ]
