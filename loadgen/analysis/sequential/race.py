"""A race of several settings: which are clearly behind at preset looks, and which leads at the end.

Paired by round like every comparison. What a race shows of its winner is biased: of several equal ones the luckiest
leads. So a race picks and drops, and says nothing of gains.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from loadgen.analysis.estimators.comparison import log_ratios
from loadgen.analysis.estimators.intervals import CONFIDENCE, MIN_ROUNDS, Estimate, exp_capped, t_interval

Rates = Mapping[str, Mapping[int, float]]
"""Tasks per hour of valid trials at one concurrency, by variant and round."""

_ALPHA = 1 - CONFIDENCE


@dataclass(frozen=True)
class Behind:
    """One that was dropped: its speed-up against the leader of that look.

    The interval holds for all candidates and looks of the race together, and lies below 1.
    """

    variant: str
    after_round: int
    leader: str
    to_leader: Estimate

    def as_json(self) -> dict[str, Any]:
        """The form of `summary.json`."""
        return {
            "variant": self.variant,
            "after_round": self.after_round,
            "leader": self.leader,
            "speedup_to_leader": self.to_leader.as_json(),
        }


@dataclass(frozen=True)
class Race:
    """How a race stands.

    `ended_after` is null while it goes on; `leader` is null before the first look, and where nobody has a valid trial.
    `standing` are those not dropped, the leader among them, in their order; `absent` are those without a task done in a
    valid trial at the last look, which take no further part.
    """

    looks: tuple[int, ...]
    ended_after: int | None
    leader: str | None
    standing: tuple[str, ...]
    dropped: tuple[Behind, ...]
    absent: tuple[str, ...] = ()


def race(
    rates: Rates, looks: Sequence[int], *, baseline: str, order: Sequence[str], reached: int | None = None
) -> Race:
    """The race as far as the rounds go.

    At each look the leader is the one with the largest mean of ln(X / X_baseline) over its rounds; of equals the first
    in `order`. Another is dropped when its mean log ratio against the leader, paired by round, is below 0 by a
    one-sided t test at 5 % / (rivals × looks), rivals being all candidates but one: by Bonferroni, the candidate that
    is truly best is dropped at any look, by whichever of the others, in at most 5 % of races. The race ends when one is
    left, at the last look at the latest.

    Args:
        rates: what was measured; rounds behind the race's end don't matter.
        looks: the rounds after which to look, ascending, fixed before the first round.
        baseline: the variant that is measured in every round. It is a candidate as well.
        order: all candidates, of equals the one to prefer first.
        reached: the last round that has ended; null: the last with a valid trial.
    """
    if reached is None:
        reached = max((number for rounds in rates.values() for number in rounds), default=0)
    alpha = _ALPHA / (max(len(order) - 1, 1) * max(len(looks), 1))
    standing, dropped = list(order), list[Behind]()
    leader: str | None = None
    absent: tuple[str, ...] = ()
    for look in looks:
        if look > reached:
            break
        seen = _upto(rates, look)
        absent = tuple(name for name in order if not any(x > 0 for x in seen.get(name, {}).values()))
        standing = [name for name in standing if name not in absent]
        leader = first(standing, seen, baseline)
        behind = [] if leader is None else _behind(leader, standing, seen, look, alpha)
        dropped += behind
        standing = [name for name in standing if all(name != one.variant for one in behind)]
        if look == looks[-1] or len(standing) <= 1:
            return Race(tuple(looks), look, leader, tuple(standing), tuple(dropped), absent)
    return Race(tuple(looks), None, leader, tuple(standing), tuple(dropped), absent)


def first(names: Sequence[str], rates: Rates, baseline: str) -> str | None:
    """The one of `names` with the largest mean of ln(X / X_baseline), of equals the first; null where none has a task.

    Who has fewer rounds than an interval takes does not lead, as long as another has as many. Without a valid trial of
    the baseline means of ln X stand in: all have the same rounds then, but for those that don't count.
    """
    known = {number: x for number, x in rates.get(baseline, {}).items() if x > 0}
    known = known or {number: 1.0 for rounds in rates.values() for number in rounds}
    logs = {name: log_ratios(rates.get(name, {}), known) for name in names}
    least = min(MIN_ROUNDS, max((len(found) for found in logs.values()), default=0))
    means = {name: fmean(found.values()) for name, found in logs.items() if found and len(found) >= least}
    return max(means, key=means.__getitem__, default=None)


def to_leader(name: str, leader: str, rates: Rates, confidence: float) -> Estimate:
    """The speed-up of one against the leader with an interval of this confidence, paired by round."""
    logs = list(log_ratios(rates.get(name, {}), rates.get(leader, {})).values())
    interval = t_interval(logs, confidence)
    if not logs or interval is None:
        return Estimate(exp_capped(fmean(logs)) if logs else None, n=len(logs), estimable=False)
    return Estimate(exp_capped(fmean(logs)), exp_capped(interval[0]), exp_capped(interval[1]), len(logs))


def _behind(leader: str, standing: Sequence[str], rates: Rates, look: int, alpha: float) -> list[Behind]:
    found = {name: to_leader(name, leader, rates, 1 - 2 * alpha) for name in standing if name != leader}
    return [
        Behind(name, look, leader, ratio) for name, ratio in found.items() if ratio.high is not None and ratio.high < 1
    ]


def _upto(rates: Rates, look: int) -> dict[str, dict[int, float]]:
    return {name: {number: x for number, x in rounds.items() if number <= look} for name, rounds in rates.items()}
