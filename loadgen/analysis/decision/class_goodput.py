"""Goodput of a mix: its classes judged one by one, and what they come to together."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.decision.attainment import Meets, share_of
from loadgen.analysis.decision.tally import Tally, column
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.estimators.rate_sum import sum_of_ratios
from loadgen.analysis.measured.attempt import TASK
from loadgen.experiment.slo import Slo
from loadgen.units import S_PER_HOUR

_NOTHING = Estimate(None, estimable=False).as_json()


def together(
    classes: Sequence[Mapping[str, Any]], rounds: Sequence[Sequence[Tally]], slo: Slo, *, n: int
) -> dict[str, Any]:
    """The entry of a cell from those of its classes, each of which has a limit at least.

    Attempts are counted over the classes, and rates are the sum of theirs. But `meets` isn't judged on that sum, where
    a class of many short requests would hide another: it is met where every class meets its own objective, and missed
    where one misses it. `binds` is what falls short most in the class that does (`binds_class`). `limits` are those of
    all classes, each with its `work_class`. A session's mean time says nothing of several classes: it is null.

    Args:
        classes: the entries.
        rounds: what their attempts came to, in the same order.
        slo: the objective.
        n: how many trials there are.
    """
    total = [Tally(counts=sum((one.counts for one in several), Counter())) for several in zip(*rounds, strict=True)]
    worst = _worst(classes)
    return {
        "attainment_asked": slo.attainment,
        "requests": {**share_of("request", total), "per_hour": _requests_per_hour(classes, rounds, n=n).as_json()},
        "tasks": {**share_of("task", total), "per_hour": _tasks_per_hour(classes, total).as_json()},
        "task_s_estimated": _NOTHING,
        "limits": [{**limit, "work_class": one["work_class"]} for one in classes for limit in one["limits"]],
        "meets": _meets([one["meets"] for one in classes]),
        "binds": None if worst is None else worst["binds"],
        "binds_class": None if worst is None else worst["work_class"],
    }


def _requests_per_hour(classes: Sequence[Mapping[str, Any]], rounds: Sequence[Sequence[Tally]], *, n: int) -> Estimate:
    parts = [
        (
            [entry["agents"] * S_PER_HOUR * good for good in column(own, "request good")],
            [one.segment_s for one in own],
        )
        for entry, own in zip(classes, rounds, strict=True)
    ]
    return sum_of_ratios(parts, n=n)


def _tasks_per_hour(classes: Sequence[Mapping[str, Any]], total: Sequence[Tally]) -> Estimate:
    """The sum, without an interval; null where a class has no whole task."""
    rates = [one["tasks"]["per_hour"]["value"] for one in classes]
    whole = sum(column(total, "task ended"))
    return Estimate(None if None in rates else sum(rates), n=whole, estimable=False)


def _meets(parts: Sequence[str | None]) -> Meets | None:
    """Null where nothing is known of any class."""
    known = [part for part in parts if part is not None]
    if Meets.NO in known:
        return Meets.NO
    if not known:
        return None
    return Meets.YES if all(part == Meets.YES for part in parts) else Meets.UNRESOLVED


def _worst(classes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The class that falls shortest of what is asked of it, one that surely misses it before one that may."""

    def rank(entry: Mapping[str, Any]) -> tuple[bool, float]:
        what = entry["tasks" if entry["binds"] == TASK else "requests"]["attainment"]["value"]
        return entry["meets"] != Meets.NO, (what or 0.0) - entry["attainment_asked"]

    return min((one for one in classes if one["binds"] is not None), key=rank, default=None)
