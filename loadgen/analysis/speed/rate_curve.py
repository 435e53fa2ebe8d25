"""Tasks per hour of one variant over the agents that its slots hold, round by round."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from loadgen.analysis.speed.step_model import Cells


@dataclass(frozen=True)
class Curve:
    """Tasks per hour by level and round, where they are above 0."""

    by_level: Mapping[int, Mapping[int, float]]

    @property
    def largest(self) -> int | None:
        """The largest level that it knows."""
        return max(self.by_level, default=None)

    def at(self, agents: float) -> dict[int, float] | None:
        """Tasks per hour by round, between two levels linear in the logarithms of both; null outside of the levels."""
        if agents in self.by_level:
            return dict(self.by_level[int(agents)])
        below = max((level for level in self.by_level if level < agents), default=None)
        above = min((level for level in self.by_level if level > agents), default=None)
        if below is None or above is None:
            return None
        share = math.log(agents / below) / math.log(above / below)
        at_below, at_above = self.by_level[below], self.by_level[above]
        return {
            number: math.exp((1 - share) * math.log(at_below[number]) + share * math.log(at_above[number]))
            for number in sorted(set(at_below) & set(at_above))
        }


def curve(valid: Cells, variant: str, slots: int | None) -> Curve:
    """The curve of a variant up to its slots: beyond them slots set the pace. Null slots: all levels."""
    found: dict[int, dict[int, float]] = {}
    for (name, level), trials in sorted(valid.items(), key=lambda item: item[0][1]):
        if name != variant or (slots is not None and level > slots):
            continue
        rounds = {trial.record.round: trial.tasks_per_hour for trial in trials}
        above = {number: rate for number, rate in rounds.items() if rate is not None and rate > 0}
        if above:
            found[level] = above
    return Curve(found)
