"""Looks at the results while a run goes on: when they are due, and what they leave to be measured."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from loadgen.cell_key import CellKey
from loadgen.experiment.stop_policy import StopPolicy
from loadgen.records.looks import closed_cells, compared_cells, looks_taken, measured_cells
from loadgen.records.manifest import JournalEntry, Look, Plan


def preset(policy: StopPolicy | None, rounds: int) -> list[int]:
    """The looks of a new plan of so many rounds, as a policy sets them; none after the last round."""
    if policy is None:
        return []
    return sorted({round_ for round_ in policy.looks(rounds) if 0 < round_ < rounds})


class Looks:
    """Asks a policy after the rounds that the plan sets, and keeps what is closed.

    Args:
        policy: who looks; null: nobody does any more, and what earlier looks closed stays closed.
        plan: the trials, and the rounds after which to look.
        baseline: the variant that the others are compared with.
        journal: the run so far: looks that were taken aren't taken again.
        say: writes to the journal what happened, with a sentence and the look.
        note: tells whoever watches.
    """

    def __init__(
        self,
        policy: StopPolicy | None,
        plan: Plan,
        baseline: str,
        journal: Iterable[JournalEntry],
        *,
        say: Callable[[str, str | None, Look | None], None],
        note: Callable[[str], None],
    ) -> None:
        entries = list(journal)
        self._policy = policy
        self._plan = plan
        self._baseline = baseline
        self._say = say
        self._note = note
        self._closed = set(closed_cells(entries))
        taken = {look.round for look in looks_taken(entries)}
        self._due: Sequence[int] = [round_ for round_ in plan.looks if round_ not in taken] if policy else []

    def cells(self, out: Collection[str] = ()) -> set[CellKey]:
        """The cells that are still measured, without the variants that are `out`."""
        return measured_cells(self._plan.trials, self._baseline, self._closed, out)

    async def before(self, round_: int) -> None:
        """Take the look that is due when `round_` is about to begin. Of several only the last one says more."""
        due = [after for after in self._due if after < round_]
        self._due = [after for after in self._due if after >= round_]
        if not due or self._policy is None or not self.cells():
            return
        # Reading a long run takes seconds, in which Ctrl-C must still be heard.
        decision = await asyncio.to_thread(self._policy.after, due[-1])
        compared = compared_cells(self._plan.trials, self._baseline) - self._closed
        closed = compared - decision.open if decision.open is not None else set()
        self._closed |= closed
        self._say("looked", decision.note, Look(round=due[-1], closed=sorted(closed)))
        self._note(decision.note)
