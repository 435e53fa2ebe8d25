"""The time budget of a run, and whether another round still fits."""

import time

from loadgen.experiment.schedule import MIN_ROUNDS

OVERRUN = 1.02
"""A round may end so far past the budget; more would break the promise that the user was given."""
RECORDING_SHARE = 0.25
"""Of the budget, at most, for recording frozen history: every variant plays it, and all miss the time that it takes."""
HARD_OVERRUN = 2.0
"""Before 3 rounds are done, when no interval can be given yet, the run may take this many times its budget."""


class Budget:
    """Seconds that a run may take, from its construction on. With fixed rounds it never ends a run.

    Args:
        budget_s: seconds in all.
        fixed_rounds: the user said how many rounds.
        spent_s: seconds that a resumed run has taken before.
    """

    def __init__(self, budget_s: float, *, fixed_rounds: bool, spent_s: float = 0.0) -> None:
        self._budget_s = budget_s
        self._fixed = fixed_rounds
        self._started_s = time.monotonic() - spent_s
        self._expected_s: float | None = None
        self._rounds: list[tuple[float, int]] = []
        """Seconds and trials of each round that has ended."""
        self._round_from_s: float | None = None
        self._round_trials = 1

    def left_s(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._budget_s - (time.monotonic() - self._started_s))

    def expect(self, trial_s: float) -> None:
        """What a trial was planned to take: known where a run is resumed."""
        self._expected_s = trial_s

    def round_started(self, trials: int) -> None:
        """A round of so many trials begins, and the one before it has ended."""
        now = time.monotonic()
        if self._round_from_s is not None:
            self._rounds.append((now - self._round_from_s, self._round_trials))
        self._round_from_s, self._round_trials = now, max(trials, 1)

    def holds_another_round(self, round_: int, trials: int) -> bool:
        """Whether round `round_` (from 1) may begin, judged by what the trials of the rounds before it took.

        Rounds get smaller where looks find cells known, so a trial is what counts.
        """
        if self._fixed or round_ == 1:
            return True
        now = time.monotonic()
        seen = list(self._rounds)
        if self._round_from_s is not None:
            seen.append((now - self._round_from_s, self._round_trials))
        # The first round after a resume may be a part of one: what was planned counts too.
        known = [sum(took for took, _ in seen) / sum(count for _, count in seen)] if seen else []
        known += [self._expected_s] if self._expected_s is not None else []
        if not known:
            return True
        limit = OVERRUN if round_ > MIN_ROUNDS else HARD_OVERRUN
        return now - self._started_s + max(known) * trials <= limit * self._budget_s
