"""Attempts held against the limits of a service level objective: requests, and tasks as far as they were seen whole."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from loadgen.analysis.measured.request import RequestMetrics, step_gaps_ns, step_starts_ns
from loadgen.analysis.measured.trial import Trial
from loadgen.experiment.slo import Slo
from loadgen.records.model import Outcome, RequestRecord
from loadgen.units import ns_to_s

TASK = "task_s"
"""The one limit that is of a task; the others are of a request."""


class Attempt(NamedTuple):
    """One request, or one task by its first request.

    `ended`: it ended well. `kept`: whether it kept each limit; null where it ended well and has no such value. `good`:
    it ended well and missed no limit.
    """

    request: RequestRecord
    ended: bool
    good: bool
    kept: Mapping[str, bool | None]


def request_attempts(trial: Trial, slo: Slo) -> list[Attempt]:
    """The requests of the segments in the order of their start, but those that were cancelled: they are no attempts.

    A failed request keeps no limit, however early it failed.
    """
    limits = {name: limit for name, limit in slo.limits.items() if name != TASK}
    missed: dict[str, bool | None] = dict.fromkeys(limits, False)
    metrics = {id(request): found for request, found in trial.ok}
    out = []
    for request in trial.measured:
        if request.outcome is Outcome.OK:
            found = metrics[id(request)]
            kept = {name: _keeps(name, limit, trial, request, found) for name, limit in limits.items()}
            out.append(Attempt(request, ended=True, good=False not in kept.values(), kept=kept))
        elif request.outcome is not Outcome.CANCELLED:
            out.append(Attempt(request, ended=False, good=False, kept=missed))
    return out


def task_attempts(slo: Slo, requests: Sequence[Attempt]) -> list[Attempt]:
    """The tasks that began and ended in a segment, of one trial's `requests`: whole ones, and those that failed.

    A task that was under way when its segment began or ended is left out, whether it would have been good or not. It
    takes from when its agent was ready for the first turn to the end of the last, waits included. It is good when all
    its requests are, those of its sub-agents included, and it keeps its own limit.
    """
    plays: Counter[int] = Counter()
    groups: dict[tuple[int, str, int], list[Attempt]] = {}
    for one in requests:
        request = one.request
        # An agent may play one session twice: its first turn begins another play.
        plays[request.agent] += request.session == request.root and request.turn == 0
        if plays[request.agent]:
            groups.setdefault((request.agent, request.root, plays[request.agent]), []).append(one)
    found = (_task(group, slo) for group in groups.values())
    return [one for one in found if one is not None]


def _task(group: Sequence[Attempt], slo: Slo) -> Attempt | None:
    """The task of these requests; null where it isn't known how it ended."""
    turns = [one for one in group if one.request.session == one.request.root]
    if any(not one.ended for one in turns):
        return Attempt(turns[0].request, ended=False, good=False, kept={TASK: False})
    if not turns or len(turns) < turns[0].request.turns:
        return None
    seconds = ns_to_s(max(one.request.end_ns for one in turns) - min(one.request.ready_ns for one in turns))
    in_time = slo.task_s is None or seconds <= slo.task_s
    good = in_time and all(one.good for one in group)
    return Attempt(turns[0].request, ended=True, good=good, kept={TASK: in_time})


def _keeps(name: str, limit_s: float, trial: Trial, request: RequestRecord, metrics: RequestMetrics) -> bool | None:
    """Whether an ok request keeps a limit; null where it has no such value."""
    if name == "tpot_s":
        return None if metrics.tpot_s is None else metrics.tpot_s <= limit_s
    if name == "ttft_s":
        ns = metrics.ttft_ns
    elif name == "request_s":
        ns = metrics.e2e_ns
    elif request.token_events > 1:
        ns = max(step_gaps_ns(step_starts_ns(request, trial.events(request))), default=None)
    else:
        ns = None
    return None if ns is None else ns_to_s(ns) <= limit_s
