"""Makers of what a decision rests on, in the form of the summary; what isn't named has a plain value."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.decision.grounds import Grounds
from loadgen.analysis.estimators.comparison import compare
from loadgen.analysis.estimators.crossover import crossover
from loadgen.units import mib_to_bytes

PAYS = (0.30, 0.31, 0.32)
COSTS = (-0.32, -0.31, -0.30)
SAME = (0.001, 0.0, -0.001)
OPEN = (0.0, 0.1, 0.2)

Logs = Mapping[tuple[str, int], Sequence[float]]


def memory(variant: str, safety: str = "safe", **fields: Any) -> dict[str, Any]:
    """20,000 of 24,576 MiB, of which 1,229 must be left; unsafe where 24,000 are taken."""
    peak = mib_to_bytes(24000 if safety == "unsafe" else 20000)
    budget = None if safety == "unknown" else mib_to_bytes(24576)
    plain: dict[str, Any] = {
        "variant": variant, "peak_bytes": peak, "budget_bytes": budget,
        "margin_bytes": None if budget is None else budget - peak,
        "margin_asked_bytes": None if budget is None else mib_to_bytes(1229), "safety": safety,
        "safety_reason": "no budget was given to hold it against" if budget is None else None, "slots_worth": None,
    }  # fmt: skip
    return {**plain, **fields}


def latency(variant: str, level: int, metric: str, value: float | None, half: float | None = 0.05) -> dict[str, Any]:
    """A ratio with an interval of ±5 % around it, or without one."""
    low, high = (None, None) if value is None or half is None else (value - half, value + half)
    ratio = {"value": value, "low": low, "high": high, "n": 3}
    return {"variant": variant, "baseline": "off", "concurrency": level, "metric": metric, "ratio": ratio}


def latencies(variant: str, level: int, tpot: float, ttft: float = 1.0) -> list[dict[str, Any]]:
    """Time a token and time to the first token, as ratios to the baseline's."""
    return [latency(variant, level, "median_tpot_s", tpot), latency(variant, level, "median_ttft_s", ttft)]


def check(variant: str, result: str = "passed", *reasons: str) -> dict[str, Any]:
    """An output check."""
    return {"variant": variant, "concurrency": 4, "result": result, "reasons": list(reasons), "answers": None}


def objective(
    variant: str, level: int, meets: str | None, value: float | None = 0.97, *, binds: str | None = None, **fields: Any
) -> dict[str, Any]:
    """Goodput held against a TTFT of 2 s, with an interval that agrees with what it says."""
    around = {"yes": (-0.01, 0.01), "no": (-0.01, 0.01), "unresolved": (-0.05, 0.02)}
    low, high = around.get(str(meets), (0.0, 0.0))
    share = {
        "value": value, "low": None if value is None else value + low, "high": None if value is None else value + high,
        "n": 200,
    }  # fmt: skip
    limit = {"limit": "ttft_s", "asked_s": 2.0, "attempted": 200, "kept": 194, "unmeasured": 0, "attainment": share}
    nothing = {"value": None, "low": None, "high": None, "n": 0, "estimable": False}
    plain: dict[str, Any] = {
        "variant": variant, "concurrency": level, "attainment_asked": 0.95,
        "requests": {
            "attempted": 200, "failed": 0, "good": 194, "attainment": share, "per_hour": {**nothing, "value": 1200.0},
        },
        "tasks": {"attempted": 0, "failed": 0, "good": 0, "attainment": nothing, "per_hour": nothing},
        "task_s_estimated": nothing, "limits": [{**limit, "meets": meets, "by": "measured"}], "meets": meets,
        "binds": binds,
    }  # fmt: skip
    return {**plain, **fields}


def task_limit(estimated: bool, **fields: Any) -> dict[str, Any]:
    """A task limit of 600 s that no whole task can be held against."""
    nothing = {"value": None, "low": None, "high": None, "n": 0, "estimable": False}
    plain = {
        "limit": "task_s", "asked_s": 600.0, "attempted": 0, "kept": 0, "unmeasured": 0, "attainment": nothing,
        "meets": "no" if estimated else None, "by": "estimated" if estimated else None,
    }  # fmt: skip
    return {**plain, **fields}


def equal_memory(variant: str, by: str, low: float, high: float, other: str | None = None) -> dict[str, Any]:
    """Speculation against no speculation with the slots that its memory buys, at 4 agents."""
    return {
        "variant": variant, "baseline": "off", "concurrency": 4, "slots_bought": 2.0, "by": by, "other_variant": other,
        "speedup": {"value": (low + high) / 2, "low": low, "high": high},
        "text": f"With 2 more slots in its memory off does more than {variant} ({by}).",
    }  # fmt: skip


def grounds(logs: Logs, *, agents: int = 4, **known: Any) -> Grounds:
    """Grounds for a decision between `off` and the variants of `logs`, their dᵣ by variant and level.

    Every output check passed and every memory is safe, unless it is said otherwise.
    """
    pairs = {key: dict(enumerate(values, start=1)) for key, values in logs.items()}
    names = ["off", *dict.fromkeys(variant for variant, _ in logs)]
    by_level: dict[str, dict[int, dict[int, float]]] = {}
    for (variant, level), rounds in pairs.items():
        by_level.setdefault(variant, {})[level] = rounds
    levels = sorted({level for _, level in logs} | ({agents} if not logs else set()))
    plain: dict[str, Any] = {
        "agents": agents, "baseline": "off", "variants": names,
        "comparisons": compare(pairs, baseline="off", min_effect=0.05),
        "crossovers": [found for name, of in by_level.items() if (found := crossover(name, of)) is not None],
        "memory": [memory(name) for name in names], "output_check": [check(name) for name in names],
        "cells": [
            {"variant": name, "concurrency": level, "tasks_per_hour": {"value": 12.5, "low": 12.0, "high": 13.0}}
            for level in levels for name in names
        ],
    }  # fmt: skip
    return Grounds(**{**plain, **known})
