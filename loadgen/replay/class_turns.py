"""How many turns the agents of each class of a mix play in a trial, so that all its segments take about as long.

A trial lasts until its last agent has done its turns. With as many turns for all, agents that never wait would be done
while those that talk with people still read: what they do then would be measured under a load that soon is another one.
"""

from collections.abc import Mapping, Sequence

import msgspec

from loadgen.experiment.mix import Share, division
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import Segment, TrialRecord
from loadgen.units import ns_to_s

__all__ = ["class_seconds", "class_turns_lines", "with_class_turns"]

_SHORTEST_S = 1e-3
"""No turn takes less: a pilot of zeros must not give an endless trial."""


def class_seconds(segments: Sequence[Segment]) -> dict[str | None, float]:
    """Seconds a turn and agent by class of work, waits included; under null where there are no classes."""
    spans: dict[str | None, list[tuple[float, int]]] = {}
    for one in segments:
        spans.setdefault(one.work_class, []).append((ns_to_s(one.end_ns - one.start_ns), one.turns))
    return {
        name: max(_SHORTEST_S, sum(seconds for seconds, _ in some) / sum(turns for _, turns in some))
        for name, some in spans.items()
    }


def with_class_turns(plan: Plan, pilots: Sequence[TrialRecord], mix: Sequence[Share] | None) -> Plan:
    """The plan with turns by class: as many times those of the slowest as a class is faster, by the pilots.

    Equal for all variants and rounds of a level, like `turns_per_agent`, which the slowest class keeps. A class that no
    pilot saw keeps it too. Without a mix the plan stays as it is.
    """
    if mix is None:
        return plan
    measured: dict[str, dict[int, float]] = {}
    for trial in pilots:
        if trial.aborted is None:
            for name, seconds in class_seconds(trial.segments).items():
                measured.setdefault(name or "", {})[trial.level] = seconds
    trials = [
        msgspec.structs.replace(one, class_turns=_turns(one, measured, division(mix, one.level))) for one in plan.trials
    ]
    return msgspec.structs.replace(plan, trials=trials)


def class_turns_lines(plan: Plan) -> list[str]:
    """The measured turns of an agent of each class at every level as text; none without a mix."""
    turns = {one.level: one.class_turns for one in plan.trials if one.class_turns is not None}
    return [
        f"measured turns an agent at {level}: {', '.join(f'{name} {count}' for name, count in turns[level].items())}"
        for level in sorted(turns)
    ]


def _turns(
    planned: PlannedTrial, measured: Mapping[str, Mapping[int, float]], agents: Mapping[str, int]
) -> dict[str, int]:
    """The turns of every class that has agents at this level."""
    playing = [name for name, count in agents.items() if count]
    seconds = {name: _at(measured[name], planned.level) for name in playing if name in measured}
    slowest = max(seconds.values(), default=0.0)
    return {
        name: max(planned.turns_per_agent, round(planned.turns_per_agent * slowest / seconds[name]))
        if name in seconds
        else planned.turns_per_agent
        for name in playing
    }


def _at(by_level: Mapping[int, float], level: int) -> float:
    """Seconds at a level: measured, linear in N between two pilots, else that of the one or nearest that there is."""
    below = [one for one in by_level if one <= level]
    above = [one for one in by_level if one >= level]
    if not below or not above:
        return by_level[min(above) if above else max(below)]
    low, high = max(below), min(above)
    if low == high:
        return by_level[low]
    return by_level[low] + (by_level[high] - by_level[low]) * (level - low) / (high - low)
