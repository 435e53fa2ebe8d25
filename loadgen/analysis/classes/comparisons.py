"""How a variant compares with the baseline for each class of work in a mix: described, never called."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from loadgen.analysis.comparability import depth_refusal
from loadgen.analysis.estimators.comparison import log_ratios, speedup
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.work_class import by_class, of_class

__all__ = ["TASKS", "TPOT", "TTFT", "Says", "class_comparisons"]

Cells = Mapping[tuple[str, int], Sequence[Trial]]
"""The valid trials by variant and level."""

TASKS, TTFT, TPOT = "tasks_per_hour", "median_ttft_s", "median_tpot_s"
_RATES = (TASKS,)


class Says(StrEnum):
    """What the interval of a ratio shows."""

    MORE = "more"
    FEWER = "fewer"
    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    NO_INTERVAL = "no interval"
    NOT_MEASURED = "not measured"
    NOT_COMPARABLE = "not comparable"


def class_comparisons(valid: Cells, baseline: str) -> list[dict[str, Any]]:
    """Each class's tasks per hour and median latencies against the baseline's, paired by round; none without a mix.

    `ratio` is the speed-up of the definitions with its pointwise 95 % interval, and `says` what that shows by itself.
    It is not corrected for several comparisons (`corrected` is false) and never called: the calls of a run are about
    what a server does as a whole, and a family with every class in it would settle less of that. A class of few agents
    has few turns and a wide interval besides.
    `not_comparable` says why nothing may be concluded: the class did its work at another depth.
    """
    found = []
    for (variant, level), trials in valid.items():
        if variant == baseline:
            continue
        for name, ours in by_class(trials).items():
            if name is None:
                continue
            theirs = of_class(valid.get((baseline, level), ()), name)
            found += [_entry(name, variant, baseline, level, metric, (ours, theirs)) for metric in (TASKS, TTFT, TPOT)]
    return found


def _entry(  # noqa: PLR0917 - what one comparison is about
    name: str, variant: str, baseline: str, level: int, metric: str, sides: tuple[Sequence[Trial], Sequence[Trial]]
) -> dict[str, Any]:
    logs = log_ratios(*({trial.record.round: getattr(trial, metric) for trial in side} for side in sides))
    ratio = speedup(list(logs.values()))
    refusal = depth_refusal(*sides)
    return {
        "work_class": name,
        "agents": sides[0][0].record.level,
        "variant": variant,
        "baseline": baseline,
        "concurrency": level,
        "metric": metric,
        "ratio": ratio.as_json(),
        "rounds": list(logs.values()),
        "of_rounds": list(logs),
        "says": _says(ratio, metric) if refusal is None else Says.NOT_COMPARABLE,
        "not_comparable": [] if refusal is None else [refusal.as_json()],
        "corrected": False,
    }


def _says(ratio: Estimate, metric: str) -> Says:
    if ratio.value is None:
        return Says.NOT_MEASURED
    if ratio.low is None or ratio.high is None:
        return Says.NO_INTERVAL
    above, below = (Says.MORE, Says.FEWER) if metric in _RATES else (Says.SLOWER, Says.FASTER)
    if ratio.low > 1:
        return above
    return below if ratio.high < 1 else Says.NO_DIFFERENCE
