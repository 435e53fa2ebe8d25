"""Tasks per hour, and joules per task, of one variant at any N between its measured levels."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.at_depth import of_depth
from loadgen.analysis.estimators.comparison import speedup
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.speed.rate_curve import Curve

NOT_MEASURED = Estimate(None, estimable=False)


@dataclass(frozen=True)
class Rates:
    """What one variant did: the estimates of its levels, and tasks per hour round by round.

    At a measured level it is the estimate of the summary. Between two, each round's rate is interpolated linearly in
    the logarithms of both, and its interval is the t interval of the mean logarithm over the rounds. Elsewhere null;
    between levels too, where `between` is false for they differ in more than their agents.
    """

    at_levels: Mapping[int, Estimate]
    curve: Curve
    joules: Mapping[int, Estimate]
    between: bool = True

    def tasks_per_hour(self, agents: float) -> Estimate:
        """Tasks per hour of one server with so many agents."""
        if agents in self.at_levels:
            return self.at_levels[int(agents)]
        rounds = self.curve.at(agents) if self.between else None
        return NOT_MEASURED if not rounds else speedup([math.log(rate) for rate in rounds.values()])

    def joules_per_task(self, agents: float) -> Estimate:
        """Joules per task, between two levels linear in the logarithms of value and interval."""
        if agents in self.joules:
            return self.joules[int(agents)]
        below = max((level for level in self.joules if level < agents), default=None)
        above = min((level for level in self.joules if level > agents), default=None)
        if below is None or above is None or not self.between:
            return NOT_MEASURED
        share = math.log(agents / below) / math.log(above / below)
        value, low, high = (
            _between(getattr(self.joules[below], end), getattr(self.joules[above], end), share)
            for end in ("value", "low", "high")
        )
        n = min(self.joules[below].n, self.joules[above].n)
        return Estimate(value, low, high, n, estimable=low is not None and high is not None)

    def most(self, agents: int) -> int | None:
        """The agents, up to so many, with which a server does most: a measured level, or the number itself.

        By the lower end of the interval, for a promise is kept by what is sure; by the value where no interval is.
        """
        tried = sorted({*(level for level in self.at_levels if level < agents), agents})
        known = {one: rate for one in tried if (rate := self.tasks_per_hour(one)).value is not None}
        sure = {one: rate.low for one, rate in known.items() if rate.low is not None}
        by = sure or {one: rate.value for one, rate in known.items() if rate.value is not None}
        return max(by, key=by.__getitem__, default=None)


def rates(summary: Mapping[str, Any], variant: str, depth: int | None = None, *, between: bool = True) -> Rates:
    """The rates of a variant over its levels with valid trials, in a summary of one `depth`."""
    cells = [one for one in summary["cells"] if one["variant"] == variant and one["valid_trials"]]
    by_level = {one["concurrency"]: _by_round(one) for one in sorted(cells, key=lambda one: int(one["concurrency"]))}
    memory = next((one for one in summary["memory"] if one["variant"] == variant), None)
    energy = memory["energy"] if memory is not None else None
    return Rates(
        at_levels={one["concurrency"]: estimate(one["tasks_per_hour"]) for one in cells},
        curve=Curve({level: found for level, found in by_level.items() if found}),
        joules={
            one["concurrency"]: estimate(one["joules_per_task"])
            for one in of_depth(energy["by_concurrency"] if energy is not None else (), depth)
            if one["joules_per_task"] is not None and (one["joules_per_task"]["value"] or 0) > 0
        },
        between=between,
    )


def estimate(entry: Mapping[str, Any]) -> Estimate:
    """An estimate of the summary as an object."""
    return Estimate(entry["value"], entry["low"], entry["high"], entry["n"], entry.get("estimable", True))


def _by_round(cell: Mapping[str, Any]) -> dict[int, float]:
    return {
        one["round"]: one["tasks_per_hour"]
        for one in cell["by_trial"]
        if one["valid"] and one["tasks_per_hour"] is not None and one["tasks_per_hour"] > 0
    }


def _between(below: float | None, above: float | None, share: float) -> float | None:
    if below is None or above is None or min(below, above) <= 0:
        return None
    return math.exp((1 - share) * math.log(below) + share * math.log(above))
