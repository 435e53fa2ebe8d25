"""The values of a profile: numbers that are drawn for every session or turn.

Shorthand: a number is fixed; `[lo, hi]` is uniform; `{p50, p90}` or `{p50, sigma}` is lognormal with
sigma = ln(p90/p50) / 1.2816 (1.2816 is the 90 % quantile of the standard normal distribution); `{value: weight, …}` is
a choice. `min` and `max` beside `p50` redraw what lies outside.
"""

import math
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import Protocol

_NORMAL = NormalDist()
_Z90 = 1.2816
"""The rounded quantile that profiles state, so that a sigma computed by hand gives the same values."""
_SMALLEST_U = 2.0**-54
"""`random()` may give 0, at which a lognormal has no quantile; its next value up is 2⁻⁵³."""
_MAX_SIGMA = 10.0
"""The widest published fit is 1.74 (human waits): a sigma above 10 is a slip."""
_LARGEST = 1e9
"""Far above every token count and every wait in seconds: a larger number is a slip, and would overflow later."""
_REDRAWS = 64
"""With half of the draws outside `min`/`max`, 64 redraws all miss once in 10¹⁹; beyond that the value is clamped."""


class RandomSource(Protocol):
    """Anything that gives uniform floats in [0, 1), such as a numpy `Generator`.

    Nothing else is asked of it: numpy keeps the bit stream of PCG64 and `random()` stable between versions, but not
    `normal()`, `choice()` and the like. So every value is a quantile of one uniform float.
    """

    def random(self) -> float:
        """The next float in [0, 1)."""
        ...


class Distribution(Protocol):
    """A distribution of one number."""

    def quantile(self, u: float) -> float:
        """The value below which the share `u` of all draws lies, for u in [0, 1), before `min` and `max`."""
        ...

    def draw(self, source: RandomSource) -> float:
        """One value."""
        ...


@dataclass(frozen=True)
class Fixed:
    """Always the same value. A draw takes one float from the source all the same, as every other draw does."""

    value: float

    def quantile(self, _u: float) -> float:
        """The value."""
        return self.value

    def draw(self, source: RandomSource) -> float:
        """The value."""
        return self.quantile(source.random())


@dataclass(frozen=True)
class Uniform:
    """Every value between `low` and `high` equally likely."""

    low: float
    high: float

    def quantile(self, u: float) -> float:
        """Linear between low and high."""
        return self.low + (self.high - self.low) * u

    def draw(self, source: RandomSource) -> float:
        """One value."""
        return self.quantile(source.random())


@dataclass(frozen=True)
class Lognormal:
    """exp(ln p50 + sigma·z) with standard normal z, redrawn until it lies in [low, high]."""

    p50: float
    sigma: float
    low: float = 0.0
    high: float = math.inf

    def quantile(self, u: float) -> float:
        """The quantile of the unclipped distribution."""
        return self.p50 * math.exp(self.sigma * _NORMAL.inv_cdf(max(u, _SMALLEST_U)))

    def draw(self, source: RandomSource) -> float:
        """One value in [low, high]; after 64 misses the last one, clamped."""
        value = self.quantile(source.random())
        for _ in range(_REDRAWS):
            if self.low <= value <= self.high:
                return value
            value = self.quantile(source.random())
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """One of `values` with the given weights (any positive scale)."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def quantile(self, u: float) -> float:
        """The value whose share of the summed weights contains `u`."""
        limits = list(accumulate(self.weights))
        for value, limit in zip(self.values, limits, strict=True):
            if u * limits[-1] < limit:
                return value
        return self.values[-1]

    def draw(self, source: RandomSource) -> float:
        """One value."""
        return self.quantile(source.random())


def parse(value: object) -> Distribution:
    """The distribution that a profile's value states (see the module).

    Raises `ValueError` that says what is wrong with it: negative, NaN and infinite numbers, quantiles in the wrong
    order, unknown names, weights that are all 0.
    """
    if isinstance(value, dict):
        if any(isinstance(key, str) for key in value):
            return _lognormal(value)
        return _choice(value)
    if isinstance(value, list):
        if len(value) != 2:  # noqa: PLR2004 - a pair has two ends
            raise ValueError(f"a range is [lo, hi], not a list of {len(value)}")
        low, high = _number(value[0], "lo"), _number(value[1], "hi")
        if low > high:
            raise ValueError(f"the range [{low:g}, {high:g}] ends before it begins")
        return Uniform(low, high)
    return Fixed(_number(value, "value"))


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, not {type(value).__name__}")  # noqa: TRY004 - pydantic expects it
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    # The comparison is false for NaN too.
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"{name} must be a number from 0 to {_LARGEST:,.0f}, not {number:g}")
    return number


def _lognormal(fields: dict[object, object]) -> Lognormal:
    unknown = [str(key) for key in fields if key not in ("p50", "p90", "sigma", "min", "max")]
    if unknown:
        raise ValueError(f"unknown {', '.join(unknown)}: a lognormal has p50, p90 or sigma, min and max")
    if "p50" not in fields or ("p90" in fields) == ("sigma" in fields):
        raise ValueError("a lognormal needs p50 and one of p90 and sigma")
    numbers = {str(key): _number(value, str(key)) for key, value in fields.items()}
    p50 = numbers["p50"]
    if p50 <= 0:
        raise ValueError("p50 of a lognormal must be above 0")
    if "p90" in numbers and numbers["p90"] < p50:
        raise ValueError(f"p90 ({numbers['p90']:g}) is below p50 ({p50:g})")
    sigma = numbers["sigma"] if "sigma" in numbers else math.log(numbers["p90"] / p50) / _Z90
    low, high = numbers.get("min", 0.0), numbers.get("max", math.inf)
    if low > high:
        raise ValueError(f"min ({low:g}) is above max ({high:g})")
    if sigma > _MAX_SIGMA:
        raise ValueError(f"sigma ({sigma:g}) is above {_MAX_SIGMA:g}")
    return Lognormal(p50, sigma, low, high)


def _choice(fields: dict[object, object]) -> Choice:
    weights = {_number(key, "a value"): _number(weight, f"the weight of {key}") for key, weight in fields.items()}
    possible = {value: weight for value, weight in weights.items() if weight > 0}
    if not possible:
        raise ValueError("the weights of a choice must not all be 0")
    return Choice(tuple(possible), tuple(possible.values()))
