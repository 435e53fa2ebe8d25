"""Does what loadgen says agree with the truth? `python -m benchmarks.truth [--quick] [--seed N]`.

The analysis is driven with trials that are played in simulated time by the real procedure: the server is described in
`benchmarks.timing_model`, the agents in `benchmarks.agents`, the machine in `benchmarks.noise`. The truth is a long run
of the same model (`benchmarks.long_run`) with its completed sessions counted one by one: never a formula that the
analysis assumes. Rows:

* *A/A*: how often a sweep of 4 levels calls `pays` or `costs` anywhere although both variants are the same; also with
  answers all alike, where agents work in lockstep.
* *equals called same*: truly equal variants after 25 rounds, by comparison.
* *coverage*: how often the 95 % interval of the speed-up holds the true speed-up, by comparison.
* *crossover*: how far off it is, and how often its interval holds the true one: on a smooth curve, and on one with a
  cliff that is a step.
* *bias*: tasks/hour pooled over 8 rounds against the truth, sessions longer than a trial, with 0 and 2 % of the turns
  failing. Played in full, through the real summary.
* *looks* and *tuning*: false calls of runs that end early, and of the winner of a race among equals.
* *pays called where the truth is a loss*: by comparison, for losses of a little over 3 % and of 5 %.

All but the bias redraw only the noise of the machine, on a library of fully played runs (`benchmarks.library`);
standard errors take into account that sweeps share its runs.

Exit status 1 where a row is out of its bounds. `--quick` widens them by five standard errors: it can't judge.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.bias_rows import bias_row
from benchmarks.call_rows import aa_row, loss_row, same_row
from benchmarks.crossover_rows import crossover_rows, true_crossover
from benchmarks.interval_rows import coverage_row
from benchmarks.library import LEVELS, SLOTS, Library
from benchmarks.long_run import true_speedup
from benchmarks.look_rows import looks_row
from benchmarks.noise import Noise
from benchmarks.row import Row
from benchmarks.size import FULL, QUICK, Size
from benchmarks.timing_model import OFF, ON, Speed
from benchmarks.tuning_rows import tuning_row
from benchmarks.work import Work, make_even_work, make_work

_NOISES = tuple(map(Noise, (0.02, 0.05, 0.10, 0.15)))
_FIVE, _LOUD = _NOISES[1], _NOISES[3]
_NO_PREFILL = replace(OFF, prefill_s_per_token=0.0)
"""With even work: agents begin and end their turns at the same instants."""
_SMOOTH = (Speed(drafted=3, acceptance=0.6, draft_s=0.004), Speed())
_CLIFF = (
    Speed(per_token_s=0.0005, drafted=3, acceptance=0.6, draft_s=0.004, cliffs=((8, 0.030),)),
    Speed(per_token_s=0.0005),
)
"""Speculation and none. The widths of 2 and 3 agents lie on the two sides of a kernel's switch."""
_QUICK_TOOLS_S = 0.02
"""Mean wait in front of the cliff: while an agent waits the batch is narrower, and a cliff becomes a slope."""
_AROUND_CLIFF = (1, 2, 3, 4, 8)
"""The levels of a sweep, with those that loadgen adds around a switch."""
_AGENTS = range(1, 9)
_LOSSES = {"loss-3": 1.037, "loss-5": 1.06}
"""How much longer a losing variant takes on the server: with waits, losses of a little over 3 % and of 5 %."""
_RACERS = 7
_RACE_LEVEL = 4
_RACE_ROUNDS = (13, 7)
"""The longest and the shortest that loadgen plans."""
_LOOK_ROUNDS = 12
_SAME_ROUNDS = 25


class Table:
    """The rows, one after the other, from one seed."""

    def __init__(self, size: Size, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._work = make_work(seed, sessions=size.sessions)
        speeds = {"off": OFF, "off-again": OFF, "on": ON, **{name: OFF.slowed(by) for name, by in _LOSSES.items()}}
        self._libraries = {rounds: self._library(speeds, rounds) for rounds in (4, 6, 8, _LOOK_ROUNDS, _SAME_ROUNDS)}

    def rows(self) -> Iterator[Row]:
        """All rows; each is there as soon as it is known."""
        yield from self._equals()
        yield from self._coverage()
        yield from self._crossovers()
        for failing in (0.0, 0.02):
            yield bias_row(self._work, failing=failing, size=self._size, seed=self._seed + 1)
        yield from self._early()
        yield from self._losses()

    def _equals(self) -> Iterator[Row]:
        for rounds in (4, 8):
            library = self._libraries[rounds].only("off", "off-again")
            for noise in (_FIVE, _LOUD):
                yield aa_row(library, noise, sweeps=self._size.sweeps, seed=self._seed)
        lockstep = self._library({"off": _NO_PREFILL, "off-again": _NO_PREFILL}, 8, work=make_even_work())
        yield aa_row(lockstep, _FIVE, sweeps=self._size.sweeps, seed=self._seed, where=" in lockstep")
        library = self._libraries[_SAME_ROUNDS].only("off", "off-again")
        yield same_row(library, _FIVE, sweeps=self._size.sweeps, seed=self._seed)

    def _coverage(self) -> Iterator[Row]:
        truths = {level: self._speedup((ON, OFF), level) for level in LEVELS}
        print("true speed-ups: " + ", ".join(f"{truths[n][0]:.3f} ± {truths[n][1]:.3f} at {n}" for n in LEVELS))
        known = {level: value for level, (value, _) in truths.items()}
        for rounds in (4, 6, 8):
            library = self._libraries[rounds].only("off", "on")
            for noise in _NOISES:
                yield coverage_row(library, noise, known, sweeps=self._size.sweeps, seed=self._seed)

    def _crossovers(self) -> Iterator[Row]:
        quick_tools = make_work(self._seed, sessions=self._size.sessions, wait_s=_QUICK_TOOLS_S)
        yield from self._crossover("a smooth curve", _SMOOTH, LEVELS, self._work)
        yield from self._crossover("a cliff", _CLIFF, _AROUND_CLIFF, quick_tools)

    def _crossover(self, curve: str, speeds: tuple[Speed, Speed], levels: Sequence[int], work: Work) -> Iterator[Row]:
        turns = self._size.truth_turns
        truth, true_curve = true_crossover(work, speeds, agents=_AGENTS, turns=turns, seed=self._seed)
        shown = ", ".join(f"{speedup:.2f}" for speedup in true_curve.values())
        print(f"{curve}: true crossover {truth:.2f}, true speed-ups of 1 to {max(_AGENTS)} agents {shown}")
        library = self._library({"off": speeds[1], "on": speeds[0]}, 8, levels=levels, work=work)
        yield from crossover_rows(library, _FIVE, truth, curve=curve, sweeps=self._size.sweeps, seed=self._seed)

    def _early(self) -> Iterator[Row]:
        library = self._libraries[_LOOK_ROUNDS].only("off", "off-again")
        for noise in (_FIVE, _LOUD):
            yield looks_row(library, noise, sweeps=self._size.sweeps, seed=self._seed)
        racers = {f"equal-{number}": OFF for number in range(_RACERS)}
        library = self._library(racers, max(_RACE_ROUNDS), levels=(_RACE_LEVEL,))
        for rounds in _RACE_ROUNDS:
            yield tuning_row(library, _FIVE, rounds=rounds, sweeps=self._size.sweeps, seed=self._seed)

    def _losses(self) -> Iterator[Row]:
        for name, slower in _LOSSES.items():
            truths = [self._speedup((OFF.slowed(slower), OFF), level)[0] for level in LEVELS]
            print(f"{name}, {slower:.3f} times as long: true speed-ups {min(truths):.4f} to {max(truths):.4f}")
            for rounds in (4, 8):
                library = self._libraries[rounds].only("off", name)
                for noise in _NOISES:
                    loss = 1 - max(truths)
                    yield loss_row(library, noise, loss=loss, sweeps=self._size.sweeps, seed=self._seed)

    def _library(
        self,
        speeds: dict[str, Speed],
        rounds: int,
        *,
        levels: Sequence[int] = LEVELS,
        work: Work | None = None,
    ) -> Library:
        """Runs whose work is their own: other seeds than those of any other number of rounds."""
        seed = self._seed + 100_000 * rounds
        return Library(work or self._work, speeds, seed=seed, runs=self._size.library, rounds=rounds, levels=levels)

    def _speedup(self, speeds: tuple[Speed, Speed], level: int) -> tuple[float, float]:
        return true_speedup(self._work, speeds, seed=self._seed, level=level, slots=SLOTS, turns=self._size.truth_turns)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a row is out of its bounds, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description="Estimates against the truth.")
    parser.add_argument("--quick", action="store_true", help="little work: to see that it runs, not to judge")
    parser.add_argument("--seed", type=int, default=20_26)
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL
    print(f"seed {options.seed}, {size.sweeps} sweeps a row on {size.library} runs, {size.bias_runs} runs for the bias")
    began = time.process_time()
    good = True
    for row in Table(size, options.seed).rows():
        good = good and row.good(size.slack)
        print(row, row.verdict(size.slack), flush=True)
    print(f"{time.process_time() - began:.0f} s of processor time")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
