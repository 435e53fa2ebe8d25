"""The truth: agents at work for at least 100 times as long as what is estimated, their whole sessions counted.

No credits, no segments, no start turns: sessions are played from their first turn to their last or to a failure. Each
agent is counted over whole passages through the pool of sessions, which leaves rates as they are and takes the luck of
the draw out of them; it works on, uncounted, until the last one is through.
"""

import math
import random
from statistics import fmean, stdev

from benchmarks.agents import Passages, endless_agent
from benchmarks.timing_model import Server, Speed, play
from benchmarks.work import Work
from loadgen.units import per_hour

_PARTS = 4
"""Runs of their own that a truth is the mean of: their spread says how well it is known."""


def tasks_per_hour(
    work: Work, speed: Speed, *, seed: int, level: int, slots: int, turns: int, failing: float = 0.0
) -> float:
    """Whole sessions completed per hour by agents that play about `turns` turns in all, one passage each at least."""
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    wanted = max(1, round(turns / level / sum(map(len, work.depths))))
    passages = [Passages() for _ in range(level)]
    agents = [
        endless_agent(work, speed, chance, index, failing=failing, passages=passages[index]) for index in range(level)
    ]
    play(agents, Server(speed, slots, 1.0), stop=lambda: min(len(one.at) for one in passages) > wanted)
    return sum(per_hour(one.completed[wanted] - one.completed[0], one.at[wanted] - one.at[0]) for one in passages)


def true_tasks_per_hour(
    work: Work, speed: Speed, *, seed: int, level: int, slots: int, turns: int, failing: float = 0.0
) -> tuple[float, float]:
    """The truth from `turns` turns in all, and its standard error."""
    part = turns // _PARTS
    rates = [
        tasks_per_hour(work, speed, seed=seed + i, level=level, slots=slots, turns=part, failing=failing)
        for i in range(_PARTS)
    ]
    return fmean(rates), stdev(rates) / math.sqrt(_PARTS)


def true_speedup(
    work: Work, speeds: tuple[Speed, Speed], *, seed: int, level: int, slots: int, turns: int
) -> tuple[float, float]:
    """Tasks per hour of the first speed over those of the second, from `turns` turns each, and its standard error."""
    (top, top_error), (bottom, bottom_error) = (
        true_tasks_per_hour(work, speed, seed=seed, level=level, slots=slots, turns=turns) for speed in speeds
    )
    return top / bottom, top / bottom * math.hypot(top_error / top, bottom_error / bottom)
