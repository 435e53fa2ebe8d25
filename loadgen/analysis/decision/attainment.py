"""Attainment: which share of the attempts is good, and whether that is as much as was asked for."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from loadgen.analysis.decision.tally import Tally, column
from loadgen.analysis.estimators.intervals import Estimate, ratio_over_rounds
from loadgen.analysis.estimators.proportion import wilson


class Meets(StrEnum):
    """Whether an objective is met: the whole interval of the attainment lies at or above the share asked for, or below.

    Nothing else is called: an interval that holds the share asked for leaves it unresolved.
    """

    YES = "yes"
    NO = "no"
    UNRESOLVED = "unresolved"


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


def share_of(what: str, rounds: Sequence[Tally]) -> dict[str, Any]:
    """How many requests or tasks were attempted, failed and were good, and the share that is good."""
    good, attempted = column(rounds, f"{what} good"), column(rounds, f"{what} attempted")
    return {
        "attempted": sum(attempted),
        "failed": sum(attempted) - sum(column(rounds, f"{what} ended")),
        "good": sum(good),
        "attainment": attainment(good, attempted).as_json(),
    }
