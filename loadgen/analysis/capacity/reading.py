"""Limits held against what was measured at one concurrency: how far a variant is from each of them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.capacity.limit import Limits, QuantileLimit
from loadgen.analysis.capacity.place import Place, classes_in, places
from loadgen.analysis.capacity.rates import NOT_MEASURED, estimate
from loadgen.analysis.criteria.figure import figure
from loadgen.analysis.decision.goodput import Meets
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.measured.attempt import TASK
from loadgen.experiment.slo import Slo

TRIALS, ATTAINMENT, TASKS = "valid trials", "attainment", "attainment of tasks"
"""What must be kept beside the percentiles: something was measured, and enough requests and tasks are good."""
MEAN_TASK = "mean task time"
"""Held against a limit of tasks where too few of them were seen whole: see `_of_mean`."""
_SHORTEST_S = 1e-9
"""The resolution of our clock: a shorter time is 0 to us."""


@dataclass(frozen=True)
class Reading:
    """One limit at one concurrency.

    `figure` is what was measured, in seconds or as a share. `excess` is how far that lies beyond the limit, 0 being at
    it and below 0 within: ln(value ÷ limit) of times, the share asked for minus that reached of shares. `best` and
    `worst` are the same of the kinder and the less kind end of the interval. Null: can't be told, and `reason` says
    why. `only_misses`: within, it says nothing of the limit.
    """

    limit: str
    concurrency: int
    figure: Estimate = NOT_MEASURED
    asked: float | None = None
    excess: float | None = None
    best: float | None = None
    worst: float | None = None
    reason: str | None = None
    only_misses: bool = False

    @property
    def meets(self) -> Meets | None:
        """Whether the limit is kept by the whole interval; null where nothing was measured."""
        if self.worst is not None and self.worst <= 0:
            return Meets.YES
        if self.best is not None and self.best > 0:
            return Meets.NO
        return None if self.figure.value is None else Meets.UNRESOLVED

    def as_json(self) -> dict[str, Any]:
        """The form of the document."""
        meets = self.meets
        return {
            "limit": self.limit,
            "asked": self.asked,
            "figure": self.figure.as_json(),
            "meets": None if meets is None else meets.value,
            "reason": self.reason,
        }


def readings(summary: Mapping[str, Any], limits: Limits, variant: str) -> dict[str, list[Reading]]:
    """The readings of a variant by limit, levels ascending.

    Of a mix each class is held against the limits that apply to it, at the levels where it has agents.

    Args:
        summary: of a run, its goodput computed with `limits.for_goodput`.
        limits: what must be kept.
        variant: the name.
    """
    cells = sorted((one for one in summary["cells"] if one["variant"] == variant), key=lambda one: one["concurrency"])
    found = {TRIALS: [_trials(cell) for cell in cells]}
    classes: list[str | None] = [*classes_in(cells)]
    for limit in limits.quantiles:
        for name in classes or [None] if limit.work_class is None else [limit.work_class]:
            own = places(summary, cells, name)
            text = limit.text if limit.work_class is not None else _named(limit.text, name)
            found[text] = [_of_quantile(summary, limit, text, place) for place in own]
            if limit.is_of_tasks and any(one.excess is None for one in found[text]):
                mean = _named(MEAN_TASK, name)
                found.setdefault(mean, [_of_mean(mean, place, limit.limit_s) for place in own])
    for name in classes or [None]:
        slo = limits.slo if limits.slo is None or name is None else limits.slo.of(name)
        if slo is not None:
            found |= _of_objective(slo, name, places(summary, cells, name))
    return found


def overall(of: Iterable[Reading]) -> Meets | None:
    """What the readings of one concurrency come to: missed where one is, kept where all are; null: nothing measured."""
    parts = [one.meets for one in of if not one.only_misses or one.meets is Meets.NO]
    if Meets.NO in parts:
        return Meets.NO
    if all(part is Meets.YES for part in parts):
        return Meets.YES
    return None if all(part is None for part in parts) else Meets.UNRESOLVED


def _named(what: str, work_class: str | None) -> str:
    return what if work_class is None else f"{work_class}: {what}"


def _trials(cell: Mapping[str, Any]) -> Reading:
    """Kept where any trial counts."""
    valid, tried, level = cell["valid_trials"], cell["trials"], cell["concurrency"]
    if not valid:
        why = f"none of its {tried} trials counts" if tried != 1 else "its only trial doesn't count"
        return Reading(TRIALS, level, reason=why)
    return Reading(TRIALS, level, Estimate(float(valid), n=tried), asked=1.0, excess=-1.0, best=-1.0, worst=-1.0)


def _of_quantile(summary: Mapping[str, Any], limit: QuantileLimit, text: str, place: Place) -> Reading:
    """A percentile that has no upper bound tells nothing, unless its lower bound already lies beyond the limit."""
    found = figure({**summary, "cells": [place.cell]}, limit.metric, place.cell["variant"], place.level)
    if found.value is None:
        return Reading(text, place.level, asked=limit.limit_s, reason=found.reason)
    low, high = (found.value, found.value) if found.seen else (found.low, found.high)
    shown = Estimate(found.value, low, high, found.n, estimable=high is not None)
    best, worst = _beyond(low, limit.limit_s), _beyond(high, limit.limit_s)
    excess = _beyond(found.value, limit.limit_s)
    reason = None
    if worst is None and best is not None and best > 0:
        worst = math.inf
    elif worst is None:
        what = "whole tasks" if limit.is_of_tasks else "values"
        excess, reason = None, f"{found.n} {what} are too few for {limit.metric.quantile}"
    return Reading(text, place.level, shown, limit.limit_s, excess, best, worst, reason)


def _beyond(seconds: float | None, limit_s: float) -> float | None:
    return None if seconds is None else math.log(max(seconds, _SHORTEST_S) / limit_s)


def _of_mean(name: str, place: Place, limit_s: float) -> Reading:
    """The mean time of a task, as its turns give it: beyond the limit it is missed, while within it says little.

    19 tasks of 20 could keep a limit that their mean exceeds only if the last one exceeded it by 20 times as much.
    """
    mean = place.goodput["task_s_estimated"] if place.goodput is not None else None
    if mean is None or mean["value"] is None:
        return Reading(name, place.level, asked=limit_s, reason="no turn earned anything", only_misses=True)
    excess, best, worst = (_beyond(mean[end], limit_s) for end in ("value", "low", "high"))
    return Reading(name, place.level, estimate(mean), limit_s, excess, best, worst, only_misses=True)


def _of_objective(slo: Slo, work_class: str | None, own: Sequence[Place]) -> dict[str, list[Reading]]:
    """The attainment of the requests, and that of the tasks where they have a limit of their own."""
    found: dict[str, list[Reading]] = {}
    requests, tasks, mean = (_named(name, work_class) for name in (ATTAINMENT, TASKS, MEAN_TASK))
    if set(slo.limits) - {TASK}:
        found[requests] = [_of_requests(requests, place) for place in own]
    if slo.task_s is not None:
        found[tasks] = [_of_tasks(tasks, place) for place in own]
        if any(one.excess is None for one in found[tasks]):
            found[mean] = [_of_mean(mean, place, slo.task_s) for place in own]
    return found


def _of_requests(name: str, place: Place) -> Reading:
    entry = place.goodput
    if entry is None or entry["requests"]["attainment"]["value"] is None:
        return Reading(name, place.level, reason="no attempt counts")
    share, asked = entry["requests"]["attainment"], entry["attainment_asked"]
    lacking = [one["limit"] for one in entry["limits"] if one["limit"] != TASK and one["attainment"]["value"] is None]
    if lacking:
        names = ", ".join(one.removesuffix("_s").replace("_", "-") for one in lacking)
        return Reading(name, place.level, estimate(share), asked, reason=f"no request has a {names}")
    return _share(name, place.level, share, asked)


def _of_tasks(name: str, place: Place) -> Reading:
    entry = place.goodput
    limit = None if entry is None else next((one for one in entry["limits"] if one["limit"] == TASK), None)
    if entry is None or limit is None or limit["attainment"]["value"] is None:
        return Reading(name, place.level, reason="no whole task was seen")
    return _share(name, place.level, limit["attainment"], entry["attainment_asked"])


def _share(name: str, level: int, share: Mapping[str, Any], asked: float) -> Reading:
    excess, worst, best = (None if share[end] is None else asked - share[end] for end in ("value", "low", "high"))
    reason = None if worst is not None else "a share has no interval below 3 rounds"
    return Reading(name, level, estimate(share), asked, excess, best, worst, reason)
