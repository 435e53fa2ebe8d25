"""What one user of a variant waits for, against the baseline: time a token and time to the first token."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from loadgen.analysis.decision.choice import Choice
from loadgen.analysis.decision.goodput import Meets
from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.wording import factor, interval

ONE_USER = 1
"""The concurrency of a server that somebody uses alone."""
_METRICS = {"tpot": ("median_tpot_s", "time a token"), "ttft": ("median_ttft_s", "time to the first token")}


class Says(StrEnum):
    """What the interval of a ratio of latencies shows. Pointwise: described, not called over all comparisons."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    NO_INTERVAL = "no interval"
    NOT_MEASURED = "not measured"


def view(grounds: Grounds, variant: str, level: int) -> dict[str, Any] | None:
    """The medians of a variant at a level over the baseline's: below 1 where it is faster; null without any.

    `keep`: the variant where its tokens come faster and the first one not later, its memory is safe, and it doesn't
    miss the objective at this level; the baseline where tokens come slower and the first one not sooner, or where the
    variant can't be kept for its memory or the objective; else null.
    """
    ratios = {name: grounds.latency(variant, level, metric) for name, (metric, _) in _METRICS.items()}
    if variant in grounds.failed or grounds.baseline in grounds.failed or not any(ratios.values()):
        return None
    says = {name: _says(ratio) for name, ratio in ratios.items()}
    return {
        "variant": variant,
        "agents": level,
        **{name: None if ratio is None else dict(ratio) for name, ratio in ratios.items()},
        **{f"{name}_says": said for name, said in says.items()},
        "keep": _keep(grounds, variant, level, says),
    }


def best_view(grounds: Grounds, choice: Choice, level: int) -> dict[str, Any] | None:
    """The view of the variant in focus; for one user alone that of the variant to keep, by the lowest time a token."""
    views = [found for name in grounds.candidates if (found := view(grounds, name, level)) is not None]
    kept = [found for found in views if found["keep"] == found["variant"]]
    if level == ONE_USER and kept:
        return min(kept, key=lambda found: float(found["tpot"]["high"]))
    return next((found for found in views if found["variant"] == choice.focus), next(iter(views), None))


def view_text(found: Mapping[str, Any], baseline: str) -> str:
    """A view as a clause: `mtp takes 0.63 times the time a token of off (95 % interval 0.60 to 0.66: faster)`."""
    parts = [_ratio_text(found, name, what) for name, (_, what) in _METRICS.items() if found[name] is not None]
    first, *more = parts
    return f"{found['variant']} takes {' and '.join([f'{first[0]} of {baseline} {first[1]}', *map(' '.join, more)])}"


def _ratio_text(found: Mapping[str, Any], name: str, what: str) -> tuple[str, str]:
    ratio = found[name]
    bounds = "without an interval"
    if ratio["low"] is not None and ratio["high"] is not None:
        bounds = f"95 % interval {interval(ratio['low'], ratio['high'])}: {found[f'{name}_says']}"
    return f"{factor(ratio['value'])} times the {what}", f"({bounds})"


def _says(ratio: Mapping[str, Any] | None) -> Says:
    if ratio is None:
        return Says.NOT_MEASURED
    if ratio["low"] is None or ratio["high"] is None:
        return Says.NO_INTERVAL
    if ratio["high"] < 1:
        return Says.FASTER
    return Says.SLOWER if ratio["low"] > 1 else Says.NO_DIFFERENCE


def _keep(grounds: Grounds, variant: str, level: int, says: Mapping[str, Says]) -> str | None:
    objective = grounds.goodput_of(variant, level)
    if grounds.safety(variant) == "unsafe" or (objective is not None and objective["meets"] == Meets.NO):
        return grounds.baseline
    if says["tpot"] is Says.FASTER and says["ttft"] is not Says.SLOWER:
        return variant if grounds.safety(variant) == "safe" else None
    if says["tpot"] is Says.SLOWER and says["ttft"] is not Says.FASTER:
        return grounds.baseline
    return None
