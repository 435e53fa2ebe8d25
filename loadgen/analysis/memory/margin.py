"""How much memory was used at most, of how much, and whether what was left is enough."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.memory.series import Series
from loadgen.units import BYTES_PER_GIB

_MARGIN_SHARE = 0.05


def use(watched: Series | None, budget: int | None, asked: int | None, used: set[str]) -> dict[str, Any]:
    """Peak, 95th percentile, budget and margin, on the whole and device by device; null for what wasn't seen.

    Args:
        watched: what was watched of the variant.
        budget: bytes that it may use; null: what its devices have.
        asked: bytes that must be left; null: the larger of 1 GiB and 5 % of the budget.
        used: the devices on which its ledger has memory.
    """
    if watched is None or not watched.points:
        return {
            "budget_bytes": budget, "budget_source": "asked" if budget is not None else None, "peak_bytes": None,
            "p95_bytes": None, "before_bytes": None, "delta_bytes": None, "margin_bytes": None,
            "margin_asked_bytes": None if budget is None else _wanted(budget, asked), "safety": "unknown",
            "safety_reason": "no memory was seen", "devices": [], "foreign_growth_bytes": None,
        }  # fmt: skip
    values = sorted(point.value for point in watched.points)
    devices = [
        {**one, "margin_bytes": one["total_bytes"] - one["peak_bytes"] if one["total_bytes"] is not None else None}
        for one in watched.devices
    ]
    doubt = _doubt(watched, used)
    source = "asked" if budget is not None else None
    if budget is None and devices and doubt is None and all(one["total_bytes"] is not None for one in devices):
        budget, source = sum(one["total_bytes"] for one in devices), "devices"
    peak = round(values[-1])
    is_all = watched.holds_device_memory or not used
    margin = budget - peak if budget is not None and is_all else None
    safety, reason = _safety(margin, budget, asked, devices if source == "devices" else [], doubt)
    return {
        "budget_bytes": budget,
        "budget_source": source,
        "peak_bytes": peak,
        "p95_bytes": round(values[max(math.ceil(0.95 * len(values)) - 1, 0)]),
        "before_bytes": None if watched.before is None else round(watched.before),
        "delta_bytes": None if watched.before is None else peak - round(watched.before),
        "margin_bytes": margin,
        "margin_asked_bytes": None if budget is None else _wanted(budget, asked),
        "safety": safety,
        "safety_reason": reason,
        "devices": devices,
        "foreign_growth_bytes": None if watched.foreign_growth is None else round(watched.foreign_growth),
    }


def _wanted(budget: int, asked: int | None) -> int:
    return asked if asked is not None else round(max(BYTES_PER_GIB, _MARGIN_SHARE * budget))


def _doubt(watched: Series, used: set[str]) -> str | None:
    """Why what was seen isn't all that the server uses, or may use; null where it is."""
    if used and not watched.holds_device_memory:
        return f"its memory is on {', '.join(sorted(used))}, which nobody told of"
    if watched.missing:
        return f"{', '.join(watched.missing)} did not tell its memory"
    if watched.is_device and not watched.holds_host_memory and 0 < len(used) < len(watched.devices):
        return f"{len(watched.devices)} devices were watched, not all used: the server's log names {len(used)}"
    return None


def _safety(
    margin: int | None, budget: int | None, asked: int | None, devices: Sequence[Mapping[str, Any]], doubt: str | None
) -> tuple[str, str | None]:
    if margin is None or budget is None:
        return "unknown", doubt or "no budget was given to hold it against"
    if margin < _wanted(budget, asked):
        return "unsafe", None
    short = [one for one in devices if one["margin_bytes"] < _wanted(one["total_bytes"], asked)]
    if short:
        return "unsafe", f"{short[0]['device']} alone has less left than asked for"
    return ("unknown", doubt) if doubt is not None else ("safe", None)
