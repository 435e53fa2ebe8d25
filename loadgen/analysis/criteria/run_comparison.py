"""Two runs held against each other, cell by cell: unpaired, since a round of one has nothing to do with the other's."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from statistics import fmean
from typing import Any

from loadgen.analysis.at_depth import asked
from loadgen.analysis.comparability import mean_depth, unequal_depths
from loadgen.analysis.criteria.run_differences import as_json, run_differences
from loadgen.analysis.criteria.run_side import Side
from loadgen.analysis.estimators.comparison import Named, Refusal
from loadgen.analysis.estimators.intervals import CONFIDENCE, Estimate, exp_capped, holm
from loadgen.analysis.estimators.welch import Welch, welch
from loadgen.cell_key import CellKey
from loadgen.records.run import Run

SCHEMA = "loadgen-compare/1"

_ALPHA = 1 - CONFIDENCE
_SAME_CONFIDENCE = 1 - 2 * _ALPHA
"""Two one-sided tests at 5 % each (Schuirmann 1987) are the 90 % interval."""
_DESCRIBED = ("median_ttft_s", "median_tpot_s", "output_tokens_per_s")


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
    interval. Where `not_comparable` says why, nothing is called.
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
    call: RunCall | None
    min_effect: float
    depth_asked: int | None = None
    not_comparable: tuple[dict[str, str], ...] = ()


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
    ours, theirs = Side(first), Side(second)
    matched = {key: CellKey(names[key.variant], key.level, key.depth) for key in ours.cells if key.variant in names}
    matched = {key: other for key, other in matched.items() if other in theirs.cells}
    lost = ours.void | {name for name, other in names.items() if other in theirs.void}
    standing = {key: other for key, other in matched.items() if key.variant not in lost}
    logs = {key: (ours.logs(key), theirs.logs(other)) for key, other in standing.items()}
    return {
        "schema": SCHEMA,
        "a": ours.entry(),
        "b": theirs.entry(),
        "names": dict(names),
        "paired": False,
        "min_effect": min_effect,
        "comparisons": [
            asdict(one) for one in compare_cells(logs, names, min_effect, refused=_refused(standing, ours, theirs))
        ],
        "described": _described(standing, ours, theirs),
        "speedups": _speedups(standing, ours, theirs, names),
        "not_compared": _not_compared(ours, theirs, matched, lost),
        "differences": as_json(run_differences(first, second, names), allowed),
    }


def compare_cells(
    logs: Mapping[Named, tuple[Sequence[float], Sequence[float]]],
    names: Mapping[str, str],
    min_effect: float,
    *,
    refused: Mapping[Named, Refusal] | None = None,
) -> list[CellComparison]:
    """The comparisons of all cells: `logs` holds ln X of the rounds of both runs; `refused` ones aren't called."""
    why = refused or {}
    found = {key: None if key in why else welch(*pair) for key, pair in logs.items()}
    tested = {key: one for key, one in found.items() if one is not None}
    adjusted = dict(zip(tested, holm([one.p_value for one in tested.values()]), strict=True))
    alpha = _ALPHA / max(len(tested), 1)
    out = []
    for key in logs:
        cell = key if isinstance(key, CellKey) else CellKey(*key)
        one = _compared(
            cell, names[cell.variant], logs[key], found[key], adjusted.get(key), alpha=alpha, min_effect=min_effect
        )
        out.append(replace(one, call=None, not_comparable=(why[key].as_json(),)) if key in why else one)
    return out


def _refused(standing: Mapping[CellKey, CellKey], ours: Side, theirs: Side) -> dict[CellKey, Refusal]:
    """The cells whose turns differ in mean depth: over all valid trials, for the rounds of two runs are no pairs."""
    found = {
        key: unequal_depths(mean_depth(ours.trials[key]), mean_depth(theirs.trials[other]))
        for key, other in standing.items()
    }
    return {key: refusal for key, refusal in found.items() if refusal is not None}


def _compared(
    key: CellKey,
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
        variant=key.variant,
        variant_b=other,
        concurrency=key.level,
        depth_asked=key.depth,
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


def _described(standing: Mapping[CellKey, CellKey], ours: Side, theirs: Side) -> list[dict[str, Any]]:
    """Ratios of other quantities, unpaired: described, never called."""
    return [
        {
            "variant": key.variant,
            "variant_b": other.variant,
            "concurrency": key.level,
            **asked(key.depth),
            "metric": metric,
            "ratio": ratio(ours.logs(key, metric), theirs.logs(other, metric)).as_json(),
        }
        for metric in _DESCRIBED
        for key, other in standing.items()
    ]


def _speedups(
    standing: Mapping[CellKey, CellKey], ours: Side, theirs: Side, names: Mapping[str, str]
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
            "variant": key.variant,
            "variant_b": other.variant,
            "concurrency": key.level,
            **asked(key.depth),
            "ratio": ratio(ours.gains(key), theirs.gains(other)).as_json(),
        }
        for key, other in standing.items()
        if key.variant != baseline
    ]


def _not_compared(ours: Side, theirs: Side, matched: Mapping[CellKey, CellKey], lost: set[str]) -> list[dict[str, Any]]:
    """Cells without a counterpart, or with wrong answers: `{"run", "variant", "concurrency", "reason"}` each."""
    found = [("a", key, "the other run has no such cell") for key in ours.cells if key not in matched]
    taken = set(matched.values())
    found += [("b", key, "the other run has no such cell") for key in theirs.cells if key not in taken]
    found += [
        (
            "a" if key.variant in ours.void else "b",
            key if key.variant in ours.void else other,
            "its output check failed",
        )
        for key, other in matched.items()
        if key.variant in lost
    ]
    return [
        {"run": run, "variant": key.variant, "concurrency": key.level, **asked(key.depth), "reason": reason}
        for run, key, reason in found
    ]
