"""How a run went as a whole: what its journal amounts to."""

from collections.abc import Iterable
from dataclasses import dataclass

from loadgen.records.manifest import JournalEntry
from loadgen.records.run import Run

_BEGINNINGS = ("started", "resumed")
_MARKS = ("looked", "given_up", "server_lost", "answers_failed", "torn_tail_cut")
"""Happenings that end nothing."""


@dataclass(frozen=True)
class Course:
    """How a run ended and how often it was taken up again; `ended` is null where its process was killed, or runs on."""

    ended: str | None
    detail: str | None
    resumed: int

    @property
    def complete(self) -> bool:
        """Whether the run came to its end: the last ending counts."""
        return self.ended == "complete"


def course(journal: Iterable[JournalEntry]) -> Course:
    """The last ending since the run was last begun or resumed, and how often it was resumed."""
    ended: str | None = None
    detail: str | None = None
    resumed = 0
    for entry in journal:
        resumed += entry.what == "resumed"
        if entry.what in _BEGINNINGS:
            ended = detail = None
        elif entry.what not in _MARKS:
            ended, detail = entry.what, entry.detail
    return Course(ended, detail, resumed)


def given_up(run: Run) -> list[dict[str, str | None]]:
    """The variants that were given up, with the last reason: `{"variant", "reason"}` each.

    A variant whose planned trials were all done later, when the run was resumed, is none of them.
    """
    reasons: dict[str, str | None] = {}
    for entry in run.journal:
        if entry.what == "given_up":
            variant, _, reason = (entry.detail or "").partition(": ")
            reasons[variant] = reason or None
    return [
        {"variant": variant, "reason": reason} for variant, reason in reasons.items() if not _all_done(run, variant)
    ]


def _all_done(run: Run, variant: str) -> bool:
    planned = [one for one in run.plan.trials if one.variant == variant and one.round > 0] if run.plan else []
    done = {(trial.round, trial.level) for trial in run.trials if trial.variant == variant and trial.complete}
    return bool(planned) and all((one.round, one.level) in done for one in planned)
