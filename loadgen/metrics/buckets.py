"""Bucket edges of histograms, in seconds: from 1 ms to 30 min, with an edge at every limit of the run's objective."""

from collections.abc import Iterable, Mapping
from typing import Any

COARSE = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0),
)  # fmt: skip
"""Of waits: a prompt of 100,000 tokens is read for minutes, and a quantile above the last edge can't be told."""
FINE = tuple(sorted((*COARSE, 0.003, 0.0075, 0.015, 0.03, 0.04, 0.075, 0.15, 0.3)))
"""Of times a token, which lie between 3 and 300 ms on most machines: six edges a decade there."""


def edges(base: tuple[float, ...], limits_s: Iterable[float]) -> tuple[float, ...]:
    """The edges `base`, and one at each limit: only there a share of good requests can be told exactly."""
    return tuple(sorted({*base, *limits_s}))


def limits(slo: Mapping[str, Any] | None) -> dict[str, list[float]]:
    """The limits of an objective as it is published, in seconds by field, those of single classes of work included."""
    found: dict[str, list[float]] = {}
    for one in (slo or {}, *((slo or {}).get("classes") or {}).values()):
        for name, value in one.items():
            if name.endswith("_s") and value is not None:
                # 700 ms are 0.7000000000000001 s in floating point, which nobody would find as a bucket.
                found.setdefault(name, []).append(float(f"{value:.9g}"))
    return found
