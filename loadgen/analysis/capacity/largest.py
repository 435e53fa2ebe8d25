"""The largest number of agents within every limit, between levels by interpolation, and how surely that is known.

Between two measured levels the distance to a limit (ln of a time over its limit, or a share) is taken to be linear in
log₂ N. Agents count up to the first N at which a limit is missed: that a later level keeps it again makes no promise.
A level of which it can't be told is passed over where a larger one keeps the limit, for fewer agents wait no longer;
one of which no trial counts is not. The interval rests on the intervals of the figures: `low` is where their less kind
ends first miss a limit, `high` where their kinder ends do. Nothing lies beyond the largest measured level.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from loadgen.analysis.capacity.reading import TRIALS, Reading

_ROUNDING = 1e-9
"""A limit that is reached at a measured level is reached there, not a rounding error below it."""


class Ends(StrEnum):
    """What ends the agents that are known to be within."""

    LIMIT = "limit"
    """A limit is missed from there on."""
    BELOW = "below"
    """A limit is missed at the smallest level already."""
    MEASURED = "measured"
    """Nothing: the largest measured level is within."""
    NOT_TOLD = "not_told"
    """At the next level it can't be told."""


@dataclass(frozen=True)
class Reach:
    """How far one limit lets agents go: 0 where not even the smallest level is known to be within.

    `at` is the reading that ended it; null where none did.
    """

    agents: int
    ends: Ends
    at: Reading | None = None


@dataclass(frozen=True)
class Largest:
    """The largest N within all limits, with a 95 % interval; null where no level is within.

    `low` null: no N is surely within. `high` null: none is surely beyond what it may be, which `open_high` tells from a
    variant that is surely within nowhere. `binds` is the limit that ends it at the level `at`, and `reason` says why it
    can't be told there. `extrapolated`: N or an end of its interval lies between levels beyond the slots, where slots
    and not the server set the pace.
    """

    value: int | None
    low: int | None
    high: int | None
    open_high: bool
    ends: Ends
    binds: str | None
    at: int | None
    reason: str | None
    extrapolated: bool

    @property
    def is_nowhere(self) -> bool:
        """Whether a limit surely is missed at the smallest level already."""
        return self.ends is Ends.BELOW and self.high is None and not self.open_high

    def as_json(self) -> dict[str, Any]:
        """The form of the document."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "open_high": self.open_high,
            "ends": self.ends.value,
            "binds": self.binds,
            "at": self.at,
            "reason": self.reason,
            "extrapolated": self.extrapolated,
        }


def largest(of: Mapping[str, Sequence[Reading]], slots: int | None, *, between: bool = True) -> Largest:
    """The largest N of a variant from its readings by limit, levels ascending.

    Args:
        of: the readings.
        slots: of its server, where known.
        between: levels may be interpolated; else a limit is crossed at the last level that keeps it.
    """
    value = _least([reach(points, lambda one: one.excess, between=between) for points in of.values()])
    low = _least([value, *(reach(points, lambda one: one.worst, between=between) for points in of.values())])
    kinder = [reach(points, lambda one: one.best, between=between) for points in of.values()]
    bounded = [one.agents for one in kinder if one.ends in (Ends.LIMIT, Ends.BELOW)]
    levels = {one.concurrency for points in of.values() for one in points}
    high = min(bounded, default=0)
    ends = (value.agents, low.agents, high)
    at = value.at
    return Largest(
        value=value.agents or None,
        low=low.agents or None,
        high=high or None,
        open_high=not bounded,
        ends=value.ends,
        binds=None if at is None else at.limit,
        at=None if at is None else at.concurrency,
        reason=at.reason if at is not None and value.ends is Ends.NOT_TOLD else None,
        extrapolated=slots is not None and any(one > slots and one not in levels for one in ends),
    )


def reach(points: Sequence[Reading], distance: Callable[[Reading], float | None], *, between: bool = True) -> Reach:
    """How far one limit lets agents go by this distance from it, which is null where it can't be told."""
    before: tuple[int, float] | None = None
    gap: Reading | None = None
    for point in points:
        found = distance(point)
        if found is None:
            gap = gap or point
            if point.limit == TRIALS:
                break
        elif found > 0:
            if gap is not None:
                break
            if before is None:
                return Reach(0, Ends.BELOW, point)
            agents = _crossing(before, (point.concurrency, found)) if between else before[0]
            return Reach(agents, Ends.LIMIT, point)
        else:
            before, gap = (point.concurrency, found), None
    told = gap is None and before is not None
    return Reach(0 if before is None else before[0], Ends.MEASURED if told else Ends.NOT_TOLD, gap)


def kept_again(of: Mapping[str, Sequence[Reading]], found: Largest) -> list[int]:
    """Levels beyond the largest N at which every limit is kept all the same: the curve isn't monotone."""
    if found.ends is not Ends.LIMIT or found.at is None:
        return []
    by_level: dict[int, list[Reading]] = {}
    for points in of.values():
        for one in points:
            by_level.setdefault(one.concurrency, []).append(one)
    return sorted(
        level
        for level, several in by_level.items()
        if level > found.at and all(one.excess is not None and one.excess <= 0 for one in several)
    )


def _least(reaches: Sequence[Reach]) -> Reach:
    """The limit that lets the fewest agents go; of equal ones first what is surely missed, then what can't be told."""
    order = [Ends.BELOW, Ends.LIMIT, Ends.NOT_TOLD, Ends.MEASURED]
    return min(reaches, key=lambda one: (one.agents, order.index(one.ends)))


def _crossing(before: tuple[int, float], after: tuple[int, float]) -> int:
    """The whole agents up to where the line through both, in log₂ N, reaches 0."""
    (a, at_a), (b, at_b) = before, after
    share = -at_a / (at_b - at_a)
    return math.floor(2 ** (math.log2(a) + share * (math.log2(b) - math.log2(a))) + _ROUNDING)
