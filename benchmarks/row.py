"""One line of the table of truth, and the figures in it."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean

_COLUMNS = 68


@dataclass(frozen=True)
class Row:
    """A measured share or ratio, its standard error, and the bounds that it must keep."""

    name: str
    value: float
    error: float
    low: float
    high: float

    def good(self, slack: float) -> bool:
        """Within the bounds, widened by so many standard errors."""
        return self.low - slack * self.error <= self.value <= self.high + slack * self.error

    def verdict(self, slack: float) -> str:
        """`ok` or `OUT`."""
        return "ok" if self.good(slack) else "OUT"

    def __str__(self) -> str:
        return f"{self.name:{_COLUMNS}} {self.value:7.2%} ± {self.error:.2%}   {self._bounds():17}"

    def _bounds(self) -> str:
        if self.low == 0:
            return f"≤ {self.high:.0%}"
        if self.high >= 1:
            return f"≥ {self.low:.0%}"
        return f"{self.low:+.0%} to {self.high:+.0%}" if self.low < 0 else f"{self.low:.0%} to {self.high:.0%}"


def clustered_mean(values: Sequence[float], groups: Sequence[Hashable]) -> tuple[float, float]:
    """Mean and its standard error where values of one group are not independent (Cameron & Miller 2015, section II).

    Sweeps that redraw the noise of one played run share that run. A single group tells nothing of others: its values
    then count one by one.
    """
    if len(set(groups)) == 1:
        groups = range(len(values))
    mean = fmean(values)
    sums: dict[Hashable, float] = {}
    for value, group in zip(values, groups, strict=True):
        sums[group] = sums.get(group, 0.0) + value - mean
    count = len(sums)
    correction = count / (count - 1)
    return mean, math.sqrt(correction * sum(total**2 for total in sums.values())) / len(values)


def median_with_error(values: Sequence[float]) -> tuple[float, float]:
    """Median and half the distance of the order statistics one standard deviation of its rank away on either side."""
    ordered = sorted(values)
    middle, half = len(ordered) / 2, math.sqrt(len(ordered)) / 2
    low, high = (ordered[min(max(int(middle + sign * half), 0), len(ordered) - 1)] for sign in (-1, 1))
    return ordered[len(ordered) // 2], (high - low) / 2
