"""What a task costs: by the hour of a server, and by the energy that it takes where power was recorded.

Money has no name here: a price of 1.20 an hour gives a cost in whatever that is counted in.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.capacity.rates import NOT_MEASURED, Rates
from loadgen.analysis.capacity.servers import Demand
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.units import joules_to_kwh

_TEXT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:/\s*([a-z]+))?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Prices:
    """Of one server an hour, and of a kWh; null: not given."""

    server_per_hour: float | None = None
    energy_per_kwh: float | None = None

    @property
    def are_given(self) -> bool:
        """Whether there is any."""
        return self.server_per_hour is not None or self.energy_per_kwh is not None


def parse_price(text: str, per: str) -> float:
    """The number in a price such as `1.20/h` (`per` is `h`) or `0.30/kWh`; the unit may be left out.

    Raises `ValueError` where the text is none.
    """
    found = _TEXT.fullmatch(text)
    if found is None or (found[2] is not None and found[2].lower() != per.lower()):
        raise ValueError(f"{text.strip()!r} is no price such as 1.20/{per}; leave out the currency")
    price = float(found[1])
    if not math.isfinite(price):
        raise ValueError(f"{text.strip()[:20]!r} is no price that anybody pays")
    return price


def cost_per_task(prices: Prices, rates: Rates, agents: float | None) -> dict[str, Any] | None:
    """What a task costs with so many agents on a server: `{"server", "energy", "all", "reason"}`; null without prices.

    `server` is the price of an hour ÷ tasks per hour. `energy` is the price of a kWh times the energy of a task, which
    is that of the devices that were watched and not of the whole machine. `all` is their sum, the sum of their ends
    being its interval, where every price that was given could be used. Null agents: nothing is known of them.
    """
    if not prices.are_given:
        return None
    rate = NOT_MEASURED if agents is None else rates.tasks_per_hour(agents)
    joules = NOT_MEASURED if agents is None else rates.joules_per_task(agents)
    reason = None
    if rate.value is None or rate.value <= 0:
        reason = "tasks per hour were not measured there"
    elif prices.energy_per_kwh is not None and joules.value is None:
        reason = "power was not recorded there" if rates.joules else "no power was recorded"
    return _entry(prices, _over(prices.server_per_hour, rate), _times(prices.energy_per_kwh, joules), reason)


def cost_of_load(prices: Prices, demand: Demand, total: int | None, rates: Rates) -> dict[str, Any] | None:
    """What a task costs with the load spread evenly over so many servers, all of them paid for."""
    if demand.agents is not None or demand.tasks_per_hour is None:
        each = None if total is None or demand.agents is None else demand.agents / total
        return cost_per_task(prices, rates, each)
    if not prices.are_given:
        return None
    price, reason = prices.server_per_hour, None
    server = NOT_MEASURED if price is None or total is None else Estimate(price * total / demand.tasks_per_hour)
    if total is None:
        reason = "how many servers are enough can't be told"
    elif prices.energy_per_kwh is not None:
        reason = "how many agents do so many tasks is not asked, so their energy is not known"
    return _entry(prices, server, NOT_MEASURED, reason)


def _entry(prices: Prices, server: Estimate, energy: Estimate, reason: str | None) -> dict[str, Any]:
    parts = [(prices.server_per_hour, server), (prices.energy_per_kwh, energy)]
    return {
        "server": None if prices.server_per_hour is None else server.as_json(),
        "energy": None if prices.energy_per_kwh is None else energy.as_json(),
        "all": _sum([part for price, part in parts if price is not None]).as_json(),
        "reason": reason,
    }


def _over(price: float | None, rate: Estimate) -> Estimate:
    if price is None or rate.value is None or rate.value <= 0:
        return NOT_MEASURED
    low, high = (None if end is None or end <= 0 else price / end for end in (rate.high, rate.low))
    return Estimate(price / rate.value, low, high, rate.n, estimable=low is not None and high is not None)


def _times(price: float | None, joules: Estimate) -> Estimate:
    if price is None or joules.value is None:
        return NOT_MEASURED
    low, high = (None if end is None else price * joules_to_kwh(end) for end in (joules.low, joules.high))
    return Estimate(price * joules_to_kwh(joules.value), low, high, joules.n, joules.estimable)


def _sum(parts: Sequence[Estimate]) -> Estimate:
    value, low, high = (_added([getattr(part, end) for part in parts]) for end in ("value", "low", "high"))
    return Estimate(value, low, high, min(part.n for part in parts), estimable=low is not None and high is not None)


def _added(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
