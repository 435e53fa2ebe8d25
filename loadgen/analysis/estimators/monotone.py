"""The monotone curve closest to values that wiggle."""

from collections.abc import Sequence


def falling(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The never-rising values closest to `values` by least squares: pool adjacent violators (Ayer et al. 1955).

    Values in a wrong order are replaced by their weighted mean until none are.
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] < pool[0]:
            mean, total, count = pools.pop()
            both = total + pool[1]
            pool = ((mean * total + pool[0] * pool[1]) / both, both, count + pool[2])
        pools.append(pool)
    return [mean for mean, _, count in pools for _ in range(count)]
