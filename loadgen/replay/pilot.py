"""The pilot: how long a turn takes at the ends of the curve."""

from collections.abc import Sequence

from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import TrialRecord
from loadgen.units import ns_to_s

PILOT_TURNS_ALL_AGENTS = 4
"""Turns of a pilot over its agents: enough for a length within a factor of 2, which only shapes the plan."""


def pilot_levels(levels: Sequence[int]) -> list[int]:
    """The levels that the pilot visits: the smallest and the largest; those between are interpolated."""
    return sorted({min(levels), max(levels)})


def pilot_trial(level: int, variant: str, order: int) -> PlannedTrial:
    """A pilot trial (round 0) at one level."""
    return PlannedTrial(
        trial=f"pilot-{variant}-c{level}",
        round=0,
        variant=variant,
        level=level,
        order=order,
        turns_per_agent=max(1, PILOT_TURNS_ALL_AGENTS // level),
        short=True,
    )


def turn_seconds(trials: Sequence[TrialRecord], levels: Sequence[int]) -> dict[int, float] | None:
    """Seconds a turn and agent by level: measured where a pilot ran, linear in N between. Null without a full pilot."""
    measured = {
        trial.level: sum(ns_to_s(s.end_ns - s.start_ns) for s in trial.segments) / sum(s.turns for s in trial.segments)
        for trial in trials
        if trial.segments and trial.aborted is None
    }
    if len(measured) < len(pilot_levels(levels)):
        return None
    low, high = min(measured), max(measured)
    slope = (measured[high] - measured[low]) / (high - low) if high > low else 0.0
    return {level: max(1e-3, measured[low] + slope * (level - low)) for level in levels}
