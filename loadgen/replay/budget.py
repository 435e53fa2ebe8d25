"""The time budget of a run, and whether another round still fits."""

import time

from loadgen.experiment.schedule import MIN_ROUNDS

OVERRUN = 1.02
"""A round may end so far past the budget; more would break the promise that the user was given."""
HARD_OVERRUN = 2.0
"""Before 3 rounds are done, when no interval can be given yet, the run may take this many times its budget."""


class Budget:
    """Seconds that a run may take, from its construction on. With fixed rounds it never ends a run."""

    def __init__(self, budget_s: float, *, fixed_rounds: bool) -> None:
        self._budget_s = budget_s
        self._fixed = fixed_rounds
        self._started_s = time.monotonic()
        self._rounds_from_s: float | None = None

    def left_s(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._budget_s - (time.monotonic() - self._started_s))

    def round_started(self) -> None:
        """A round begins; the first one sets the time from which the mean round is measured."""
        if self._rounds_from_s is None:
            self._rounds_from_s = time.monotonic()

    def holds_another_round(self, round_: int) -> bool:
        """Whether round `round_` (from 1) may begin, judged by the mean of the rounds before it."""
        if self._fixed or round_ == 1 or self._rounds_from_s is None:
            return True
        now = time.monotonic()
        mean_s = (now - self._rounds_from_s) / (round_ - 1)
        limit = OVERRUN if round_ > MIN_ROUNDS else HARD_OVERRUN
        return now - self._started_s + mean_s <= limit * self._budget_s
