"""Intervals for a share, and for the difference of two shares of the same items."""

import math

_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: two-sided 95 % intervals."""


def wilson(hits: int, n: int) -> tuple[float, float]:
    """95 % score interval of a share of `n` items, which must be at least 1 (Wilson 1927)."""
    share = hits / n
    square = _Z * _Z / n
    centre = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return max(0.0, centre - half), min(1.0, centre + half)


def paired_difference(both: int, only_first: int, only_second: int, neither: int) -> tuple[float, float]:
    """95 % interval of the first share minus the second, of items that were looked at twice; at least one item.

    Newcombe's hybrid score interval for pairs: method 10 of Newcombe, Statistics in Medicine 17 (1998) 2635-2650. It
    joins the two Wilson intervals, narrowed by how far the same items are hit both times.
    """
    n = both + only_first + only_second + neither
    first, second = (both + only_first) / n, (both + only_second) / n
    low_1, high_1 = wilson(both + only_first, n)
    low_2, high_2 = wilson(both + only_second, n)
    phi = _correlation(both, only_first, only_second, neither)
    below = _joined(first - low_1, high_2 - second, phi)
    above = _joined(high_1 - first, second - low_2, phi)
    return first - second - below, first - second + above


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _correlation(both: int, only_first: int, only_second: int, neither: int) -> float:
    """Newcombe's phi: a positive one is made smaller by a continuity correction; 0 where a margin is empty."""
    n = both + only_first + only_second + neither
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    product: float = both * neither - only_first * only_second
    if product > 0:
        product = max(0.0, product - n / 2)
    return product / math.sqrt(margins)
