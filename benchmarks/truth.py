"""Does what loadgen says agree with the truth? `python -m benchmarks.truth [--quick] [--seed N]`.

The truth is a run of the timing model that is at least 100 times longer, with completed sessions counted one by one:
never a formula that the analysis assumes. Every trial is played in full by the real procedure and goes through the real
analysis. Rows:

* *coverage*: how often the 95 % interval of the speed-up holds the true speed-up, at 4 and at 8 rounds.
* *A/A*: how often a sweep of 4 levels calls `pays` or `costs` anywhere although both variants are the same.
* *bias*: tasks/hour pooled over 8 rounds against the truth, sessions longer than a trial, with 0 and 2 % of the turns
  failing. *all trials* is the estimator by itself, *valid trials* what the summary shows after the rule on failures.

The cheap path: coverage and A/A redraw only the noise of the machine (lognormal: one factor a trial, and a random walk
over the rounds that both variants share). The work behind it comes from a library of fully played runs, because
sweeps of 2,000 times 64 trials would take hours; credits and segment times of a library run are scaled by that noise.

With 2 % of the turns failing both of its rows are out of bounds, for two reasons. Starts are uniform over all turns, as
if every session got to its end; where turns fail, fewer agents are that deep, so late failures (which take back most)
are overcounted: about -5 %. And the rule that drops trials with two failures and 1 % drops those that had the bad luck:
about +19 % on what is left. Weighting a segment that starts at turn j by (1 - f) to the power j, f being the cell's
share of failed turns, takes out the first; only a rule that looks at no outcome of the trial itself takes out the
second.

Those two rows are shown with their bounds and stay out of the exit status until the estimator is mended; a report
whose cells hold failed turns says that its tasks/hour are unsteady.

Exit status 1 where another row is out of its bounds. `--quick` widens them by three standard errors: it can't judge.
"""

import argparse
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from benchmarks.timing_model import OFF, ON
from benchmarks.trial_model import Setting, Work, as_run, make_work, play_trial, tasks_per_hour
from loadgen.analysis.cell import cell
from loadgen.analysis.comparison import Call, Comparison, compare, log_ratios
from loadgen.analysis.summary import summarise
from loadgen.analysis.trial import Trial
from loadgen.units import per_hour
from loadgen.workload.draws import start_turns

_LEVELS = (1, 2, 4, 8)
_SLOTS = 8
_TRIAL_NOISE = 0.05
"""Spread of ln X between two trials of one round; 5 to 10 % was measured on a quiet machine."""
_DRIFT = 0.08
"""Step of the random walk over the rounds, larger than the noise: only pairing takes it out."""
_VARIANTS = {"off": OFF, "off-again": OFF, "on": ON}


@dataclass(frozen=True)
class Size:
    """How much to play."""

    sweeps: int
    library: int
    truth_turns: int
    bias_runs: int
    bias_truth_turns: int
    """Each of the four truths of a bias row; a run of 8 rounds has 512 measured turns."""
    slack: float
    """Standard errors by which the bounds are widened."""


FULL = Size(sweeps=2000, library=120, truth_turns=400_000, bias_runs=600, bias_truth_turns=500_000, slack=0)
QUICK = Size(sweeps=200, library=12, truth_turns=60_000, bias_runs=40, bias_truth_turns=60_000, slack=3)


@dataclass(frozen=True)
class Row:
    """One line of the table: a measured share or ratio, its standard error, and the bounds that it must keep."""

    name: str
    value: float
    error: float
    low: float
    high: float
    open: bool = False
    """Known to be out, with a cause and no mend yet: shown with its bounds, not in the exit status."""

    def verdict(self, slack: float) -> str:
        """`ok`, `OUT`, or `OUT, known` for a row that is not in the exit status."""
        if self.good(slack):
            return "ok"
        return "OUT, known" if self.open else "OUT"

    def good(self, slack: float) -> bool:
        """Within the bounds, widened by so many standard errors."""
        return self.low - slack * self.error <= self.value <= self.high + slack * self.error

    def __str__(self) -> str:
        bounds = f"{self.low:+.1%} to {self.high:+.1%}" if self.low < 0 else f"{self.low:.1%} to {self.high:.1%}"
        return f"{self.name:54} {self.value:8.2%} ± {self.error:.2%}   {bounds:16}"


Totals = tuple[float, float]
"""Credits and segment seconds of one trial."""
Library = list[dict[tuple[str, int], list[Totals]]]
"""One entry a run: by (variant, level) the trials of its rounds."""


def turns_per_agent(level: int) -> int:
    """The length of a trial that loadgen aims at."""
    return max(8, 64 // level)


def build_library(work: Work, *, seed: int, runs: int, rounds: int) -> Library:
    """Fully played runs without machine noise: every variant at every level in every round."""
    library: Library = []
    for run in range(runs):
        played: dict[tuple[str, int], list[Totals]] = {}
        for level in _LEVELS:
            starts = start_turns(work.depths, seed=seed + run, level=level, rounds=rounds)
            for variant in _VARIANTS:
                trials = [_trial(work, variant, seed + run, level, number, starts) for number in range(1, rounds + 1)]
                played[variant, level] = [(trial.credits, trial.segment_s) for trial in trials]
        library.append(played)
    return library


def sweep(library: Library, variant: str, *, rounds: int, chance: random.Random) -> list[Comparison]:
    """One comparison over all levels: a run of the library with fresh noise, through the real comparison."""
    played = chance.choice(library)
    walk = [0.0]
    for _ in range(rounds - 1):
        walk.append(walk[-1] + chance.gauss(0, _DRIFT))
    pairs = {
        (variant, level): log_ratios(
            _rates(played[variant, level], level, walk, chance), _rates(played["off", level], level, walk, chance)
        )
        for level in _LEVELS
    }
    return compare(pairs, baseline="off", min_effect=0.05)


def coverage_row(library: Library, truths: dict[int, float], *, rounds: int, size: Size, seed: int) -> Row:
    """How often the interval holds the true speed-up, over all levels of all sweeps."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    shares = []
    for _ in range(size.sweeps):
        found = sweep(library, "on", rounds=rounds, chance=chance)
        shares.append(fmean(_holds(comparison, truths[comparison.level]) for comparison in found))
    return Row(f"coverage of the 95 % interval, {rounds} rounds", *_mean(shares), 0.93, 0.97)


def aa_row(library: Library, *, rounds: int, size: Size, seed: int) -> Row:
    """How often a comparison of equals calls `pays` or `costs` at any level."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    wrong = [
        float(any(c.call in {Call.PAYS, Call.COSTS} for c in sweep(library, "off-again", rounds=rounds, chance=chance)))
        for _ in range(size.sweeps)
    ]
    return Row(f"A/A: sweeps of {len(_LEVELS)} levels with a call, {rounds} rounds", *_mean(wrong), 0.0, 0.06)


def bias_rows(work: Work, *, failing: float, size: Size, seed: int, level: int = 4, rounds: int = 8) -> list[Row]:
    """Pooled tasks/hour over the truth, minus 1: by the estimator itself, and as the summary shows it."""
    truths = [
        tasks_per_hour(
            work, OFF, seed=seed + part, level=level, slots=_SLOTS, turns=size.bias_truth_turns, failing=failing
        )
        for part in range(4)
    ]
    truth, truth_error = _mean(truths)
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    every, valid = [], []
    for run in range(size.bias_runs):
        starts = start_turns(work.depths, seed=seed + run, level=level, rounds=rounds)
        trials = [
            _trial(work, "off", seed + run, level, number, starts, failing=failing, factor=_noise(chance))
            for number in range(1, rounds + 1)
        ]
        every.append(_pooled(cell(trials)) / truth - 1)
        summary = summarise(as_run(work, trials))
        if summary["cells"][0]["valid_trials"]:
            valid.append(_pooled(summary["cells"][0]) / truth - 1)
    out = []
    for which, biases in (("all", every), ("valid", valid)):
        value, error = _mean(biases)
        name = f"bias of tasks/hour, {failing:.0%} of turns fail, {which} trials"
        out.append(Row(name, value, math.hypot(error, truth_error / truth), -0.02, 0.02, open=failing > 0))
    return out


def rows(size: Size, seed: int) -> list[Row]:
    """All rows of the table."""
    work = make_work(seed)
    truths = {level: _true_speedup(work, level, size, seed) for level in _LEVELS}
    out = []
    for rounds in (4, 8):
        library = build_library(work, seed=seed + 10_000 * rounds, runs=size.library, rounds=rounds)
        out.append(coverage_row(library, truths, rounds=rounds, size=size, seed=seed + rounds))
        out.append(aa_row(library, rounds=rounds, size=size, seed=seed + rounds))
    for failing in (0.0, 0.02):
        out += bias_rows(work, failing=failing, size=size, seed=seed + 1)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a row is out of its bounds that is not known to be, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description="Estimates against the truth.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work: to see that it runs, not to judge")
    parser.add_argument("--seed", type=int, default=20_26)
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL
    print(f"seed {options.seed}, {size.sweeps} sweeps a row, {size.bias_runs} runs for the bias")
    table = rows(size, options.seed)
    for row in table:
        print(row, row.verdict(size.slack))
    return 0 if all(row.good(size.slack) or row.open for row in table) else 1


def _trial(  # noqa: PLR0917 - what tells one trial from another
    work: Work,
    variant: str,
    seed: int,
    level: int,
    number: int,
    starts: Sequence[Sequence[tuple[int, int]]],
    *,
    failing: float = 0.0,
    factor: float = 1.0,
) -> Trial:
    return play_trial(
        Setting(
            work=work,
            speed=_VARIANTS[variant],
            seed=seed,
            variant=variant,
            round=number,
            level=level,
            slots=_SLOTS,
            turns=turns_per_agent(level),
            starts=starts[number - 1],
            failing=failing,
            factor=factor,
        )
    )


def _true_speedup(work: Work, level: int, size: Size, seed: int) -> float:
    on, off = (
        tasks_per_hour(work, speed, seed=seed, level=level, slots=_SLOTS, turns=size.truth_turns) for speed in (ON, OFF)
    )
    return on / off


def _rates(
    trials: Sequence[Totals], level: int, walk: Sequence[float], chance: random.Random
) -> dict[int, float | None]:
    """Tasks/hour by round, with the noise of the machine on the time."""
    return {
        number: per_hour(level * credits_, seconds * math.exp(walk[number - 1]) * _noise(chance))
        for number, (credits_, seconds) in enumerate(trials, start=1)
    }


def _noise(chance: random.Random) -> float:
    """A lognormal factor with mean 1: a trial's work takes as long on average as in the truth."""
    return math.exp(chance.gauss(0, _TRIAL_NOISE) - _TRIAL_NOISE**2 / 2)


def _holds(comparison: Comparison, truth: float) -> bool:
    low, high = comparison.speedup.low, comparison.speedup.high
    return low is not None and high is not None and low <= truth <= high


def _pooled(entry: dict[str, Any]) -> float:
    return float(entry["tasks_per_hour"]["value"])


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    return fmean(values), stdev(values) / math.sqrt(len(values))


if __name__ == "__main__":
    sys.exit(main())
