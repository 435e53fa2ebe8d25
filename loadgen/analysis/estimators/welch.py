"""The difference of two means from samples that have nothing to do with each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from loadgen.analysis.estimators.intervals import CONFIDENCE, MIN_ROUNDS


@dataclass(frozen=True)
class Welch:
    """Mean of a second sample minus that of a first one, its standard error and degrees of freedom.

    Variances may differ (Welch, Biometrika 34 (1947) 28-35; freedom by Satterthwaite, Biometrics Bulletin 2 (1946)
    110-114).
    """

    difference: float
    error: float
    freedom: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Two-sided interval of the difference."""
        from scipy.special import stdtrit  # noqa: PLC0415 - the command line starts without scipy

        half = float(stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return self.difference - half, self.difference + half

    @property
    def p_value(self) -> float:
        """Two-sided p value of no difference."""
        from scipy.special import stdtr  # noqa: PLC0415 - the command line starts without scipy

        if self.error == 0:
            return 1.0 if self.difference == 0 else 0.0
        return min(1.0, 2 * float(stdtr(self.freedom, -abs(self.difference) / self.error)))


def welch(first: Sequence[float], second: Sequence[float]) -> Welch | None:
    """Welch's comparison of two samples; null where one has fewer than 3 values."""
    if min(len(first), len(second)) < MIN_ROUNDS:
        return None
    parts = [variance(values) / len(values) for values in (first, second)]
    total = sum(parts)
    difference = fmean(second) - fmean(first)
    if total == 0:
        return Welch(difference, 0.0, float(len(first) + len(second) - 2))
    below = parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1)
    return Welch(difference, math.sqrt(total), total**2 / below if below > 0 else float(len(first) + len(second) - 2))
