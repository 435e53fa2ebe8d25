"""Who of a trial's agents plays which class of work."""

from dataclasses import dataclass, replace

from loadgen.experiment.mix import divided
from loadgen.replay.script import Script
from loadgen.workload.mix import class_seed

__all__ = ["Part", "cast", "companies"]


@dataclass(frozen=True)
class Part:
    """What one agent of a trial plays, and its place (from 0) among the `agents` that play the same."""

    script: Script
    place: int
    agents: int


def cast(script: Script, level: int) -> list[Part]:
    """The part of every agent of a trial, in the order of their numbers.

    A class of a mix has agents with consecutive numbers, so that an agent's class is the same in every round and for
    every variant of a level.
    """
    return [Part(own, place, agents) for own, agents in companies(script, level) for place in range(agents)]


def companies(script: Script, level: int) -> list[tuple[Script, int]]:
    """What is played at a level, each with the number of its agents: a script for every class of a mix that has any.

    A class draws start turns and sessions with a seed of its own, from its own pool.
    """
    classes = script.workload.classes
    if not classes:
        return [(script, level)]
    counts = divided([one.weight for one in classes], level)
    return [
        (
            replace(script, workload=one.workload, seed=class_seed(script.seed, one.name), work_class=one.name),
            agents,
        )
        for one, agents in zip(classes, counts, strict=True)
        if agents
    ]
