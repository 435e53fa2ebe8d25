"""The summary of a run: everything that reports, thresholds and other programs rely on, as one JSON object."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from loadgen.analysis import pairs
from loadgen.analysis.at_depth import asked, marked
from loadgen.analysis.causes.history import history
from loadgen.analysis.cell_entry import cell_entries, invalid_entries
from loadgen.analysis.classes.comparisons import class_comparisons
from loadgen.analysis.classes.entries import with_attainment
from loadgen.analysis.decision.goodput import goodputs
from loadgen.analysis.diagnostic import diagnostics
from loadgen.analysis.evidence import Evidence
from loadgen.analysis.explanation import explanations
from loadgen.analysis.measured.course import course, given_up
from loadgen.analysis.measured.drift import drift
from loadgen.analysis.measured.setup import setup
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.valid_cells import Judged, judged_by_depth
from loadgen.analysis.measured.validity import receive_lag_p99_ns
from loadgen.analysis.memory.entries import memories
from loadgen.analysis.output_check import output_check_summary
from loadgen.analysis.sequential.added_levels import added_levels
from loadgen.analysis.sequential.looks import looks_entry, looks_of
from loadgen.analysis.server_differences import server_differences
from loadgen.analysis.verdict import verdict
from loadgen.analysis.warning_entries import warning_entries
from loadgen.records.run import Run
from loadgen.units import ns_to_s

SCHEMA = "loadgen-summary/1"
_MIN_EFFECT = 0.05


def summarise(run: Run) -> dict[str, Any]:
    """The `loadgen-summary/1` document of a run, from its facts alone.

    Equal runs give equal documents. Every number is finite; what was not measured is null.
    """
    slices = judged_by_depth(run)
    drifted = next((found for facts in slices if (found := _drift(facts)) is not None), None)
    evidence = _evidence(run, slices)
    explained = explanations(run, slices, evidence)
    return {
        "schema": SCHEMA,
        "run": _run_entry(run, evidence.baseline),
        "setup": setup(run),
        "differences": server_differences(run, evidence.baseline),
        **_findings(evidence),
        "cells": with_attainment(evidence.cells, explained["goodput"]),
        "latency_comparisons": evidence.latencies,
        **explained,
        "history": history(explained["why"]),
        "looks": looks_entry(run),
        "added_levels": added_levels(run.plan),
        "verdict": verdict(
            evidence,
            operating_point=explained["operating_point"],
            operating_points=explained.get("operating_points", ()),
            tuning=explained["tuning"],
            scaling=explained["scaling"],
        ),
        "drift": drifted,
        "client": _client([trial for facts in slices for trial in facts.every]),
        "invalid": [entry for facts in slices for entry in invalid_entries(facts)],
        "warnings": warning_entries(run, slices, evidence.diagnostics, drifted),
    }


def measured(run: Run) -> dict[str, Any]:
    """The parts of a summary that say what was measured, without those that explain it.

    `run`, `cells`, `comparisons`, `memory`, `output_check`, `given_up`, `goodput`, `invalid` and their like: all that a
    capacity rests on, and sooner there on a long run.
    """
    slices = judged_by_depth(run)
    evidence, objective = _evidence(run, slices), run.manifest.experiment.get("slo")
    return {
        "run": _run_entry(run, evidence.baseline),
        **_findings(evidence),
        "cells": evidence.cells,
        "goodput": [entry for facts in slices for entry in marked(goodputs(facts.valid, objective), facts.depth)],
        "invalid": [entry for facts in slices for entry in invalid_entries(facts)],
    }


def _drift(facts: Judged) -> dict[str, Any] | None:
    """The drift that the repeated trial shows; null where it is of another depth."""
    repeated = facts.repeated
    counts = repeated is not None and not facts.why[repeated.record.trial]
    found = drift(repeated if counts else None, facts.valid, pairs.noise(facts.valid, facts.baseline))
    return None if found is None else {**found, **asked(facts.depth)}


def _evidence(run: Run, slices: Sequence[Judged]) -> Evidence:
    experiment = run.manifest.experiment
    baseline, names = slices[0].baseline, slices[0].names
    valid = {facts.depth: facts.valid for facts in slices}
    min_effect = float(experiment.get("min_effect", _MIN_EFFECT))
    compared = pairs.comparisons(valid, baseline, min_effect, looks_of(run))
    return Evidence(
        baseline=baseline,
        variants=names,
        comparisons=compared,
        crossovers=pairs.crossovers(compared),
        latencies=[entry for at, cells in valid.items() for entry in marked(pairs.described(cells, baseline), at)],
        cells=[entry for facts in slices for entry in cell_entries(facts)],
        class_comparisons=[entry for cells in valid.values() for entry in class_comparisons(cells, baseline)],
        memory=memories(run, names, baseline, valid),
        noise=[entry for at, cells in valid.items() for entry in marked(pairs.noise(cells, baseline), at)],
        output_check=output_check_summary(run),
        check_asked=experiment.get("check_output", "off") != "off",
        given_up=given_up(run),
        diagnostics=diagnostics(run),
        random_weights=run.manifest.random_weights,
        aa=bool(experiment.get("aa")),
    )


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
        "agents": run.manifest.experiment.get("agents"),
        "tool_version": run.manifest.tool_version,
    }


def _findings(evidence: Evidence) -> dict[str, Any]:
    """The parts of the document that the verdict rests on."""
    return {
        "comparisons": [
            {
                **c.as_json(),
                "diagnostic": evidence.diagnostics.get(c.variant),
                "void": c.variant in evidence.void,
            }
            for c in evidence.comparisons
        ],
        "class_comparisons": [{**one, "void": one["variant"] in evidence.void} for one in evidence.class_comparisons],
        "crossovers": evidence.crossovers,
        "noise": evidence.noise,
        "output_check": evidence.output_check,
        "given_up": evidence.given_up,
        "memory": evidence.memory,
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
