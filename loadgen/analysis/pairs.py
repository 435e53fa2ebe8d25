"""The trials of a run paired by round: comparisons with the baseline, crossovers and the noise floor."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.caveats import length_ratio
from loadgen.analysis.estimators.comparison import Comparison, log_ratios, noise_floor, speedup
from loadgen.analysis.estimators.crossover import crossover
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.sequential.looks import NO_LOOKS, Looks, compare_after

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""

_DESCRIBED = ("median_ttft_s", "median_tpot_s", "output_tokens_per_s")


def comparisons(valid: Cells, baseline: str, min_effect: float, looks: Looks = NO_LOOKS) -> list[Comparison]:
    """Tasks per hour of every variant against the baseline, level by level."""
    return compare_after(headline(valid, baseline), looks, baseline=baseline, min_effect=min_effect)


def headline(valid: Cells, baseline: str) -> dict[tuple[str, int], dict[int, float]]:
    """dᵣ of tasks per hour by (variant, level) and round: what is called."""
    return _pairs(valid, baseline, "tasks_per_hour")


def described(valid: Cells, baseline: str) -> list[dict[str, Any]]:
    """Ratios of other quantities to the baseline, paired by round: described, never called."""
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
        {"variant": variant, "baseline": baseline, "concurrency": level, "metric": metric, "ratio": ratio.as_json()}
        for variant, level, metric, ratio in found
    ]


def crossovers(of: Sequence[Comparison]) -> list[dict[str, Any]]:
    """Where each variant's speed-up crosses 1."""
    by_variant: dict[str, dict[int, dict[int, float]]] = {}
    for c in of:
        by_variant.setdefault(c.variant, {})[c.level] = dict(zip(c.of_rounds, c.rounds, strict=True))
    found = [crossover(variant, by_level) for variant, by_level in by_variant.items()]
    return [entry for entry in found if entry is not None]


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
