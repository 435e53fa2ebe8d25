"""Energy of a variant: joules per task and per output token, where power was sampled."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from loadgen.analysis.estimators.intervals import ratio_over_rounds
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.memory.series import Point, totals
from loadgen.records.model import Sample
from loadgen.units import S_PER_HOUR

_MIN_COVERED = 0.8
"""Power known for less of a trial than this says little about it."""


def energy(
    trials: Mapping[int, Sequence[Trial]], samples: Sequence[Sample], *, loads_ns: Sequence[int]
) -> dict[str, Any] | None:
    """Joules per task and output token at each concurrency; null without power samples of the variant.

    Mean power over the measured part of a trial, times Σ segment time ÷ agents, ÷ Σ credits: the same time and the same
    tasks as in tasks/hour. Idle power is the median of the last readings before each load of a server; what is above it
    is null where nobody looked then.

    Args:
        trials: the variant's valid trials by concurrency.
        samples: the variant's samples.
        loads_ns: when the servers that the run brought up began to load.
    """
    watts = [one for one in samples if one.name == "power_watts"]
    points = totals(watts)
    if not points:
        return None
    idle = _idle(points, loads_ns)
    return {
        "source": next(one.source for one in watts if one.value is not None),
        "idle_watts": idle,
        "by_concurrency": [_level(level, found, points, idle) for level, found in sorted(trials.items())],
    }


def _idle(points: Sequence[Point], loads_ns: Sequence[int]) -> float | None:
    """Outside of trials, right before a load: the server of the variant isn't there."""
    before = (
        max((one for one in points if one.at_ns < load), key=lambda one: one.at_ns, default=None) for load in loads_ns
    )
    values = [one.value for one in before if one is not None and one.trial is None]
    return median(values) if values else None


def mean_watts(points: Sequence[Point], begin_ns: int, end_ns: int) -> float | None:
    """Mean power between two moments by the trapezoid rule; null where less than 80 % of the time is covered."""
    inside = [point for point in points if begin_ns <= point.at_ns <= end_ns]
    if len(inside) < 2:  # noqa: PLR2004 - a trapezoid has two sides
        return None
    covered = inside[-1].at_ns - inside[0].at_ns
    if covered <= 0 or covered < _MIN_COVERED * (end_ns - begin_ns):
        return None
    return sum((one.value + two.value) / 2 * (two.at_ns - one.at_ns) for one, two in pairwise(inside)) / covered


def _level(level: int, trials: Sequence[Trial], points: Sequence[Point], idle: float | None) -> dict[str, Any]:
    told = [(trial, watts) for trial in trials if (watts := _trial_watts(trial, points)) is not None]
    wall = [trial.segment_s / trial.record.level for trial, _ in told]
    whole = [watts * seconds for (_, watts), seconds in zip(told, wall, strict=True)]
    above = [(watts - idle) * s for (_, watts), s in zip(told, wall, strict=True)] if idle is not None else None
    tasks = [
        _done(trial, trial.credits, trial.tasks_per_hour, s / S_PER_HOUR)
        for (trial, _), s in zip(told, wall, strict=True)
    ]
    tokens = [
        _done(trial, trial.output_tokens, trial.output_tokens_per_s, s)
        for (trial, _), s in zip(told, wall, strict=True)
    ]
    return {
        "concurrency": level,
        "watts": sum(whole) / sum(wall) if sum(wall) > 0 else None,
        "joules_per_task": _ratio(whole, tasks),
        "joules_per_output_token": _ratio(whole, tokens),
        "joules_per_task_above_idle": _ratio(above, tasks),
        "joules_per_output_token_above_idle": _ratio(above, tokens),
    }


def _done(trial: Trial, count: float, rate: float | None, time: float) -> float:
    """What was done in the mean time of a segment: what was counted in all of them, or of a mix what its rate says."""
    return (rate or 0.0) * time if trial.classes else float(count)


def _ratio(joules: Sequence[float] | None, counts: Sequence[float]) -> dict[str, Any] | None:
    return None if not joules else ratio_over_rounds(joules, counts).as_json()


def _trial_watts(trial: Trial, points: Sequence[Point]) -> float | None:
    if trial.record.measured_ns is None or not trial.record.segments or trial.segment_s <= 0:
        return None
    return mean_watts(points, trial.record.measured_ns, max(segment.end_ns for segment in trial.record.segments))
