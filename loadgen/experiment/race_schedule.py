"""How the rounds of a tuning run are used: a race with preset looks, then fresh rounds for what won it.

Everything follows from one number, the rounds of the first plan, so that whoever reads the run folder finds the same
looks as the run itself did.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from loadgen.experiment.schedule import WARMUP_S, Fit, fit

MIN_CONFIRM_ROUNDS = 4
"""With 3 rounds a t interval is 2.5 standard deviations of a round wide on each side, with 4 it is 1.6."""
_CONFIRM_SHARE = 0.45
"""Fresh rounds are cheap, two trials each, and the published interval rests on them alone."""
_FIRST_LOOK = 3
"""Below 3 rounds nothing has an interval, so nothing can be dropped."""
_LOOK_EVERY = 2
"""A further look costs power at all of them; after one round more there is little new to see."""
_MAX_LOOKS = 3
ROUNDS = (13, 10, 7)
"""Tried from the longest on where the time budget decides: looks after 3, 5 and 7 rounds and 6 fresh ones; after 3 and
5, and 5; after 3, and 4."""


def confirm_rounds(rounds: int) -> int:
    """How many of so many planned rounds are kept for what won the race; 0 of a single one."""
    return min(max(MIN_CONFIRM_ROUNDS, math.ceil(_CONFIRM_SHARE * rounds)), rounds - 1)


def race_looks(rounds: int) -> tuple[int, ...]:
    """After which rounds the race is looked at; it ends with the last of them at the latest.

    Every other round back from the end of the race, three looks at most, none before the third round unless the race is
    shorter than that.
    """
    end = rounds - confirm_rounds(rounds)
    looks = range(end, _FIRST_LOOK - 1, -_LOOK_EVERY)[:_MAX_LOOKS]
    return tuple(sorted(looks)) or (end,)


def most_trials(rounds: int, variants: int) -> int:
    """How many trials at one level such a run takes where looks drop nothing.

    Room is kept for all of them. Settings near each other stay to the end of a race: counting on looks would let it eat
    up the rounds that its winner is to be confirmed in, and without these it says nothing.

    Args:
        rounds: the rounds of the plan.
        variants: how many variants begin, the baseline among them.
    """
    fresh = confirm_rounds(rounds)
    return (rounds - fresh) * variants + fresh * min(variants, 2)


def fit_race(
    turn_s: Mapping[int, float],
    *,
    variants: int,
    budget_s: float,
    block_s: float,
    switch_s: float = 0.0,
    warmup_s: float = WARMUP_S,
    rounds: int | None = None,
    longest: int | None = None,
) -> Fit:
    """Rounds and trial lengths of a tuning run: `schedule.fit`, but for the trials of a race that drops nothing.

    Without a given number of rounds it is the largest of `ROUNDS` whose shortest trials fit the budget, else the
    smallest. The other arguments are those of `schedule.fit`.
    """
    for wanted in (rounds,) if rounds is not None else ROUNDS:
        trials = most_trials(wanted, variants)
        # A round of one variant, in the budget of one of those trials: sized alike, whoever takes part.
        one = fit(
            turn_s,
            variants=1,
            budget_s=budget_s * wanted / trials,
            block_s=block_s,
            switch_s=switch_s,
            warmup_s=warmup_s,
            rounds=wanted,
            longest=longest,
        )
        found = replace(one, estimated_s=one.estimated_s * trials / wanted)
        if found.estimated_s <= budget_s:
            break
    return found
