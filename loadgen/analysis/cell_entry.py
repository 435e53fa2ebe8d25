"""Cells and invalid trials as they stand in the summary."""

from collections.abc import Sequence
from typing import Any

from loadgen.analysis.at_depth import asked
from loadgen.analysis.classes.entries import class_entries
from loadgen.analysis.measured.cell import cell, outcomes, token_count_mismatches, token_sources
from loadgen.analysis.measured.failures import counted_but_for_failures, tasks_per_hour_with_failures
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.valid_cells import Judged, Key
from loadgen.analysis.measured.validity import ClientState, Reason, client_state


def cell_entries(facts: Judged) -> list[dict[str, Any]]:
    """One entry a cell of one depth, levels ascending.

    Estimates rest on the valid trials; outcomes count those of all trials, so that no failure disappears.
    """
    return [_cell_entry(key, facts) for key in facts.tried]


def invalid_entries(facts: Judged) -> list[dict[str, Any]]:
    """One entry a trial that doesn't count."""
    both = facts.every if facts.repeated is None else [*facts.every, facts.repeated]
    return [_invalid_entry(trial, why) for trial in both if (why := facts.why[trial.record.trial])]


def _cell_entry(key: Key, facts: Judged) -> dict[str, Any]:
    tried, valid = facts.tried[key], facts.valid[key]
    counts = outcomes(tried)
    counted = {trial.record.trial for trial in valid}
    states = [state for trial in tried if (state := client_state(trial)) is not None]
    return {
        "variant": key[0],
        "concurrency": key[1],
        "depth_asked": facts.depth,
        "trials": len(tried),
        "valid_trials": len(valid),
        "client_state": max(states, key=list(ClientState).index).value if states else None,
        **cell(valid, off=key[0] in facts.off),
        "classes": class_entries(tried, valid, off=key[0] in facts.off),
        "tasks_per_hour_with_failures": tasks_per_hour_with_failures(
            counted_but_for_failures(tried, facts.why)
        ).as_json(),
        "outcomes": counts,
        "started": sum(counts.values()),
        "tokens_source": token_sources(valid),
        "token_count_mismatches": token_count_mismatches(valid),
        "by_trial": [
            {
                "trial": trial.record.trial,
                "round": trial.record.round,
                "valid": trial.record.trial in counted,
                "client_state": client_state(trial),
                "tasks_per_hour": trial.tasks_per_hour,
            }
            for trial in tried
        ],
    }


def _invalid_entry(trial: Trial, why: Sequence[Reason]) -> dict[str, Any]:
    """Its outcomes cover every phase: a trial that never left its warm-up has no others."""
    counts: dict[str, int] = {}
    for request in trial.requests:
        counts[request.outcome.value] = counts.get(request.outcome.value, 0) + 1
    return {
        "trial": trial.record.trial,
        "variant": trial.record.variant,
        "concurrency": trial.record.level,
        **asked(trial.record.depth),
        "round": trial.record.round,
        "reasons": [reason.value for reason in why],
        "detail": trial.record.aborted,
        "outcomes": dict(sorted(counts.items())),
    }
