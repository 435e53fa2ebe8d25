"""The pilot: how long a turn takes at the ends of the curve, and at every fixed depth."""

from collections.abc import Sequence

from loadgen.experiment.schedule import place_id
from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import TrialRecord
from loadgen.replay.class_turns import class_seconds

PILOT_TURNS_ALL_AGENTS = 4
"""Turns of a pilot over its agents: enough for a length within a factor of 2, which only shapes the plan."""


def pilot_levels(levels: Sequence[int]) -> list[int]:
    """The levels that the pilot visits: the smallest and the largest; those between are interpolated."""
    return sorted({min(levels), max(levels)})


def pilot_trials(levels: Sequence[int], depths: Sequence[int], variant: str) -> list[PlannedTrial]:
    """The trials of the pilot (round 0): both ends of the levels, at every fixed depth where there are any."""
    places = [(level, depth) for depth in depths or (None,) for level in pilot_levels(levels)]
    return [
        PlannedTrial(
            trial=f"pilot-{variant}-{place_id(level, depth)}",
            round=0,
            variant=variant,
            level=level,
            order=order,
            turns_per_agent=max(1, PILOT_TURNS_ALL_AGENTS // level),
            short=True,
            depth=depth,
        )
        for order, (level, depth) in enumerate(places)
    ]


def turn_seconds(
    trials: Sequence[TrialRecord], levels: Sequence[int], depths: Sequence[int] = ()
) -> dict[int, float] | None:
    """Seconds a turn and agent by level: measured where a pilot ran, linear in N between. Null without a full pilot.

    With fixed depths they are the mean over the depths, of a mix those of the slowest class: a trial lasts until its
    last agent is done.
    """
    whole = [trial for trial in trials if trial.segments and trial.aborted is None]
    by_level: dict[int, list[TrialRecord]] = {}
    for trial in whole:
        by_level.setdefault(trial.level, []).append(trial)
    if len(by_level) < len(pilot_levels(levels)) or any(len(some) < max(len(depths), 1) for some in by_level.values()):
        return None
    measured = {level: _mean_s(some) for level, some in by_level.items()}
    low, high = min(measured), max(measured)
    slope = (measured[high] - measured[low]) / (high - low) if high > low else 0.0
    return {level: max(1e-3, measured[low] + slope * (level - low)) for level in levels}


def _mean_s(trials: Sequence[TrialRecord]) -> float:
    return max(class_seconds([segment for trial in trials for segment in trial.segments]).values())
