"""How many servers carry a load, with headroom, and with some of them lost."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.capacity.largest import Largest
from loadgen.analysis.capacity.rates import Rates

HEADROOM = 0.2
"""A fifth of a server is left free: sessions come in bursts, and the run drew its own."""
SPARE = 1
"""N+1: one server may be lost, or be restarted, and the others still carry the load with their headroom."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Demand:
    """The load: agents at work at once, or tasks per hour; one of them. Neither: nobody asked for servers.

    `headroom` is the share of a server's capacity that stays free, `spare` how many servers may be lost.
    """

    agents: int | None = None
    tasks_per_hour: float | None = None
    headroom: float = HEADROOM
    spare: int = SPARE

    @property
    def is_asked(self) -> bool:
        """Whether there is a load to carry."""
        return self.agents is not None or self.tasks_per_hour is not None

    def servers(self, one_server: float | None) -> int | None:
        """How many servers carry the load where one carries so much of it at most; null where that is null or 0."""
        load = self.agents if self.agents is not None else self.tasks_per_hour
        if load is None or one_server is None or one_server <= 0:
            return None
        return max(math.ceil(load / ((1 - self.headroom) * one_server) - _ROUNDING), 1)


@dataclass(frozen=True)
class Servers:
    """The servers that a load takes, the spare ones left out.

    `value` goes by the largest N itself. `most` goes by the lower end of its interval: so many surely are enough.
    `fewest` goes by the upper end: fewer surely aren't, null where that end is open. `at` are the agents of one server
    that this rests on.
    """

    value: int | None
    fewest: int | None
    most: int | None
    at: int | None

    @property
    def is_settled(self) -> bool:
        """Whether the interval leaves one number."""
        return self.most is not None and self.most == self.fewest

    def as_json(self, spare: int) -> dict[str, Any]:
        """The form of the document; `total` are those that surely are enough, and the spare ones."""
        return {
            "value": self.value,
            "fewest": self.fewest,
            "most": self.most,
            "settled": self.is_settled,
            "spare": spare,
            "total": None if self.most is None else self.most + spare,
            "at": self.at,
        }


def servers(demand: Demand, found: Largest, rates: Rates) -> Servers:
    """The servers that a load takes.

    Agents are spread evenly: each server has (1 − headroom) · N of them on average. Of tasks per hour a server does, at
    the agents with which it does most of those that it may have, (1 − headroom) times its rate there.
    """
    if demand.agents is not None:
        one: tuple[float | None, ...] = (found.value, found.high, found.low)
        at = found.value
    else:
        ends = {"value": found.value, "high": found.high, "low": found.low}
        one = tuple(_rate(rates, agents, end) for end, agents in ends.items())
        at = None if found.value is None else rates.most(found.value)
    value, fewest, most = map(demand.servers, one)
    # Fewer than one server carry nothing.
    return Servers(value, 1 if most == 1 else fewest, most, at)


def _rate(rates: Rates, agents: int | None, end: str) -> float | None:
    """Tasks per hour of one server that may have up to so many agents."""
    at = None if agents is None else rates.most(agents)
    found: float | None = None if at is None else getattr(rates.tasks_per_hour(at), end)
    return found


def even_load(demand: Demand, total: int | None, rates: Rates) -> Mapping[str, Any]:
    """What so many servers have each, and do together, with the load spread evenly over all of them.

    `{"agents_per_server", "tasks_per_hour"}`: null where that lies below the smallest measured level.
    """
    if demand.agents is None or total is None:
        return {"agents_per_server": None, "tasks_per_hour": demand.tasks_per_hour}
    each = demand.agents / total
    rate = rates.tasks_per_hour(each).value
    return {"agents_per_server": each, "tasks_per_hour": None if rate is None else rate * total}
