"""What the attempts of a cell come to, round by round: attempted, ended well, good, and the limits that were kept."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadgen.analysis.measured.attempt import Attempt, request_attempts, task_attempts
from loadgen.analysis.measured.trial import Trial
from loadgen.experiment.slo import Slo
from loadgen.records.model import Outcome


@dataclass
class Tally:
    """What the trials of one round come to, for one variant at one level."""

    segment_s: float = 0.0
    credits: float = 0.0
    earned: float = 0.0
    """Σ 1/turns over the ok turns of root sessions; failures are not booked back."""
    counts: Counter[str] = field(default_factory=Counter)
    """By what was attempted and how it went (`request good`), and by limit (`ttft_s kept`)."""


def tallies(trials: Sequence[Trial], slo: Slo) -> list[Tally]:
    """One a round, in the order of the rounds."""
    by_round: dict[int, Tally] = {}
    for trial in sorted(trials, key=lambda trial: trial.record.round):
        one = by_round.setdefault(trial.record.round, Tally())
        one.segment_s += trial.segment_s
        one.credits += trial.credits
        for request in trial.measured:
            if request.outcome is Outcome.OK and request.session == request.root:
                one.earned += 1 / request.turns
        requests = request_attempts(trial, slo)
        one.counts.update(_counted(requests, "request"))
        one.counts.update(_counted(task_attempts(slo, requests), "task"))
    return list(by_round.values())


def column(rounds: Sequence[Tally], name: str) -> list[int]:
    """One count of every round."""
    return [one.counts[name] for one in rounds]


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
