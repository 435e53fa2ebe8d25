"""The trials that count, by variant and level: what every comparison rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadgen.analysis.measured.failures import with_cell_failures
from loadgen.analysis.measured.trial import Trial, repeated_trial, trials_of
from loadgen.analysis.measured.validity import Reason, reasons
from loadgen.records.run import Run

Key = tuple[str, int]
"""Variant and level: the name of a cell among those of one depth."""


@dataclass(frozen=True)
class Judged:
    """The trials of a run (with fixed depths: of one of them), each with the reasons why it doesn't count.

    `every` are all that were measured, `tried` the same by cell, `valid` those of a cell that count (of none where none
    does). `why` has the reasons by trial, those of `repeated`, the first trial repeated at the end, included. `failing`
    are the trials of cells that are void because their turns failed too often. `off` are the variants that must not
    draft.
    """

    baseline: str
    names: Sequence[str]
    off: frozenset[str]
    every: Sequence[Trial]
    tried: Mapping[Key, Sequence[Trial]]
    valid: Mapping[Key, Sequence[Trial]]
    why: Mapping[str, Sequence[Reason]]
    failing: Sequence[Sequence[Trial]]
    repeated: Trial | None
    depth: int | None = None
    """The fixed depth that they are of; null in a run without them."""


def judged_by_depth(run: Run, *, upto: int | None = None) -> list[Judged]:
    """The trials of a run by fixed depth, in the order of the experiment; all of them together where it has none."""
    return [judged(run, upto=upto, depth=depth) for depth in depths_of(run)]


def judged(run: Run, *, upto: int | None = None, depth: int | None = None) -> Judged:
    """The trials of a run at one depth (null: those that have none), those of the rounds `upto` where it is given."""
    baseline, names = baseline_of(run), variants_of(run)
    off = must_not_draft(run, baseline)
    here = [trial for trial in trials_of(run) if trial.record.depth == depth]
    every = [trial for trial in here if upto is None or trial.record.round <= upto]
    repeated = repeated_trial(run)
    if repeated is not None and repeated.record.depth != depth:
        repeated = None
    both = every if repeated is None else [*every, repeated]
    alone = {trial.record.trial: reasons(trial, off=trial.record.variant in off) for trial in both}
    tried = by_cell(every, names)
    why, failing = with_cell_failures(tried.values(), alone)
    return Judged(
        baseline=baseline,
        names=names,
        off=frozenset(off),
        every=every,
        tried=tried,
        valid={key: [trial for trial in trials if not why[trial.record.trial]] for key, trials in tried.items()},
        why=why,
        failing=failing,
        repeated=repeated,
        depth=depth,
    )


def valid_slices(run: Run, *, upto: int | None = None) -> dict[int | None, Mapping[Key, Sequence[Trial]]]:
    """The valid trials of every cell that was tried, by depth, in the order of the rounds; `upto`: no later ones."""
    return {facts.depth: facts.valid for facts in judged_by_depth(run, upto=upto)}


def depths_of(run: Run) -> list[int | None]:
    """The fixed depths of a run in the order of the experiment; null alone where it has none."""
    return [int(depth) for depth in run.manifest.experiment.get("depths") or ()] or [None]


def baseline_of(run: Run) -> str:
    """The name of the variant that the others are compared with."""
    names = variants_of(run)
    return str(run.manifest.experiment.get("baseline", names[0] if names else ""))


def variants_of(run: Run) -> list[str]:
    """The names of the variants in the order of the experiment, then any that only trials name."""
    names = [str(variant["name"]) for variant in run.manifest.experiment.get("variants", [])]
    return list(dict.fromkeys([*names, *(trial.variant for trial in run.trials)]))


def must_not_draft(run: Run, baseline: str) -> set[str]:
    """Variants that must not draft: the experiment says so, else the server does, or the baseline is called `off`."""
    declared = {str(variant["name"]): variant for variant in run.manifest.experiment.get("variants", [])}
    off = {name for name, variant in declared.items() if variant.get("speculative") is False or variant.get("overhead")}
    on = {name for name, variant in declared.items() if variant.get("speculative") is True}
    off |= {start.variant for start in run.starts if start.facts.speculative is False} - on
    return off | ({baseline} if baseline == "off" else set())


def by_cell(trials: Sequence[Trial], names: Sequence[str]) -> dict[Key, list[Trial]]:
    """Trials by (variant, level): levels ascending, variants in the order of the experiment."""
    cells: dict[Key, list[Trial]] = {}
    for trial in sorted(trials, key=lambda t: (t.record.level, names.index(t.record.variant), t.record.round)):
        cells.setdefault((trial.record.variant, trial.record.level), []).append(trial)
    return cells
