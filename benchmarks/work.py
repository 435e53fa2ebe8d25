"""What the modelled agents do: a pool of sessions, each a list of turns."""

import math
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """The pool of sessions: `[session][turn]` prompt depth and output (tokens), and the wait before the turn (s)."""

    depths: list[list[int]]
    outputs: list[list[int]]
    waits: list[list[float]]
    length_spread: float = 0.15
    """Spread (of the logarithm) of an answer's length between variants: each draws its own around the same middle."""

    def draw_tokens(self, session: int, turn: int, chance: random.Random) -> int:
        """The length of one answer."""
        middle = self.outputs[session][turn]
        return max(1, round(middle * math.exp(chance.gauss(0, self.length_spread)))) if self.length_spread else middle


def make_work(seed: int, *, sessions: int = 60, shortest: int = 20, longest: int = 60, wait_s: float = 0.3) -> Work:
    """Sessions of varied length whose later turns are longer, so that it matters where an agent starts.

    `wait_s`: mean wait before a turn.
    """
    chance = random.Random(seed)  # noqa: S311 - a model, no secret
    work = Work([], [], [])
    for _ in range(sessions):
        turns = chance.randint(shortest, longest)
        outputs = [max(4, round(chance.lognormvariate(math.log(50), 0.7) * (1 + t / turns))) for t in range(turns)]
        depth, depths = round(chance.lognormvariate(math.log(1000), 0.3)), []
        for output in outputs:
            depths.append(depth)
            depth += output + round(chance.lognormvariate(math.log(100), 0.8))
        work.depths.append(depths)
        work.outputs.append(outputs)
        work.waits.append([0.0] + [min(chance.expovariate(1 / wait_s), 5.0) for _ in range(turns - 1)])
    return work


def make_even_work(*, sessions: int = 8, turns: int = 40, tokens: int = 60, grown: int = 120) -> Work:
    """Sessions all alike, with answers of one exact length and no waits: agents end their turns at the same instant."""
    return Work(
        depths=[[1000 + turn * grown for turn in range(turns)] for _ in range(sessions)],
        outputs=[[tokens] * turns for _ in range(sessions)],
        waits=[[0.0] * turns for _ in range(sessions)],
        length_spread=0.0,
    )
