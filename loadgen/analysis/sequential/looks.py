"""When a run may end because everything is known: looks at the results after preset rounds, with the error shared.

Whoever looks at growing data and stops at what looks sure is wrong more often than any single look says (Armitage,
McPherson & Rowe 1969). So rounds and levels are set before the first trial, and the error of 5 % is shared: all looks
on the way have 1 % together and the end has 4 %, which is close to what one analysis alone would have (Haybittle 1971,
Peto et al. 1976). The shares add up whatever the looks have in common (Bonferroni), so no distribution over the looks
is assumed.

At a look a comparison is *known* when it would be called: `pays` or `costs` with p ≤ alpha/m, where m are all
comparisons of the plan, those that are closed already among them; `same` by two one-sided tests at alpha each, so that
the false `same` of one comparison sum up to 5 % over all looks and the end. What is known is measured no further and
keeps its call.

With a precision asked for, one whose interval is that narrow is measured no further either. A width calls nothing, but
it is a lucky spread that makes an interval narrow early, and p small: called at 4 %, such comparisons had false calls
in up to 7 % of 400,000 simulated runs. With a precision, any look may therefore be the end of a comparison, and all
looks and the end have the same share of the 5 %.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loadgen.analysis.at_depth import asked
from loadgen.analysis.estimators.comparison import Call, Comparison, Named, Refusal, Strictness, compare
from loadgen.analysis.estimators.intervals import ALPHA
from loadgen.cell_key import CellKey
from loadgen.records.looks import closed_cells, compared_cells, looks_taken
from loadgen.records.run import Run

LOOKS_ALPHA = 0.01
"""Of all looks together: a false call is cheaper than rounds only where it is rare, and the end loses little."""
FINAL_ALPHA = ALPHA - LOOKS_ALPHA
FIRST_LOOK = 4
"""With 3 rounds t at a look's level is above 20: nothing would ever be known. Even, so that the variants of a pair went
first equally often."""
LEAST_ROUNDS = 6
"""With fewer there is not enough to save."""


def preset_looks(rounds: int) -> list[int]:
    """After which of so many planned rounds to look: after 4, and after the even number nearest to two thirds of all.

    Few, because every further look takes its share of the error from the others. None where fewer than 6 are planned.
    """
    if rounds < LEAST_ROUNDS:
        return []
    return sorted({FIRST_LOOK, 2 * round(rounds / 3)})


@dataclass(frozen=True)
class Looks:
    """The looks of a run.

    `planned` are the rounds that were set for them, `taken` those after which there was one; `closed` are the
    comparisons that are measured no further, with the round of the look that closed them; `family` counts the
    comparisons of the plan, and `precision` is what the experiment asks for, if anything.
    """

    planned: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    closed: Mapping[CellKey, int] = field(default_factory=dict)
    family: int = 0
    precision: float | None = None

    @property
    def at_look(self) -> Strictness:
        """How strictly a comparison is called at a look: all looks that were planned have the same share."""
        share = self._equal_share if self.precision is not None else LOOKS_ALPHA / max(len(self.planned), 1)
        return Strictness(share, self.family)

    @property
    def alpha_at_end(self) -> float:
        """The error that is left for the end: all of it where nobody has looked."""
        if not self.taken:
            return ALPHA
        return self._equal_share if self.precision is not None else FINAL_ALPHA

    @property
    def _equal_share(self) -> float:
        return ALPHA / (len(self.planned) + 1)


NO_LOOKS = Looks()


def looks_of(run: Run) -> Looks:
    """The looks of a run, from its plan and its journal."""
    experiment = run.manifest.experiment
    precision = experiment.get("precision")
    return Looks(
        planned=tuple(run.plan.looks) if run.plan is not None else (),
        taken=tuple(look.round for look in looks_taken(run.journal)),
        closed=closed_cells(run.journal),
        family=len(planned_comparisons(run)),
        precision=None if precision is None else float(precision),
    )


def planned_comparisons(run: Run) -> set[CellKey]:
    """The comparisons that the plan of a run holds; none without a plan."""
    if run.plan is None:
        return set()
    return compared_cells(run.plan.trials, str(run.manifest.experiment.get("baseline", "")))


def known(
    pairs: Mapping[Named, Mapping[int, float]], looks: Looks, *, baseline: str, min_effect: float
) -> list[Comparison]:
    """The comparisons among `pairs` that a look at them finds known: dᵣ by cell and round."""
    found = compare(pairs, baseline=baseline, min_effect=min_effect, at_looks=dict.fromkeys(pairs, looks.at_look))
    return [c for c in found if c.call is not Call.UNRESOLVED or is_precise(c, looks.precision)]


def compare_after(
    pairs: Mapping[CellKey, Mapping[int, float]],
    looks: Looks,
    *,
    baseline: str,
    min_effect: float,
    refused: Mapping[CellKey, Sequence[Refusal]] | None = None,
) -> list[Comparison]:
    """All comparisons of a run in which looks were taken, by the rule by which the looks closed some of them.

    Without looks the same as `compare`. A closed comparison that isn't called at the level of its look stays
    unresolved: its interval was narrow enough, or it was closed by another rule than this one.
    `refused` ones aren't called at all.
    """
    closed = {key: after for key, after in looks.closed.items() if key in pairs}
    found = compare(
        pairs,
        baseline=baseline,
        min_effect=min_effect,
        alpha=looks.alpha_at_end,
        at_looks=dict.fromkeys(closed, looks.at_look),
        refused=refused,
    )
    return [replace(c, closed_after=closed.get(c.key)) for c in found]


def is_precise(c: Comparison, precision: float | None) -> bool:
    """Whether half the width of the 95 % interval of a speed-up is at most this share of it; never without a share."""
    value, low, high = c.speedup.value, c.speedup.low, c.speedup.high
    if precision is None or not value or low is None or high is None:
        return False
    return (high - low) / 2 <= precision * value


def looks_entry(run: Run) -> dict[str, Any] | None:
    """The looks of a run for its summary; null where none was planned or taken."""
    looks = looks_of(run)
    if run.plan is None or not (looks.planned or looks.taken):
        return None
    return {
        "rounds_planned": run.plan.rounds,
        "planned": list(looks.planned),
        "taken": list(looks.taken),
        "closed": [{**_named(cell), "after": after} for cell, after in looks.closed.items()],
        "open": [_named(cell) for cell in sorted(planned_comparisons(run) - set(looks.closed))],
        "alpha_at_looks": looks.at_look.alpha * len(looks.planned),
        "alpha_at_end": looks.alpha_at_end,
    }


def _named(cell: CellKey) -> dict[str, Any]:
    """The cell in the form of the summary."""
    return {"variant": cell.variant, "concurrency": cell.level, **asked(cell.depth)}
