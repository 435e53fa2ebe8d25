"""Goodput: the requests and tasks that kept every limit of a service level objective, per hour and as a share."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from loadgen.analysis.estimators.intervals import Estimate, exp_capped, ratio_over_rounds
from loadgen.analysis.estimators.jackknife import jackknife_interval
from loadgen.analysis.estimators.proportion import wilson
from loadgen.analysis.measured.attempt import TASK, Attempt, request_attempts, task_attempts
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.pairs import Cells
from loadgen.experiment.slo import Slo
from loadgen.records.model import Outcome
from loadgen.units import S_PER_HOUR

FAILURES = "failures"
"""What binds where no limit does: requests fail."""


class Meets(StrEnum):
    """Whether an objective is met: the whole interval of the attainment lies at or above the share asked for, or below.

    Nothing else is called: an interval that holds the share asked for leaves it unresolved.
    """

    YES = "yes"
    NO = "no"
    UNRESOLVED = "unresolved"


@dataclass
class _Round:
    """What the trials of one round come to, for one variant at one level."""

    segment_s: float = 0.0
    credits: float = 0.0
    earned: float = 0.0
    """Σ 1/turns over the ok turns of root sessions; failures are not booked back."""
    counts: Counter[str] = field(default_factory=Counter)


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
        {"variant": variant, "concurrency": level, **goodput(trials, slo)} for (variant, level), trials in valid.items()
    ]


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
    rounds = _rounds(trials, slo)
    scale = (trials[0].record.level if trials else 1) * S_PER_HOUR
    estimated = ratio_over_rounds([one.segment_s for one in rounds], [one.earned for one in rounds], n=len(trials))
    limits = [_limit(name, slo, rounds, estimated) for name in slo.limits]
    requests = {
        **_share_of("request", rounds),
        "per_hour": _per_hour(_column(rounds, "request good"), rounds, scale, n=len(trials)).as_json(),
    }
    tasks = {**_share_of("task", rounds), "per_hour": _good_tasks_per_hour(rounds, scale).as_json()}
    return {
        "attainment_asked": slo.attainment,
        "requests": requests,
        "tasks": tasks,
        "task_s_estimated": estimated.as_json(),
        "limits": limits,
        "meets": _all_met(requests, limits, slo),
        "binds": _binding(requests, limits, slo),
    }


def attainment(good: Sequence[int], attempted: Sequence[int]) -> Estimate:
    """Σ good ÷ Σ attempted over rounds, one of each a round, with a 95 % interval (n: attempts).

    Of two intervals the wider, on each side. Rounds are the unit of repetition: the jackknife over them tells how much
    a share varies between rounds, since the requests of one trial fail or linger together. But where every request of
    every round was good it has no width at all, so Wilson's, which takes the attempts for independent, tells how little
    so few of them can show: 20 good ones of 20 are no proof of more than 84 %. No interval below 3 rounds.
    """
    total = sum(attempted)
    by_rounds = ratio_over_rounds(good, attempted, ceiling=1, n=total)
    if by_rounds.low is None or by_rounds.high is None:
        return by_rounds
    low, high = wilson(sum(good), total)
    return Estimate(by_rounds.value, max(min(by_rounds.low, low), 0.0), max(by_rounds.high, high), total)


def _rounds(trials: Sequence[Trial], slo: Slo) -> list[_Round]:
    by_round: dict[int, _Round] = {}
    for trial in sorted(trials, key=lambda trial: trial.record.round):
        one = by_round.setdefault(trial.record.round, _Round())
        one.segment_s += trial.segment_s
        one.credits += trial.credits
        for request in trial.measured:
            if request.outcome is Outcome.OK and request.session == request.root:
                one.earned += 1 / request.turns
        requests = request_attempts(trial, slo)
        one.counts.update(_counted(requests, "request"))
        one.counts.update(_counted(task_attempts(slo, requests), "task"))
    return list(by_round.values())


def _counted(attempts: Sequence[Attempt], what: str) -> Counter[str]:
    """How many were attempted, ended well and were good; how many kept each limit, as far as was measured."""
    counts = Counter(
        {
            f"{what} attempted": len(attempts),
            f"{what} ended": sum(one.ended for one in attempts),
            f"{what} good": sum(one.good for one in attempts),
        }
    )
    for limit in attempts[0].kept if attempts else ():
        kept = [one.kept[limit] for one in attempts]
        counts[f"{limit} kept"] = len(kept) - kept.count(False)
        counts[f"{limit} unmeasured"] = kept.count(None)
    return counts


def _column(rounds: Sequence[_Round], name: str) -> list[int]:
    return [one.counts[name] for one in rounds]


def _share_of(what: str, rounds: Sequence[_Round]) -> dict[str, Any]:
    good, attempted = _column(rounds, f"{what} good"), _column(rounds, f"{what} attempted")
    return {
        "attempted": sum(attempted),
        "failed": sum(attempted) - sum(_column(rounds, f"{what} ended")),
        "good": sum(good),
        "attainment": attainment(good, attempted).as_json(),
    }


def _per_hour(counts: Sequence[float], rounds: Sequence[_Round], scale: float, *, n: int) -> Estimate:
    """N · Σ counts ÷ Σ segment time an hour; `scale` is N times the seconds of an hour."""
    return ratio_over_rounds([scale * count for count in counts], [one.segment_s for one in rounds], n=n)


def _good_tasks_per_hour(rounds: Sequence[_Round], scale: float) -> Estimate:
    """Tasks/hour times the good share of whole tasks, with a jackknife interval of the product (n: whole tasks).

    Null without a whole task. The interval is taken on the logarithm: none where a product is 0.
    """
    whole = sum(_column(rounds, "task ended"))
    value = _product(rounds, scale)
    without = [_product([*rounds[:i], *rounds[i + 1 :]], scale) for i in range(len(rounds))]
    logs = [None if point is None or point <= 0 else math.log(point) for point in without]
    interval = None if value is None or value <= 0 else jackknife_interval(math.log(value), logs)
    if interval is None:
        return Estimate(value, n=whole, estimable=False)
    return Estimate(value, exp_capped(interval[0]), exp_capped(interval[1]), whole)


def _product(rounds: Sequence[_Round], scale: float) -> float | None:
    whole = sum(_column(rounds, "task ended"))
    rate = _per_hour([one.credits for one in rounds], rounds, scale, n=0).value
    return None if rate is None or not whole else rate * sum(_column(rounds, "task good")) / whole


def _limit(name: str, slo: Slo, rounds: Sequence[_Round], estimated: Estimate) -> dict[str, Any]:
    """One limit: how many attempts kept it, and whether as many as asked for do.

    A request that ended well and has no such value keeps the limit: one token has no time a token, and an answer that
    the server holds back and sends at once lets nobody wait between tokens. They are counted as `unmeasured`; where
    there is nothing else, the attainment is null. Without a whole task, the task limit is missed where the mean that is
    estimated from the turns lies above it with its whole interval (`by` says so): 19 tasks of 20 could keep it then
    only if the last one exceeded it by 20 times what the mean does. A mean below it says nothing of the slowest tasks.
    """
    what = "task" if name == TASK else "request"
    attempted, ended = _column(rounds, f"{what} attempted"), sum(_column(rounds, f"{what} ended"))
    kept, unmeasured = _column(rounds, f"{name} kept"), sum(_column(rounds, f"{name} unmeasured"))
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
