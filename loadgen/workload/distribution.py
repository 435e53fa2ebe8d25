"""The values of a profile: numbers that are drawn for every session or turn.

Shorthand: a number is fixed; `[lo, hi]` is uniform; `{p50, p90}` or `{p50, sigma}` is lognormal with
sigma = ln(p90/p50) / 1.2816 (1.2816 is the 90 % quantile of the standard normal distribution);
`{bins: [[share, [lo, hi]], …]}` is log-uniform inside bins, each with its share of all draws; `{value: weight, …}` is a
choice. `min` and `max` beside any of the last three redraw what lies outside.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist
from typing import Any, Protocol, TypeVar

_T = TypeVar("_T")
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
_BOUNDS = ("min", "max")


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
        return _redrawn(self.quantile, source, self.low, self.high)


@dataclass(frozen=True)
class Bin:
    """`share` of all draws, log-uniform between `low` and `high`; always that value where both are equal."""

    share: float
    low: float
    high: float

    def quantile(self, u: float) -> float:
        """Linear in the logarithm."""
        if self.low == self.high:
            return self.low
        return math.exp((1 - u) * math.log(self.low) + u * math.log(self.high))


@dataclass(frozen=True)
class Bins:
    """One of the bins by its share of all shares, redrawn until the value lies in [low, high].

    What a table of measured quantiles says, with a guess (log-uniform) only between them.
    """

    bins: tuple[Bin, ...]
    low: float = 0.0
    high: float = math.inf

    def quantile(self, u: float) -> float:
        """The quantile of the unclipped distribution, where the bins ascend."""
        whole = sum(one.share for one in self.bins)
        before = 0.0
        for one in self.bins:
            share = one.share / whole
            if u < before + share:
                return one.quantile((u - before) / share)
            before += share
        return self.bins[-1].high

    def draw(self, source: RandomSource) -> float:
        """One value in [low, high]; after 64 misses the last one, clamped."""
        return _redrawn(self.quantile, source, self.low, self.high)


@dataclass(frozen=True)
class Choice:
    """One of `values` with the given weights (any positive scale)."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def quantile(self, u: float) -> float:
        """The value whose share of the summed weights contains `u`."""
        return picked(self.values, self.weights, u)

    def draw(self, source: RandomSource) -> float:
        """One value."""
        return self.quantile(source.random())


def picked(values: Sequence[_T], weights: Sequence[float], u: float) -> _T:
    """The value whose share of the summed weights contains `u`, for u in [0, 1)."""
    limits = list(accumulate(weights))
    for value, limit in zip(values, limits, strict=True):
        if u * limits[-1] < limit:
            return value
    return values[-1]


def _redrawn(quantile: Callable[[float], float], source: RandomSource, low: float, high: float) -> float:
    value = quantile(source.random())
    for _ in range(_REDRAWS):
        if low <= value <= high:
            return value
        value = quantile(source.random())
    return min(max(value, low), high)


def parse(value: object) -> Distribution:
    """The distribution that a profile's value states (see the module).

    Raises `ValueError` that says what is wrong with it: negative, NaN and infinite numbers, quantiles in the wrong
    order, unknown names, weights that are all 0.
    """
    if isinstance(value, dict):
        if "bins" in value:
            return _bins(value)
        if any(isinstance(key, str) and key not in _BOUNDS for key in value):
            return _lognormal(value)
        return _choice(value)
    if isinstance(value, list):
        return Uniform(*_range(value))
    return Fixed(number(value, "value"))


def number(value: object, name: str) -> float:
    """A finite number of 0 or more. Raises `ValueError` that calls it `name`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, not {type(value).__name__}")  # noqa: TRY004 - pydantic expects it
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    # The comparison is false for NaN too.
    if not 0 <= found <= _LARGEST:
        raise ValueError(f"{name} must be a number from 0 to {_LARGEST:,.0f}, not {found:g}")
    return found


def _range(value: list[Any]) -> tuple[float, float]:
    if len(value) != 2:  # noqa: PLR2004 - a pair has two ends
        raise ValueError(f"a range is [lo, hi], not a list of {len(value)}")
    low, high = number(value[0], "lo"), number(value[1], "hi")
    if low > high:
        raise ValueError(f"the range [{low:g}, {high:g}] ends before it begins")
    return low, high


def _bounds(fields: Mapping[Any, Any]) -> tuple[float, float]:
    low = number(fields["min"], "min") if "min" in fields else 0.0
    high = number(fields["max"], "max") if "max" in fields else math.inf
    if low > high:
        raise ValueError(f"min ({low:g}) is above max ({high:g})")
    return low, high


def _lognormal(fields: Mapping[Any, Any]) -> Lognormal:
    unknown = [str(key) for key in fields if key not in ("p50", "p90", "sigma", *_BOUNDS)]
    if unknown:
        raise ValueError(f"unknown {', '.join(unknown)}: a lognormal has p50, p90 or sigma, min and max")
    if "p50" not in fields or ("p90" in fields) == ("sigma" in fields):
        raise ValueError("a lognormal needs p50 and one of p90 and sigma")
    numbers = {str(key): number(value, str(key)) for key, value in fields.items()}
    p50 = numbers["p50"]
    if p50 <= 0:
        raise ValueError("p50 of a lognormal must be above 0")
    if "p90" in numbers and numbers["p90"] < p50:
        raise ValueError(f"p90 ({numbers['p90']:g}) is below p50 ({p50:g})")
    sigma = numbers["sigma"] if "sigma" in numbers else math.log(numbers["p90"] / p50) / _Z90
    low, high = _bounds(fields)
    if sigma > _MAX_SIGMA:
        raise ValueError(f"sigma ({sigma:g}) is above {_MAX_SIGMA:g}")
    return Lognormal(p50, sigma, low, high)


def _bins(fields: Mapping[Any, Any]) -> Bins:
    unknown = [str(key) for key in fields if key not in ("bins", *_BOUNDS)]
    if unknown:
        raise ValueError(f"unknown {', '.join(unknown)}: beside bins there are min and max")
    rows = fields["bins"]
    if not isinstance(rows, list) or not rows:
        raise ValueError("bins are a list of [share, [lo, hi]]")
    bins: list[Bin] = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 2 or not isinstance(row[1], list):  # noqa: PLR2004 - share and range
            raise ValueError("a bin is [share, [lo, hi]]")
        share, (low, high) = number(row[0], "the share of a bin"), _range(row[1])
        if low < high and low == 0:
            raise ValueError("a bin that begins at 0 has no logarithm: begin it above, or make it [0, 0]")
        if bins and low < bins[-1].high:
            raise ValueError(f"the bin [{low:g}, {high:g}] begins before the one in front of it ends")
        bins += [Bin(share, low, high)] if share > 0 else []
    if not bins:
        raise ValueError("the shares of bins must not all be 0")
    low, high = _bounds(fields)
    if high < bins[0].low or low > bins[-1].high:
        raise ValueError("min and max leave nothing of the bins")
    return Bins(tuple(bins), low, high)


def _choice(fields: Mapping[Any, Any]) -> Choice:
    low, high = _bounds(fields)
    weights = {
        number(key, "a value"): number(weight, f"the weight of {key}")
        for key, weight in fields.items()
        if key not in _BOUNDS
    }
    # To redraw what lies outside is to leave it out.
    possible = {value: weight for value, weight in weights.items() if weight > 0 and low <= value <= high}
    if not possible:
        left = " between min and max" if any(weights.values()) else ""
        raise ValueError(f"the weights of a choice must not all be 0{left}")
    return Choice(tuple(possible), tuple(possible.values()))
