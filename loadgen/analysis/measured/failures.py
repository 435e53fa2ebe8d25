"""Turns that fail: when they void a whole cell, and what a server that fails turns completes in an hour.

A trial with failures is left out of comparisons, but to leave out those that happened to fail and keep the others would
flatter a server that fails 2 turns in 100 by 20 % and more. So failures are judged over the cell as well: where its
trials together fail too often, none of them counts, however few its own failures are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loadgen.analysis.at_depth import asked, deep
from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.estimators.rate_sum import sum_of_ratios
from loadgen.analysis.measured.trial import Trial, earned
from loadgen.analysis.measured.validity import Reason, too_many_failures
from loadgen.analysis.measured.work_class import by_class
from loadgen.units import S_PER_HOUR, ns_to_s


def with_cell_failures(
    cells: Iterable[Sequence[Trial]], why: Mapping[str, list[Reason]]
) -> tuple[dict[str, list[Reason]], list[list[Trial]]]:
    """The reasons of all trials with those of their cells added, and the cells that are void.

    `why` are the reasons of the trials by themselves. Trials that count for nothing else say nothing of failures.
    """
    found, void = dict(why), []
    for trials in cells:
        counted = counted_but_for_failures(trials, why)
        failed, attempted = _failed(counted)
        if not too_many_failures(failed, attempted):
            continue
        void.append(list(counted))
        for trial in counted:
            if Reason.FAILURES not in why[trial.record.trial]:
                found[trial.record.trial] = [Reason.CELL_FAILURES]
    return found, void


def counted_but_for_failures(trials: Sequence[Trial], why: Mapping[str, Sequence[Reason]]) -> list[Trial]:
    """The trials that have no other reason not to count than that turns failed."""
    return [trial for trial in trials if set(why[trial.record.trial]) <= {Reason.FAILURES, Reason.CELL_FAILURES}]


def tasks_per_hour_with_failures(trials: Sequence[Trial]) -> Estimate:
    """What a server completes whose turns sometimes fail; null where none of these trials has a failed turn.

    N · Σ wᵢ cᵢ ÷ Σ wᵢ sᵢ over the segments i, with credit c and time s, and wᵢ = (1 − f)^jᵢ for a segment that starts
    at turn jᵢ, f being the share of turns that failed here. Starts are drawn over all turns of the workload as if every
    session got to its end; where turns fail, so many fewer sessions get as far as turn j, and the weights restore the
    mix of a steady operation (Horvitz & Thompson 1952). Without failures it is the tasks per hour of the definitions.
    Of several classes of work it is the sum of what each completes, by its own failures.
    """
    failed, _ = _failed(trials)
    if not failed:
        return Estimate(None, estimable=False)
    return sum_of_ratios([_weighted(own) for own in by_class(trials).values()], n=len(trials))


def _weighted(trials: Sequence[Trial]) -> tuple[list[float], list[float]]:
    """N · Σ wᵢ cᵢ an hour and Σ wᵢ sᵢ of each round."""
    failed, attempted = _failed(trials)
    kept = 1 - failed / attempted if attempted else 1.0
    tops: dict[int, float] = defaultdict(float)
    bottoms: dict[int, float] = defaultdict(float)
    for trial in trials:
        credit, first_turn = _by_agent(trial)
        for segment in trial.record.segments:
            weight = kept ** first_turn.get(segment.agent, 0)
            tops[trial.record.round] += trial.record.level * S_PER_HOUR * weight * credit.get(segment.agent, 0.0)
            bottoms[trial.record.round] += weight * ns_to_s(segment.end_ns - segment.start_ns)
    rounds = sorted(bottoms)
    return [tops[one] for one in rounds], [bottoms[one] for one in rounds]


def failures_warning(trials: Sequence[Trial]) -> dict[str, Any]:
    """What is to be said of a void cell."""
    variant, level, depth = trials[0].record.variant, trials[0].record.level, trials[0].record.depth
    failed, attempted = _failed(trials)
    text = (
        f"{variant} at {level}{deep(depth)}: {failed} of {attempted} turns failed, so that none of its trials counts "
        "and nothing is compared. Find out why they fail first."
    )
    return {"kind": "cell_failures", "variant": variant, "concurrency": level, **asked(depth), "text": text}


def _failed(trials: Sequence[Trial]) -> tuple[int, int]:
    return sum(trial.failed for trial in trials), sum(len(trial.measured) for trial in trials)


def _by_agent(trial: Trial) -> tuple[dict[int, float], dict[int, int]]:
    """Credit and first turn of each agent's segment."""
    credit: dict[int, float] = defaultdict(float)
    first: dict[int, int] = {}
    for request in trial.measured:
        if request.session == request.root:
            first.setdefault(request.agent, request.turn)
            credit[request.agent] += earned(request)
    return credit, first
