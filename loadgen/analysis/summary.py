"""The summary of a run: everything that reports, thresholds and other programs rely on, as one JSON object."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from loadgen.analysis import pairs
from loadgen.analysis.caveats import caveats
from loadgen.analysis.cell import cell, outcomes, token_count_mismatches, token_sources
from loadgen.analysis.course import course, given_up
from loadgen.analysis.diagnostic import Diagnostic, diagnostics
from loadgen.analysis.drift import drift, drift_warning
from loadgen.analysis.evidence import Evidence
from loadgen.analysis.memory import memories
from loadgen.analysis.output_check import output_check_summary
from loadgen.analysis.server_differences import server_differences
from loadgen.analysis.setup import setup
from loadgen.analysis.trial import Trial, repeated_trial, trials_of
from loadgen.analysis.validity import ClientState, Reason, client_state, reasons, receive_lag_p99_ns
from loadgen.analysis.verdict import verdict
from loadgen.records.run import Run
from loadgen.units import ns_to_s

SCHEMA = "loadgen-summary/1"
_MIN_EFFECT = 0.05

_Cells = dict[tuple[str, int], list[Trial]]


def summarise(run: Run) -> dict[str, Any]:
    """The `loadgen-summary/1` document of a run, from its facts alone.

    Equal runs give equal documents. Every number is finite; what was not measured is null.
    """
    experiment, names = run.manifest.experiment, variants_of(run)
    baseline = str(experiment.get("baseline", names[0] if names else ""))
    off = _must_not_draft(run, baseline)
    every, repeated = trials_of(run), repeated_trial(run)
    judged = every if repeated is None else [*every, repeated]
    why = {trial.record.trial: reasons(trial, off=trial.record.variant in off) for trial in judged}
    tried = _by_cell(every, names)
    valid = {key: [trial for trial in trials if not why[trial.record.trial]] for key, trials in tried.items()}
    compared = pairs.comparisons(valid, baseline, float(experiment.get("min_effect", _MIN_EFFECT)))
    noise = pairs.noise(valid, baseline)
    drifted = drift(None if repeated is None or why[repeated.record.trial] else repeated, valid, noise)
    evidence = Evidence(
        baseline=baseline,
        variants=names,
        comparisons=compared,
        crossovers=pairs.crossovers(compared),
        cells=[_cell_entry(key, trials, valid[key], off=key[0] in off) for key, trials in tried.items()],
        memory=memories(run, names, baseline, valid),
        noise=noise,
        output_check=output_check_summary(run),
        check_asked=experiment.get("check_output", "off") != "off",
        given_up=given_up(run),
        diagnostics=diagnostics(run),
        random_weights=run.manifest.random_weights,
        aa=bool(experiment.get("aa")),
    )
    return {
        "schema": SCHEMA,
        "run": _run_entry(run, baseline),
        "setup": setup(run),
        "differences": server_differences(run, baseline),
        **_findings(evidence),
        "latency_comparisons": pairs.described(valid, baseline),
        "drift": drifted,
        "client": _client(every),
        "invalid": [_invalid_entry(trial, why[trial.record.trial]) for trial in judged if why[trial.record.trial]],
        "warnings": _warnings(run, valid, evidence, drifted),
    }


def _run_entry(run: Run, baseline: str) -> dict[str, Any]:
    went = course(run.journal)
    return {
        "id": run.manifest.run,
        "workload": run.manifest.workload.name,
        "baseline": baseline,
        "complete": went.complete,
        "resumed": went.resumed,
        "rerun_of": run.manifest.rerun_of,
        "aa": bool(run.manifest.experiment.get("aa")),
        "tool_version": run.manifest.tool_version,
    }


def _findings(evidence: Evidence) -> dict[str, Any]:
    """The parts of the document that the verdict rests on, and the verdict."""
    return {
        "cells": evidence.cells,
        "comparisons": [
            {
                **c.as_json(),
                "diagnostic": evidence.diagnostics.get(c.variant),
                "void": c.variant in evidence.void,
            }
            for c in evidence.comparisons
        ],
        "crossovers": evidence.crossovers,
        "noise": evidence.noise,
        "output_check": evidence.output_check,
        "given_up": evidence.given_up,
        "memory": evidence.memory,
        "verdict": verdict(evidence),
    }


def variants_of(run: Run) -> list[str]:
    """The names of the variants in the order of the experiment, then any that only trials name."""
    names = [str(variant["name"]) for variant in run.manifest.experiment.get("variants", [])]
    return list(dict.fromkeys([*names, *(trial.variant for trial in run.trials)]))


def _must_not_draft(run: Run, baseline: str) -> set[str]:
    """Variants that must not draft: the experiment says so, else the server does, or the baseline is called `off`."""
    declared = {str(variant["name"]): variant for variant in run.manifest.experiment.get("variants", [])}
    off = {name for name, variant in declared.items() if variant.get("speculative") is False or variant.get("overhead")}
    on = {name for name, variant in declared.items() if variant.get("speculative") is True}
    off |= {start.variant for start in run.starts if start.facts.speculative is False} - on
    return off | ({baseline} if baseline == "off" else set())


def _by_cell(trials: Sequence[Trial], names: Sequence[str]) -> _Cells:
    """Trials by (variant, level): levels ascending, variants in the order of the experiment."""
    cells: _Cells = {}
    for trial in sorted(trials, key=lambda t: (t.record.level, names.index(t.record.variant), t.record.round)):
        cells.setdefault((trial.record.variant, trial.record.level), []).append(trial)
    return cells


def _cell_entry(key: tuple[str, int], tried: Sequence[Trial], valid: Sequence[Trial], *, off: bool) -> dict[str, Any]:
    """Estimates rest on the valid trials; outcomes count those of all trials, so that no failure disappears."""
    counts = outcomes(tried)
    counted = {trial.record.trial for trial in valid}
    states = [state for trial in tried if (state := client_state(trial)) is not None]
    return {
        "variant": key[0],
        "concurrency": key[1],
        "trials": len(tried),
        "valid_trials": len(valid),
        "client_state": max(states, key=list(ClientState).index).value if states else None,
        **cell(valid, off=off),
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


def _client(trials: Sequence[Trial]) -> dict[str, Any]:
    """Our own process over all trials: the worst trial's lag p99, and CPU time over wall time."""
    readings = [trial.record.client for trial in trials if trial.record.client is not None]
    lags = [lag for reading in readings if (lag := receive_lag_p99_ns(reading)) is not None]
    wall = sum(reading.wall_ns for reading in readings)
    stamps = sorted({reading.stamps for reading in readings})
    return {
        "stamps": "+".join(stamps) or None,
        "receive_lag_p99_s": ns_to_s(max(lags)) if lags else None,
        "receive_lag_p99_median_s": ns_to_s(median(lags)) if lags else None,
        "merged_late_share": None,
        "cpu_share": sum(reading.cpu_ns for reading in readings) / wall if wall > 0 else None,
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
        "round": trial.record.round,
        "reasons": [reason.value for reason in why],
        "detail": trial.record.aborted,
        "outcomes": dict(sorted(counts.items())),
    }


def _warnings(
    run: Run,
    valid: Mapping[tuple[str, int], Sequence[Trial]],
    evidence: Evidence,
    drifted: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    slots = {start.variant: start.facts.slots for start in run.starts if start.facts.slots is not None}
    speculative = {start.variant for start in run.starts if start.facts.speculative is True}
    idle = {name for name, kind in evidence.diagnostics.items() if kind is Diagnostic.OVERHEAD}
    found = caveats(valid, baseline=evidence.baseline, slots=slots, speculative=speculative - idle)
    warning = drift_warning(drifted)
    if warning is not None:
        found.append(warning)
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
