"""The trials of a run paired by round: comparisons with the baseline, crossovers and the noise floor."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import asked
from loadgen.analysis.caveats import length_ratio
from loadgen.analysis.comparability import depth_refusal, depth_refusals, length_refusal
from loadgen.analysis.estimators.comparison import Comparison, Refusal, log_ratios, noise_floor, speedup
from loadgen.analysis.estimators.crossover import crossover
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.sequential.looks import NO_LOOKS, Looks, compare_after
from loadgen.cell_key import CellKey

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""
Slices = Mapping[int | None, Cells]
"""The same by fixed depth; under null alone in a run without fixed depths."""

_DESCRIBED = ("median_ttft_s", "median_tpot_s", "output_tokens_per_s", "requests_per_hour")


def comparisons(slices: Slices, baseline: str, min_effect: float, looks: Looks = NO_LOOKS) -> list[Comparison]:
    """Tasks per hour of every variant against the baseline, depth by depth and level by level: one family.

    Cells that did their work at another depth than the baseline's aren't called, and are no part of it.
    """
    return compare_after(
        headline(slices, baseline),
        looks,
        baseline=baseline,
        min_effect=min_effect,
        refused=depth_refusals(slices, baseline),
    )


def headline(slices: Slices, baseline: str) -> dict[CellKey, dict[int, float]]:
    """dᵣ of tasks per hour by cell and round: what is called."""
    return {
        CellKey(variant, level, depth): logs
        for depth, valid in slices.items()
        for (variant, level), logs in _pairs(valid, baseline, "tasks_per_hour").items()
    }


def described(valid: Cells, baseline: str) -> list[dict[str, Any]]:
    """Ratios of other quantities to the baseline, paired by round: described, never called.

    `not_comparable` says why nothing may be concluded from one.
    """
    found = [
        (variant, level, metric, speedup(list(logs.values())))
        for metric in _DESCRIBED
        for (variant, level), logs in _pairs(valid, baseline, metric).items()
    ]
    found += [
        (variant, level, "tokens_per_turn", length_ratio(trials, valid.get((baseline, level), ())))
        for (variant, level), trials in valid.items()
        if variant != baseline
    ]
    return [
        {
            "variant": variant,
            "baseline": baseline,
            "concurrency": level,
            "metric": metric,
            "ratio": ratio.as_json(),
            "not_comparable": [one.as_json() for one in _refusals(valid, variant, level, baseline, metric)],
        }
        for variant, level, metric, ratio in found
    ]


def _refusals(valid: Cells, variant: str, level: int, baseline: str, metric: str) -> list[Refusal]:
    """Why a quantity of two cells isn't compared: unequal depths, and of requests per hour unequal answers."""
    ours, theirs = valid.get((variant, level), ()), valid.get((baseline, level), ())
    found = [depth_refusal(ours, theirs)]
    if metric == "requests_per_hour":
        found.append(length_refusal(ours, theirs, baseline))
    return [one for one in found if one is not None]


def crossovers(of: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Where each variant's speed-up crosses 1, at each depth; levels that can't be compared are left out."""
    by_variant: dict[tuple[str, int | None], dict[int, dict[int, float]]] = {}
    for c in of:
        if not c.refusals:
            rounds = dict(zip(c.of_rounds, c.rounds, strict=True))
            by_variant.setdefault((c.variant, c.depth), {})[c.level] = rounds
    found = [(depth, crossover(variant, by_level)) for (variant, depth), by_level in by_variant.items()]
    return [{**entry, **asked(depth)} for depth, entry in found if entry is not None]


def noise(valid: Cells, baseline: str) -> list[dict[str, Any]]:
    """The noise floor of the baseline at every level."""
    return [
        {"concurrency": level, **noise_floor({trial.record.round: trial.tasks_per_hour for trial in trials})}
        for (variant, level), trials in valid.items()
        if variant == baseline
    ]


def _pairs(valid: Cells, baseline: str, quantity: str) -> dict[tuple[str, int], dict[int, float]]:
    """dᵣ of one quantity of the trials, by (variant, level) and round."""

    def by_round(key: tuple[str, int]) -> dict[int, float | None]:
        return {trial.record.round: getattr(trial, quantity) for trial in valid.get(key, ())}

    return {key: log_ratios(by_round(key), by_round((baseline, key[1]))) for key in valid if key[0] != baseline}
