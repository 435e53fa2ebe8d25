"""A published table of single figures with and without speculation: what it says, without any interval.

Such tables give one figure a cell, so no call of ours can be made: the figures are taken at their word, and every text
says so.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

from loadgen.analysis.decision.decision_text import counted
from loadgen.analysis.estimators.crossover import crossover
from loadgen.analysis.wording import agents, count, factor

_NOTE = "The source gives no intervals, so nothing says how far its figures would repeat."
_ONE_USER = 1


class Quantity(StrEnum):
    """What the figures are."""

    TOKENS_PER_S = "tokens_per_s"
    """Output tokens a second of all agents together: more is better."""
    TPOT_S = "tpot_s"
    """Time a token for one of the agents: less is better."""


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """Figures by number of agents, and what memory beyond the model speculation was published to take.

    `state_off_gb` and `state_on_gb` are memory at `slots` slots that grows with them, such as recurrent state.
    """

    quantity: Quantity
    off: Mapping[int, float] = field(default_factory=dict)
    on: Mapping[int, float] = field(default_factory=dict)
    state_off_gb: float | None = None
    state_on_gb: float | None = None
    slots: int | None = None

    @property
    def speedups(self) -> dict[int, float]:
        """How many times as fast it is with speculation, by agents, where both figures are there and above 0."""
        out = {}
        for level in sorted(set(self.off) & set(self.on)):
            off, on = self.off[level], self.on[level]
            if not (0 < off < math.inf and 0 < on < math.inf):
                continue
            ratio = on / off if self.quantity is Quantity.TOKENS_PER_S else off / on
            if 0 < ratio < math.inf:
                out[level] = ratio
        return out

    @property
    def slots_bought(self) -> float | None:
        """How many more slots' state the extra memory would hold; null where the table doesn't tell, or it is none."""
        off, on = self.state_off_gb, self.state_on_gb
        if not self.slots or off is None or on is None or not 0 < off < on < math.inf:
            return None
        bought = (on / off - 1) * self.slots
        return bought if bought < math.inf else None


def published_verdict(table: PublishedTable) -> dict[str, Any]:
    """What a published table says to do, marked as without intervals.

    Tokens a second of all agents answer where speculation is on. Time a token answers for one interactive user by the
    figure at 1 agent, and for agents in the background by that at the largest concurrency: there, all else equal, the
    tokens of all agents together come slower by the same factor. The crossover is linear in log₂ N (see `crossover`).
    """
    speedups = table.speedups
    found = crossover("on", {level: {1: math.log(value)} for level, value in speedups.items()})
    answer = _answer(table, speedups)
    return {
        "answer": answer,
        "intervals": False,
        "speedups": [{"agents": level, "value": value} for level, value in speedups.items()],
        "crossover": found,
        "slots_bought": table.slots_bought,
        "text": " ".join([f"{answer[0].upper()}{answer[1:]}.", *_figures(table, speedups), _NOTE]),
    }


def _answer(table: PublishedTable, speedups: Mapping[int, float]) -> str:
    if not speedups:
        return "nothing can be said: no concurrency has a figure with and without speculation"
    return _where_on(speedups) if table.quantity is Quantity.TOKENS_PER_S else _by_use(table, speedups)


def _where_on(speedups: Mapping[int, float]) -> str:
    """At which concurrencies speculation is on, and between which the answer changes."""
    levels = list(speedups)
    on = [level for level in levels if speedups[level] > 1]
    if len(on) == len(levels):
        return f"on up to {levels[-1]}, the largest published; no crossover up to there"
    if not on:
        return f"off from {levels[0]} on, the smallest published; no crossover from there on"
    changes = [f"{a} and {b}" for a, b in pairwise(levels) if (speedups[a] > 1) != (speedups[b] > 1)]
    more = "crossover" if len(changes) == 1 else "crossovers"
    return f"on only at {_and(on)}; {more} between {', and between '.join(changes)}"


def _by_use(table: PublishedTable, speedups: Mapping[int, float]) -> str:
    """What to do for one interactive user, and for agents in the background."""
    parts = []
    if _ONE_USER in speedups:
        parts.append(f"one interactive user: {'keep' if speedups[_ONE_USER] > 1 else 'off'}")
    most = max(speedups)
    if most > _ONE_USER:
        background = "keep"
        if speedups[most] <= 1:
            background = f"off{', spend the memory on slots' if table.slots_bought is not None else ''}"
        parts.append(f"{counted(most)} background agents: {background}")
    return "; ".join(parts)


def _figures(table: PublishedTable, speedups: Mapping[int, float]) -> list[str]:
    """The figures that the answer rests on, as sentences."""
    what = (
        "there are {} the tokens per second" if table.quantity is Quantity.TOKENS_PER_S else "a token comes {} as fast"
    )
    out = []
    if speedups:
        first, *more = (f"{factor(value)} times" for value in speedups.values())
        levels = [f"at {agents(level)}" for level in speedups]
        rest = [f"{ratio} {level}" for ratio, level in zip(more, levels[1:], strict=True)]
        out.append(f"With speculation {', '.join([f'{what.format(first)} {levels[0]}', *rest])}.")
    bought = table.slots_bought
    if bought is not None:
        takes = f"State takes {table.state_off_gb:.2f} GB without and {table.state_on_gb:.2f} GB with it"
        buys = f"what it adds would hold the state of {count(bought)} more slots"
        out.append(f"{takes} at {table.slots} slots, so {buys}; their key-value cache is not counted.")
    return out


def _and(levels: Sequence[int]) -> str:
    return ", ".join(map(str, levels[:-1])) + (" and " if len(levels) > 1 else "") + str(levels[-1])
