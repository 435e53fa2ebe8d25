"""All warnings of a run: of its cells, its drift, its plan and its files."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.caveats import caveats
from loadgen.analysis.classes.shares import uneven_mix
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.measured.drift import drift_warning
from loadgen.analysis.measured.failures import failures_warning
from loadgen.analysis.measured.valid_cells import Judged
from loadgen.records.run import Run


def warning_entries(
    run: Run, slices: Sequence[Judged], kinds: Mapping[str, Diagnostic], drifted: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Each with `kind`, one sentence as `text`, and the `variant` and `concurrency` that it is about, if any."""
    slots = {start.variant: start.facts.slots for start in run.starts if start.facts.slots is not None}
    speculative = {start.variant for start in run.starts if start.facts.speculative is True}
    idle = {name for name, kind in kinds.items() if kind is Diagnostic.OVERHEAD}
    found = [failures_warning(trials) for facts in slices for trials in facts.failing]
    for facts in slices:
        found += caveats(
            facts.valid, baseline=facts.baseline, slots=slots, speculative=speculative - idle, depth=facts.depth
        )
    warning = drift_warning(drifted)
    if warning is not None:
        found.append(warning)
    found += uneven_mix(run.manifest.experiment, sorted({level for facts in slices for _, level in facts.tried}))
    dropped = run.plan.dropped_levels if run.plan is not None else []
    if dropped:
        levels = ", ".join(map(str, dropped))
        text = f"Left out, because the time budget holds fewer than 3 rounds with them: {levels} agents."
        found.append({"kind": "dropped_levels", "variant": None, "concurrency": None, "text": text})
    for entry in run.journal:
        if entry.what == "torn_tail_cut":
            text = f"A torn last line was cut off a file of the run folder: {entry.detail}."
            found.append({"kind": "torn_tail_cut", "variant": None, "concurrency": None, "text": text})
    return found
