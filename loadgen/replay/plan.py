"""The plan of a run: its trials in order, fixed before round 1; and what is left of it when a run is resumed."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from loadgen.cell_key import CellKey
from loadgen.experiment.added_levels import AroundWidth, around_widths
from loadgen.experiment.arrangement import alternates, needs_fresh_server, stays_open
from loadgen.experiment.model import Experiment
from loadgen.experiment.race_schedule import fit_race
from loadgen.experiment.schedule import PREFERRED_ROUNDS, Fit, Place, blocks, fit, floor_turns, trial_id, trial_s
from loadgen.records.manifest import AddedLevels, Plan, PlannedTrial
from loadgen.records.model import TrialRecord


def plan_run(
    experiment: Experiment,
    names: Sequence[str],
    turn_s: Mapping[int, float] | None,
    *,
    left_s: float,
    open_s: float,
    slots: int | None = None,
    windows: Mapping[int, int] | None = None,
) -> Plan:
    """The plan: rounds and trial lengths that fit the time left, in their order.

    A pilot without answers gives one round of the shortest trials: enough to show what fails. Where there is time for
    whole trials, levels around a width at which kernels switch are added.

    Args:
        experiment: what to run.
        names: the variants that are measured, in the order of the experiment.
        turn_s: seconds a turn and agent by level, from the pilot.
        left_s: seconds left of the time budget.
        open_s: seconds that bringing up the baseline took.
        slots: slots of the server, above which no level is added; null where unknown.
        windows: turns that sessions stay near each fixed depth of the experiment; null where it has none.
    """
    longest = dict(windows or {})
    if turn_s is None:
        turns = {level: floor_turns(level) for level in experiment.levels}
        return _plan(experiment, names, 1, *_at_depths(turns, dict.fromkeys(turns, True), longest))
    added: list[AroundWidth] = []
    for around in around_widths(experiment, names, slots=slots):
        wider = {**turn_s, **{level: _between(turn_s, level) for level in around.levels}}
        fitted, _ = _fit_with_drift(experiment, names, wider, longest, left_s=left_s, open_s=open_s)
        if fitted.rounds >= PREFERRED_ROUNDS and not fitted.dropped_levels and not any(fitted.short.values()):
            turn_s = wider
            added.append(around)
    fitted, extra_s = _fit_with_drift(experiment, names, turn_s, longest, left_s=left_s, open_s=open_s)
    plan = _plan(experiment, names, fitted.rounds, *_at_depths(fitted.turns, fitted.short, longest))
    return msgspec.structs.replace(
        plan,
        dropped_levels=list(fitted.dropped_levels),
        estimated_s=fitted.estimated_s + extra_s,
        turn_s={str(level): seconds for level, seconds in sorted(turn_s.items())},
        added_levels=[AddedLevels(width=one.width, drafted=one.drafted, levels=list(one.levels)) for one in added],
    )


def _between(turn_s: Mapping[int, float], level: int) -> float:
    """Seconds a turn at a level between two known ones, linear in N."""
    low = max(known for known in turn_s if known < level)
    high = min(known for known in turn_s if known > level)
    return turn_s[low] + (turn_s[high] - turn_s[low]) * (level - low) / (high - low)


def _at_depths(
    turns: Mapping[int, int], short: Mapping[int, bool], longest: Mapping[int, int]
) -> tuple[dict[Place, int], dict[Place, bool]]:
    """Turns an agent by level and depth, no more than sessions stay near the depth, and where they are too few."""
    if not longest:
        return {(level, None): k for level, k in turns.items()}, {(level, None): few for level, few in short.items()}
    places = [(level, depth) for level in turns for depth in longest]
    fewer: dict[Place, int] = {(level, depth): min(turns[level], longest[depth]) for level, depth in places}
    return fewer, {place: short[place[0]] or k < turns[place[0]] for place, k in fewer.items()}


def _fit_with_drift(
    experiment: Experiment,
    names: Sequence[str],
    turn_s: Mapping[int, float],
    longest: Mapping[int, int],
    *,
    left_s: float,
    open_s: float,
) -> tuple[Fit, float]:
    """What fits the time left beside the drift check, and the seconds that the drift check takes."""
    fitted = _fit(experiment, names, turn_s, longest, left_s=left_s, open_s=open_s)
    if not experiment.drift_check or fitted.rounds <= 1:
        return fitted, 0.0
    first = blocks(names, sorted(fitted.turns), rounds=1, seed=experiment.seed)[0].levels[0]
    extra_s = open_s + trial_s(fitted.turns[first], turn_s[first], experiment.warmup_s)
    return _fit(experiment, names, turn_s, longest, left_s=max(0.0, left_s - extra_s), open_s=open_s), extra_s


def _fit(
    experiment: Experiment,
    names: Sequence[str],
    turn_s: Mapping[int, float],
    longest: Mapping[int, int],
    *,
    left_s: float,
    open_s: float,
) -> Fit:
    """Where variants alternate, bringing one up costs time before every trial, else once a block.

    With fixed depths a round has so many times the trials. They are sized by the mean of their turns, and by the depth
    that sessions stay near longest, which is cautious: the others have fewer turns.
    """
    chosen = [variant for variant in experiment.variants if variant.name in names]
    if alternates(experiment):
        every = sum(not stays_open(variant, experiment) for variant in chosen) / len(chosen)
    else:
        every = sum(map(needs_fresh_server, chosen)) / len(chosen)
    depths = max(len(longest), 1)
    block_s = 0.0 if alternates(experiment) else open_s * (1 - every) / depths
    fitting = fit if experiment.tune is None else fit_race
    return fitting(
        turn_s,
        variants=len(names) * depths,
        budget_s=left_s,
        block_s=block_s,
        switch_s=open_s * every,
        warmup_s=experiment.warmup_s,
        rounds=experiment.rounds,
        longest=max(longest.values(), default=None),
    )


def _plan(
    experiment: Experiment, names: Sequence[str], rounds: int, turns: Mapping[Place, int], short: Mapping[Place, bool]
) -> Plan:
    order = blocks(
        names,
        sorted({level for level, _ in turns}),
        rounds=rounds,
        seed=experiment.seed,
        depths=experiment.depths,
        alternate=alternates(experiment),
        fresh=[variant.name for variant in experiment.variants if needs_fresh_server(variant)],
    )
    placed = [(index, block.round, block.variant, place) for index, block in enumerate(order) for place in block.places]
    trials = [
        PlannedTrial(
            trial=trial_id(round_, variant, *place),
            round=round_,
            variant=variant,
            level=place[0],
            order=position,
            turns_per_agent=turns[place],
            short=short[place],
            block=block,
            depth=place[1],
        )
        for position, (block, round_, variant, place) in enumerate(placed)
    ]
    if experiment.drift_check and rounds > 1:
        trials.append(_drift_check(trials))
    return Plan(rounds=rounds, trials=trials, dropped_levels=[], estimated_s=0.0, turn_s={}, drawn_rounds=rounds)


def _drift_check(trials: Sequence[PlannedTrial]) -> PlannedTrial:
    """The first trial once more, in a block of its own after all others."""
    first = trials[0]
    return msgspec.structs.replace(
        first,
        trial=trial_id(0, first.variant, first.level, first.depth),
        round=0,
        order=trials[-1].order + 1,
        block=trials[-1].block + 1,
        drift=True,
    )


def extended(plan: Plan, experiment: Experiment, rounds: int) -> Plan:
    """The plan with more rounds: those planned stay as they are, and the drift check goes to the new end."""
    planned = [trial for trial in plan.trials if not trial.drift]
    names = [variant.name for variant in experiment.variants if any(one.variant == variant.name for one in planned)]
    turns: dict[Place, int] = {(one.level, one.depth): one.turns_per_agent for one in planned}
    short: dict[Place, bool] = {(one.level, one.depth): one.short for one in planned}
    class_turns = {one.level: one.class_turns for one in planned}
    longer = _plan(experiment, names, rounds, turns, short)
    return msgspec.structs.replace(
        longer,
        trials=[msgspec.structs.replace(one, class_turns=class_turns[one.level]) for one in longer.trials],
        dropped_levels=plan.dropped_levels,
        estimated_s=plan.estimated_s * rounds / plan.rounds,
        turn_s=plan.turn_s,
        drawn_rounds=plan.drawn_rounds or plan.rounds,
        looks=plan.looks,
        added_levels=plan.added_levels,
    )


def remaining(
    plan: Plan, done: Sequence[TrialRecord], used: Collection[str], cells: Collection[CellKey] | None = None
) -> list[PlannedTrial]:
    """The trials of a plan that are missing or incomplete, in their order; the drift check whenever any other is.

    `used` are the names of all trials that left a trace: a trial that is done again gets a name of its own, so that
    nothing of the first attempt is mixed into it. `cells`: those that looks left to be measured; null for all.
    """
    whole = {
        (trial.round, trial.cell, trial.drift)
        for trial in done
        if trial.complete and trial.aborted is None and trial.server_alive is not False
    }
    left = [
        one
        for one in plan.trials
        if (one.round, one.cell, one.drift) not in whole and (one.drift or cells is None or one.cell in cells)
    ]
    if left and not left[-1].drift and plan.trials[-1].drift:
        left.append(plan.trials[-1])
    return [unused(one, used) for one in left]


def unused(planned: PlannedTrial, used: Collection[str]) -> PlannedTrial:
    """The trial under a name that has left no trace yet."""
    attempt, name = planned.attempt, planned.trial
    while name in used:
        attempt += 1
        name = f"{planned.trial}.{attempt}"
    return msgspec.structs.replace(planned, trial=name, attempt=attempt)


def measured_rounds(plan: Plan, done: Sequence[TrialRecord], names: Collection[str]) -> Plan:
    """What was carried out of a plan, to be carried out again: its rounds that were begun, of the variants `names`.

    Where looks at the results decided what was measured, that is repeated, and nobody looks the second time: how much
    there is of everything is known before.
    """
    last = max((trial.round for trial in done), default=0) or plan.rounds
    chosen = [one for one in plan.trials if one.round <= last and one.variant in names]
    if plan.looks:
        measured = {(trial.round, trial.cell) for trial in done}
        chosen = [one for one in chosen if one.drift or (one.round, one.cell) in measured]
    trials = [msgspec.structs.replace(one, order=order) for order, one in enumerate(chosen)]
    drawn = plan.drawn_rounds or plan.rounds
    return msgspec.structs.replace(plan, rounds=last, trials=trials, drawn_rounds=drawn, looks=[])
