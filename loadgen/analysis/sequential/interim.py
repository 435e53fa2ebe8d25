"""A look at a run that goes on: what is known by now, and what is still worth measuring."""

from loadgen.analysis import pairs
from loadgen.analysis.comparability import depth_refusals
from loadgen.analysis.measured.valid_cells import baseline_of, valid_slices
from loadgen.analysis.sequential.looks import known, looks_of, planned_comparisons
from loadgen.analysis.sequential.looks_text import look_note
from loadgen.experiment.stop_policy import Decision
from loadgen.records.run import Run

MIN_EFFECT = 0.05
"""What the experiment's default is, for folders that name none."""


def look(run: Run, round_: int) -> Decision:
    """What the rounds up to `round_` leave open, by the rule of `looks`.

    Everything goes on where the run has no plan yet, or compares nothing.
    """
    looks, planned = looks_of(run), planned_comparisons(run)
    if run.plan is None or not planned:
        return Decision(open=None, note=f"after round {round_}: nothing is compared.")
    baseline = baseline_of(run)
    still = planned - set(looks.closed)
    slices = valid_slices(run, upto=round_)
    logs = pairs.headline(slices, baseline)
    # What was done at another depth so far may yet even out: it isn't known.
    refused = depth_refusals(slices, baseline)
    found = known(
        {key: by_round for key, by_round in logs.items() if key in still and key not in refused},
        looks,
        baseline=baseline,
        min_effect=float(run.manifest.experiment.get("min_effect", MIN_EFFECT)),
    )
    left = still - {c.key for c in found}
    return Decision(open=frozenset(left), note=look_note(round_, run.plan.rounds, found, left))
