"""What is traded in the equal-memory question: speculation with its slots for slots without speculation."""

from dataclasses import dataclass
from enum import StrEnum

from loadgen.analysis.estimators.intervals import Estimate


class By(StrEnum):
    """How an answer was come by."""

    MEASURED = "measured"
    PREDICTED = "predicted"


class Better(StrEnum):
    """What the memory is better spent on."""

    SPECULATION = "speculation"
    NO_SPECULATION = "no_speculation"


@dataclass(frozen=True)
class Trade:
    """A variant with its `slots`, and how many more its memory would buy: `bought` whole ones, `worth` with a fraction.

    Both count from the variant's own slots and may be negative, where no speculation takes more memory.
    `baseline_slots` are those that the baseline had in the run.
    """

    variant: str
    baseline: str
    slots: int
    baseline_slots: int
    worth: float
    bought: int
    set_acceptance: bool = False

    @property
    def rival(self) -> int:
        """Whole slots without speculation in the memory that the variant takes."""
        return self.slots + self.bought


@dataclass(frozen=True)
class Answer:
    """How many times as many tasks per hour speculation does; without a value, the bounds of it.

    `other` is the variant that was measured on the other side, `agents` how many agents were at work there.
    `from_level` is the level of the baseline from which bounds were drawn.
    """

    speedup: Estimate
    by: By | None = None
    other: str | None = None
    agents: int | None = None
    from_level: int | None = None

    @property
    def better(self) -> Better | None:
        """What the memory is better spent on, where the interval or the bounds tell."""
        if self.speedup.low is not None and self.speedup.low > 1:
            return Better.SPECULATION
        if self.speedup.high is not None and self.speedup.high < 1:
            return Better.NO_SPECULATION
        return None


UNANSWERED = Answer(Estimate(None, estimable=False))
"""Nothing could be told."""
