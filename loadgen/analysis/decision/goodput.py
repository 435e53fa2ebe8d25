"""Goodput: the requests and tasks that kept every limit of a service level objective, per hour and as a share."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.decision.attainment import Meets, attainment, share_of
from loadgen.analysis.decision.class_goodput import together
from loadgen.analysis.decision.tally import Tally, column, tallies
from loadgen.analysis.estimators.intervals import Estimate, exp_capped, ratio_over_rounds
from loadgen.analysis.estimators.jackknife import jackknife_interval
from loadgen.analysis.measured.attempt import TASK
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.work_class import by_class
from loadgen.analysis.pairs import Cells
from loadgen.experiment.slo import Slo
from loadgen.units import S_PER_HOUR

__all__ = ["FAILURES", "Meets", "attainment", "goodput", "goodputs"]

FAILURES = "failures"
"""What binds where no limit does: requests fail."""


def goodputs(valid: Cells, asked: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """An entry for each cell; none where no objective was asked for.

    Args:
        valid: the valid trials by variant and level.
        asked: the experiment's `slo` as it was published, or null.
    """
    if asked is None:
        return []
    slo = Slo(**asked)
    return [
        {"variant": variant, "concurrency": level, **_of_cell(trials, slo)}
        for (variant, level), trials in valid.items()
    ]


def _of_cell(trials: Sequence[Trial], slo: Slo) -> dict[str, Any]:
    """Of a mix the entry of each class stands in `classes`, which is empty otherwise."""
    parts = {name: own for name, own in by_class(trials).items() if name is not None}
    limited = {name: limits for name in parts if (limits := slo.of(name)) is not None}
    if not limited:
        agents = trials[0].record.level if trials else 1
        found = _judged([] if parts else tallies(trials, slo), slo, agents=agents, n=len(trials))
        return {**found, "classes": []}
    rounds = {name: tallies(parts[name], limits) for name, limits in limited.items()}
    classes = [
        {
            "work_class": name,
            "agents": parts[name][0].record.level,
            **_judged(rounds[name], limits, agents=parts[name][0].record.level, n=len(parts[name])),
        }
        for name, limits in limited.items()
    ]
    return {**together(classes, list(rounds.values()), slo, n=len(trials)), "classes": classes}


def goodput(trials: Sequence[Trial], slo: Slo) -> dict[str, Any]:
    """Goodput and attainment of the valid trials of one cell.

    Attempts are the requests of the segments that weren't cancelled; `requests.per_hour` is N · Σ good ÷ Σ segment
    time, with a jackknife interval over the rounds. A task can be judged only whole: its attempts are the sessions that
    began and ended in a segment, which favours short ones, and `tasks` is null where sessions are longer than a trial.
    `tasks.per_hour` is tasks/hour times the good share of the whole ones. `task_s_estimated` is Σ segment time ÷
    Σ 1/turns of the ok turns: the mean time of a session put together from its turns, waits included, which is an
    estimate and has no quantiles.

    `meets` is judged on the attainment of the requests and on that of the task limit; `binds` is what falls short most
    where one of them falls short, and null where both are kept.
    """
    return _judged(tallies(trials, slo), slo, agents=trials[0].record.level if trials else 1, n=len(trials))


def _judged(rounds: Sequence[Tally], slo: Slo, *, agents: int, n: int) -> dict[str, Any]:
    scale = agents * S_PER_HOUR
    estimated = ratio_over_rounds([one.segment_s for one in rounds], [one.earned for one in rounds], n=n)
    limits = [_limit(name, slo, rounds, estimated) for name in slo.limits]
    requests = {
        **share_of("request", rounds),
        "per_hour": _per_hour(column(rounds, "request good"), rounds, scale, n=n).as_json(),
    }
    tasks = {**share_of("task", rounds), "per_hour": _good_tasks_per_hour(rounds, scale).as_json()}
    return {
        "attainment_asked": slo.attainment,
        "requests": requests,
        "tasks": tasks,
        "task_s_estimated": estimated.as_json(),
        "limits": limits,
        "meets": _all_met(requests, limits, slo),
        "binds": _binding(requests, limits, slo),
    }


def _per_hour(counts: Sequence[float], rounds: Sequence[Tally], scale: float, *, n: int) -> Estimate:
    """N · Σ counts ÷ Σ segment time an hour; `scale` is N times the seconds of an hour."""
    return ratio_over_rounds([scale * count for count in counts], [one.segment_s for one in rounds], n=n)


def _good_tasks_per_hour(rounds: Sequence[Tally], scale: float) -> Estimate:
    """Tasks/hour times the good share of whole tasks, with a jackknife interval of the product (n: whole tasks).

    Null without a whole task. The interval is taken on the logarithm: none where a product is 0.
    """
    whole = sum(column(rounds, "task ended"))
    value = _product(rounds, scale)
    without = [_product([*rounds[:i], *rounds[i + 1 :]], scale) for i in range(len(rounds))]
    logs = [None if point is None or point <= 0 else math.log(point) for point in without]
    interval = None if value is None or value <= 0 else jackknife_interval(math.log(value), logs)
    if interval is None:
        return Estimate(value, n=whole, estimable=False)
    return Estimate(value, exp_capped(interval[0]), exp_capped(interval[1]), whole)


def _product(rounds: Sequence[Tally], scale: float) -> float | None:
    whole = sum(column(rounds, "task ended"))
    rate = _per_hour([one.credits for one in rounds], rounds, scale, n=0).value
    return None if rate is None or not whole else rate * sum(column(rounds, "task good")) / whole


def _limit(name: str, slo: Slo, rounds: Sequence[Tally], estimated: Estimate) -> dict[str, Any]:
    """One limit: how many attempts kept it, and whether as many as asked for do.

    A request that ended well and has no such value keeps the limit: one token has no time a token, and an answer that
    the server holds back and sends at once lets nobody wait between tokens. They are counted as `unmeasured`; where
    there is nothing else, the attainment is null. Without a whole task, the task limit is missed where the mean that is
    estimated from the turns lies above it with its whole interval (`by` says so): 19 tasks of 20 could keep it then
    only if the last one exceeded it by 20 times what the mean does. A mean below it says nothing of the slowest tasks.
    """
    what = "task" if name == TASK else "request"
    attempted, ended = column(rounds, f"{what} attempted"), sum(column(rounds, f"{what} ended"))
    kept, unmeasured = column(rounds, f"{name} kept"), sum(column(rounds, f"{name} unmeasured"))
    share = attainment(kept, attempted)
    if ended and unmeasured == ended:
        share = Estimate(None, n=sum(attempted), estimable=False)
    meets, by = _met(share.as_json(), slo.attainment), "measured" if share.value is not None else None
    if name == TASK and share.value is None and estimated.low is not None and estimated.low > slo.limits[name]:
        meets, by = Meets.NO, "estimated"
    return {
        "limit": name,
        "asked_s": slo.limits[name],
        "attempted": sum(attempted),
        "kept": sum(kept),
        "unmeasured": unmeasured,
        "attainment": share.as_json(),
        "meets": meets,
        "by": by,
    }


def _met(share: Mapping[str, Any], asked: float) -> Meets | None:
    if share["value"] is None:
        return None
    if share["low"] is None or share["high"] is None:
        return Meets.UNRESOLVED
    if share["low"] >= asked:
        return Meets.YES
    return Meets.NO if share["high"] < asked else Meets.UNRESOLVED


def _all_met(requests: Mapping[str, Any], limits: Sequence[Mapping[str, Any]], slo: Slo) -> Meets | None:
    """By the requests, the task limit, and every limit for which nothing was measured."""
    known = _met(requests["attainment"], slo.attainment)
    if known is None:
        return None
    parts = [known, *(one["meets"] for one in limits if one["limit"] == TASK or one["attainment"]["value"] is None)]
    if Meets.NO in parts:
        return Meets.NO
    return Meets.YES if all(part is Meets.YES for part in parts) else Meets.UNRESOLVED


def _binding(requests: Mapping[str, Any], limits: Sequence[Mapping[str, Any]], slo: Slo) -> str | None:
    """What falls short: the task limit, the limit that most requests missed, or failures where more failed than that.

    Of requests and tasks that which falls shorter.
    """
    share, task = requests["attainment"]["value"], next((one for one in limits if one["limit"] == TASK), None)
    if share is None:
        return None
    tasks = task["attainment"]["value"] if task is not None else None
    if share >= slo.attainment:
        late = task is not None and (task["by"] == "estimated" or (tasks is not None and tasks < slo.attainment))
        return TASK if late else None
    if tasks is not None and tasks < share:
        return TASK
    missed = {
        one["limit"]: one["attempted"] - one["kept"] - requests["failed"] for one in limits if one["limit"] != TASK
    }
    worst = max(missed, key=missed.__getitem__, default=None)
    return worst if worst is not None and missed[worst] > requests["failed"] else FAILURES
