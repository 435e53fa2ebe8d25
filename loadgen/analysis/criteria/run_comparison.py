"""Two runs held against each other, cell by cell: unpaired, since a round of one has nothing to do with the other's."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from loadgen.analysis.criteria.figure import void
from loadgen.analysis.criteria.run_differences import as_json, run_differences
from loadgen.analysis.estimators.intervals import CONFIDENCE, Estimate, exp_capped, holm
from loadgen.analysis.estimators.welch import Welch, welch
from loadgen.analysis.measured.trial import Trial, trials_of
from loadgen.analysis.summary import summarise
from loadgen.records.run import Run

SCHEMA = "loadgen-compare/1"

_ALPHA = 1 - CONFIDENCE
_SAME_CONFIDENCE = 1 - 2 * _ALPHA
"""Two one-sided tests at 5 % each (Schuirmann 1987) are the 90 % interval."""
_DESCRIBED = ("median_ttft_s", "median_tpot_s", "output_tokens_per_s")

Key = tuple[str, int]
"""A variant of the first run and a level."""


class RunCall(StrEnum):
    """What is said of a cell of the second run against that of the first one."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class CellComparison:
    """Tasks per hour of one cell: the second run's ÷ the first one's.

    `ratio` is exp of the difference of the means of ln X over the rounds, with its 95 % Welch interval (n: the rounds
    of the run that has fewer). `sim_low` and `sim_high` hold for all cells at once (Bonferroni); `same_low` and
    `same_high` are the 90 % interval that `same` rests on. The calls are adjusted by Holm over all cells that have an
    interval.
    """

    variant: str
    variant_b: str
    concurrency: int
    metric: str
    ratio: dict[str, Any]
    n_a: int
    n_b: int
    sim_low: float | None
    sim_high: float | None
    same_low: float | None
    same_high: float | None
    p_value: float | None
    p_adjusted: float | None
    call: RunCall
    min_effect: float


def compare_runs(
    first: Run,
    second: Run,
    *,
    names: Mapping[str, str],
    min_effect: float,
    allowed: Sequence[str] = (),
) -> dict[str, Any]:
    """The `loadgen-compare/1` document of two runs, from their facts alone.

    Whether they can be compared at all is the caller's to look at: by the `differences` that void it and aren't
    `allowed`.

    Args:
        first: the run that is compared with.
        second: the run in question: ratios are its values ÷ those of the first.
        names: which variant of the second run each variant of the first is held against.
        min_effect: the smallest difference worth acting on, as a share.
        allowed: fields of differences that may be.
    """
    ours, theirs = _Side(first), _Side(second)
    matched = {key: (names[key[0]], key[1]) for key in ours.cells if key[0] in names}
    matched = {key: other for key, other in matched.items() if other in theirs.cells}
    lost = ours.void | {name for name, other in names.items() if other in theirs.void}
    standing = {key: other for key, other in matched.items() if key[0] not in lost}
    logs = {key: (ours.logs(key), theirs.logs(other)) for key, other in standing.items()}
    return {
        "schema": SCHEMA,
        "a": ours.entry(),
        "b": theirs.entry(),
        "names": dict(names),
        "paired": False,
        "min_effect": min_effect,
        "comparisons": [asdict(one) for one in compare_cells(logs, names, min_effect)],
        "described": _described(standing, ours, theirs),
        "speedups": _speedups(standing, ours, theirs, names),
        "not_compared": _not_compared(ours, theirs, matched, lost),
        "differences": as_json(run_differences(first, second, names), allowed),
    }


def compare_cells(
    logs: Mapping[Key, tuple[Sequence[float], Sequence[float]]], names: Mapping[str, str], min_effect: float
) -> list[CellComparison]:
    """The comparisons of all cells: `logs` holds ln X of the rounds of both runs."""
    found = {key: welch(*pair) for key, pair in logs.items()}
    tested = {key: one for key, one in found.items() if one is not None}
    adjusted = dict(zip(tested, holm([one.p_value for one in tested.values()]), strict=True))
    alpha = _ALPHA / max(len(tested), 1)
    return [
        _compared(key, names[key[0]], logs[key], found[key], adjusted.get(key), alpha=alpha, min_effect=min_effect)
        for key in logs
    ]


def _compared(
    key: Key,
    other: str,
    logs: tuple[Sequence[float], Sequence[float]],
    found: Welch | None,
    p_adjusted: float | None,
    *,
    alpha: float,
    min_effect: float,
) -> CellComparison:
    sim = _exp(found.interval(1 - alpha)) if found is not None else (None, None)
    same = _exp(found.interval(_SAME_CONFIDENCE)) if found is not None else (None, None)
    return CellComparison(
        variant=key[0],
        variant_b=other,
        concurrency=key[1],
        metric="tasks_per_hour",
        ratio=ratio(*logs).as_json(),
        n_a=len(logs[0]),
        n_b=len(logs[1]),
        sim_low=sim[0],
        sim_high=sim[1],
        same_low=same[0],
        same_high=same[1],
        p_value=None if found is None else found.p_value,
        p_adjusted=p_adjusted,
        call=_call(found, p_adjusted, math.log1p(min_effect)),
        min_effect=min_effect,
    )


def _call(found: Welch | None, p_adjusted: float | None, bound: float) -> RunCall:
    """`same` goes first: a difference too small to act on is settled, even where it is surely there."""
    if found is None or p_adjusted is None:
        return RunCall.UNRESOLVED
    low, high = found.interval(_SAME_CONFIDENCE)
    if -bound <= low and high <= bound:
        return RunCall.SAME
    if p_adjusted <= _ALPHA:
        return RunCall.FASTER if found.difference > 0 else RunCall.SLOWER
    return RunCall.UNRESOLVED


def ratio(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """exp(mean of the second logarithms − mean of the first) with its 95 % Welch interval; none below 3 on a side."""
    n = min(len(first), len(second))
    if n == 0:
        return Estimate(None, estimable=False)
    value, found = exp_capped(fmean(second) - fmean(first)), welch(first, second)
    if found is None:
        return Estimate(value, n=n, estimable=False)
    low, high = _exp(found.interval())
    return Estimate(value, low, high, n)


def _exp(ends: tuple[float, float]) -> tuple[float, float]:
    return exp_capped(ends[0]), exp_capped(ends[1])


class _Side:
    """One of the runs: its summary, and its valid trials by cell."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.summary = summarise(run)
        self.cells = {(cell["variant"], cell["concurrency"]): cell for cell in self.summary["cells"]}
        self.void = void(self.summary, against=False)
        trials = {trial.record.trial: trial for trial in trials_of(run)}
        self.trials: dict[Key, list[Trial]] = {
            key: [trials[one["trial"]] for one in cell["by_trial"] if one["valid"]] for key, cell in self.cells.items()
        }

    def logs(self, key: Key, quantity: str = "tasks_per_hour") -> list[float]:
        """Logarithms of a quantity of the valid trials of a cell, where it is above 0."""
        values = [getattr(trial, quantity) for trial in self.trials[key]]
        return [math.log(value) for value in values if value is not None and value > 0]

    def gains(self, key: Key) -> list[float]:
        """dᵣ of a cell against the baseline of its own run."""
        return next(
            (
                list(one["rounds"])
                for one in self.summary["comparisons"]
                if (one["variant"], one["concurrency"], one["metric"]) == (*key, "tasks_per_hour") and not one["void"]
            ),
            [],
        )

    def entry(self) -> dict[str, Any]:
        """What names the run, and how far it got."""
        run, setup = self.summary["run"], self.summary["setup"]
        return {
            "id": run["id"],
            "started_at": setup["started_at"],
            "complete": run["complete"],
            "ended": setup["ended"],
            "workload": run["workload"],
            "baseline": run["baseline"],
            "seed": self.run.manifest.experiment.get("seed"),
            "tool_version": run["tool_version"],
            "rerun_of": run["rerun_of"],
            "random_weights": setup["random_weights"],
            "cells": [
                {
                    "variant": cell["variant"],
                    "concurrency": cell["concurrency"],
                    "trials": cell["trials"],
                    "valid_trials": cell["valid_trials"],
                    "tasks_per_hour": cell["tasks_per_hour"],
                }
                for cell in self.summary["cells"]
            ],
        }


def _described(standing: Mapping[Key, Key], ours: _Side, theirs: _Side) -> list[dict[str, Any]]:
    """Ratios of other quantities, unpaired: described, never called."""
    return [
        {
            "variant": key[0],
            "variant_b": other[0],
            "concurrency": key[1],
            "metric": metric,
            "ratio": ratio(ours.logs(key, metric), theirs.logs(other, metric)).as_json(),
        }
        for metric in _DESCRIBED
        for key, other in standing.items()
    ]


def _speedups(
    standing: Mapping[Key, Key], ours: _Side, theirs: _Side, names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """How the speed-up over each run's own baseline differs: what changed between the sittings for both falls out.

    `ratio` is the second run's speed-up ÷ the first one's: described, never called. Nothing where the baselines aren't
    held against each other.
    """
    baseline = ours.summary["run"]["baseline"]
    if names.get(baseline) != theirs.summary["run"]["baseline"]:
        return []
    return [
        {
            "variant": key[0],
            "variant_b": other[0],
            "concurrency": key[1],
            "ratio": ratio(ours.gains(key), theirs.gains(other)).as_json(),
        }
        for key, other in standing.items()
        if key[0] != baseline
    ]


def _not_compared(ours: _Side, theirs: _Side, matched: Mapping[Key, Key], lost: set[str]) -> list[dict[str, Any]]:
    """Cells without a counterpart, or with wrong answers: `{"run", "variant", "concurrency", "reason"}` each."""
    found = [("a", key, "the other run has no such cell") for key in ours.cells if key not in matched]
    taken = set(matched.values())
    found += [("b", key, "the other run has no such cell") for key in theirs.cells if key not in taken]
    found += [
        ("a" if key[0] in ours.void else "b", key if key[0] in ours.void else other, "its output check failed")
        for key, other in matched.items()
        if key[0] in lost
    ]
    return [
        {"run": run, "variant": variant, "concurrency": level, "reason": reason}
        for run, (variant, level), reason in found
    ]
