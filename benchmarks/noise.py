"""The noise of a machine: one factor a trial, which scales every time of it.

ln of the factor is the sum of

* a drift that all trials share in the order in which they are played: AR(1), twice as wide as what tells
  two trials apart, so that only pairing takes it out;
* what is each trial's own: normal, so that the factor is lognormal;
* outliers: one trial in 50 is slowed by three standard deviations of its own noise besides.

A noise of 5 % means that the two trials of a round, a block of four trials apart, differ by 5 % · √2 (standard
deviation of ln), drift and outliers included: 5 to 10 % was measured on a quiet machine. The mean of a factor is 1.
"""

import math
import random
from dataclasses import dataclass

_PERSISTENCE = 0.97
"""Correlation from one trial to the next: a trial takes about a minute, heat and neighbours change in half an hour."""
_DRIFT = 2.0
"""Standard deviation of the drift, in those of a trial's own noise."""
_OUTLIERS = 0.02
_OUTLIER = 3.0
_BLOCK = 4
"""Trials between the two of a pair: a launched variant runs all four levels in one block."""
_WHOLE = math.sqrt(1 + _OUTLIERS * (1 - _OUTLIERS) * _OUTLIER**2 + _DRIFT**2 * (1 - _PERSISTENCE**_BLOCK))
"""What two trials of a round differ by, over √2, in standard deviations of a trial's own noise."""


@dataclass(frozen=True)
class Noise:
    """`spread` is a share: 0.05 for 5 %."""

    spread: float

    def factors(self, trials: int, chance: random.Random) -> list[float]:
        """One factor for each of so many trials, in the order in which they are played."""
        own = self.spread / _WHOLE
        drift = chance.gauss(0, _DRIFT * own)
        innovation = _DRIFT * own * math.sqrt(1 - _PERSISTENCE**2)
        mean = self._mean(own)
        out = []
        for _ in range(trials):
            logarithm = drift + chance.gauss(0, own) + (_OUTLIER * own if chance.random() < _OUTLIERS else 0.0)
            out.append(math.exp(logarithm) / mean)
            drift = _PERSISTENCE * drift + chance.gauss(0, innovation)
        return out

    @staticmethod
    def _mean(own: float) -> float:
        outliers = 1 - _OUTLIERS + _OUTLIERS * math.exp(_OUTLIER * own)
        return outliers * math.exp((1 + _DRIFT**2) * own**2 / 2)
