"""Numbers as people read them: `n/a` for what was not measured, and no more digits than mean something."""

from collections.abc import Mapping
from typing import Any

from loadgen.units import bytes_to_mib

NOT_MEASURED = "n/a"
_DIGITS = 3
"""Rates and times repeat to a few percent at best: three digits say all there is."""


def significant(value: float | None) -> str:
    """A number with three significant digits and no exponent, such as 12.3, 1,240 or 0.0412."""
    if value is None:
        return NOT_MEASURED
    if value == 0:
        return "0"
    if abs(value) >= 100:  # noqa: PLR2004 - from three digits before the point on, none behind it
        return f"{value:,.0f}"
    decimals = _DIGITS - 1
    magnitude = abs(value)
    while magnitude < 1 and decimals < 6:  # noqa: PLR2004 - microseconds are the finest that we measure
        magnitude *= 10
        decimals += 1
    if abs(value) >= 10:  # noqa: PLR2004 - two digits before the point leave one
        decimals = 1
    return f"{value:.{decimals}f}"


def seconds(value: float | None) -> str:
    """A time in the unit that suits it: `412 µs`, `52.1 ms`, `1.84 s`, `2:05 min`."""
    if value is None:
        return NOT_MEASURED
    if value < 1e-3:  # noqa: PLR2004 - below a millisecond
        return f"{significant(value * 1e6)} µs"
    if value < 1:
        return f"{significant(value * 1e3)} ms"
    if value < 120:  # noqa: PLR2004 - two minutes
        return f"{significant(value)} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,}:{rest:02d} min"


def share(value: float | None) -> str:
    """A share of 0..1 as a percentage, such as `82 %`."""
    return NOT_MEASURED if value is None else f"{significant(value * 100)} %"


def agents(level: int) -> str:
    """`1 agent`, `4 agents`."""
    return "1 agent" if level == 1 else f"{level} agents"


def mebibytes(value: float | None) -> str:
    """Bytes in MiB, such as `26.25 MiB`: two decimals, as server logs print them."""
    return NOT_MEASURED if value is None else f"{bytes_to_mib(value):,.2f} MiB"


def of(estimate: dict[str, Any] | None) -> float | None:
    """The value of an estimate of the summary, or null."""
    return None if not estimate else estimate.get("value")


def ratio_with_interval(estimate: dict[str, Any] | None) -> str:
    """A ratio with its interval, such as `1.15 [1.09, 1.21]`."""
    value = of(estimate)
    if estimate is None or value is None:
        return NOT_MEASURED
    if estimate.get("low") is None or estimate.get("high") is None:
        return f"{value:.3f} [{NOT_MEASURED}]"
    return f"{value:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def quantile(quantiles: Mapping[str, dict[str, Any]], name: str) -> str:
    """A quantile of times, or with too few samples to bound it their number: `n/a (n=12)`."""
    estimate = quantiles[name]
    value = of(estimate)
    if value is None:
        return NOT_MEASURED
    if estimate.get("estimable") is False:
        return f"{NOT_MEASURED} (n={estimate['n']})"
    return seconds(value)
