"""The pilot: how long a turn takes at the ends of the curve, and the plan that follows from it."""

from collections.abc import Mapping, Sequence

from loadgen.experiment.model import Experiment, LaunchVariant
from loadgen.experiment.schedule import blocks, fit, floor_turns, trial_id
from loadgen.records.manifest import Plan, PlannedTrial
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


def plan_run(experiment: Experiment, turn_s: Mapping[int, float] | None, *, left_s: float, block_s: float) -> Plan:
    """The plan: rounds and trial lengths that fit the time left, in their order.

    A pilot without answers gives one round of the shortest trials: enough to show what fails.
    """
    names = [variant.name for variant in experiment.variants]
    if turn_s is None:
        turns = {level: floor_turns(level) for level in experiment.levels}
        return _plan(experiment, 1, turns, dict.fromkeys(turns, True), estimated_s=0.0)
    fitted = fit(turn_s, variants=len(names), budget_s=left_s, block_s=block_s, rounds=experiment.rounds)
    return _plan(
        experiment,
        fitted.rounds,
        fitted.turns,
        fitted.short,
        estimated_s=fitted.estimated_s,
        dropped=list(fitted.dropped_levels),
        turn_s={str(level): seconds for level, seconds in sorted(turn_s.items())},
    )


def _plan(
    experiment: Experiment,
    rounds: int,
    turns: Mapping[int, int],
    short: Mapping[int, bool],
    *,
    estimated_s: float,
    dropped: list[int] | None = None,
    turn_s: dict[str, float] | None = None,
) -> Plan:
    order = blocks(
        [variant.name for variant in experiment.variants],
        sorted(turns),
        rounds=rounds,
        seed=experiment.seed,
        alternate=not any(isinstance(variant, LaunchVariant) for variant in experiment.variants),
    )
    placed = [(block.round, block.variant, level) for block in order for level in block.levels]
    return Plan(
        rounds=rounds,
        trials=[
            PlannedTrial(
                trial=trial_id(round_, variant, level),
                round=round_,
                variant=variant,
                level=level,
                order=position,
                turns_per_agent=turns[level],
                short=short[level],
            )
            for position, (round_, variant, level) in enumerate(placed)
        ],
        dropped_levels=dropped or [],
        estimated_s=estimated_s,
        turn_s=turn_s or {},
    )
