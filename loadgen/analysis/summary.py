"""The summary of a run: everything that reports, thresholds and other programs rely on, as one JSON object."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from loadgen.analysis.caveats import caveats, length_ratio
from loadgen.analysis.cell import cell, outcomes, token_count_mismatches, token_sources
from loadgen.analysis.comparison import Comparison, compare, log_ratios, noise_floor, speedup
from loadgen.analysis.crossover import crossover
from loadgen.analysis.memory import memory
from loadgen.analysis.setup import setup
from loadgen.analysis.trial import Trial, trials_of
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
    names = variants_of(run)
    baseline = str(run.manifest.experiment.get("baseline", names[0] if names else ""))
    min_effect = float(run.manifest.experiment.get("min_effect", _MIN_EFFECT))
    off = _off_variants(run, baseline)
    every = trials_of(run)
    why = {trial.record.trial: reasons(trial, off=trial.record.variant in off) for trial in every}
    tried = _by_cell(every, names)
    valid = {key: [trial for trial in trials if not why[trial.record.trial]] for key, trials in tried.items()}
    cells = [_cell_entry(key, trials, valid[key], off=key[0] in off) for key, trials in tried.items()]
    comparisons = _comparisons(valid, baseline, min_effect)
    crossovers = _crossovers(comparisons)
    memories = [memory(name, run.starts, run.samples) for name in names]
    return {
        "schema": SCHEMA,
        "run": {
            "id": run.manifest.run,
            "workload": run.manifest.workload.name,
            "baseline": baseline,
            "complete": any(entry.what == "complete" for entry in run.journal),
            "tool_version": run.manifest.tool_version,
        },
        "setup": setup(run),
        "cells": cells,
        "comparisons": [comparison.as_json() for comparison in comparisons],
        "latency_comparisons": _latency_comparisons(valid, baseline),
        "crossovers": crossovers,
        "noise": _noise(valid, baseline),
        "memory": memories,
        "client": _client(every),
        "verdict": verdict(
            baseline=baseline,
            variants=names,
            comparisons=comparisons,
            crossovers=crossovers,
            cells=cells,
            memory=memories,
            random_weights=run.manifest.random_weights,
        ),
        "invalid": [_invalid_entry(trial, why[trial.record.trial]) for trial in every if why[trial.record.trial]],
        "warnings": _warnings(run, valid, baseline),
    }


def variants_of(run: Run) -> list[str]:
    """The names of the variants in the order of the experiment, then any that only trials name."""
    names = [str(variant["name"]) for variant in run.manifest.experiment.get("variants", [])]
    return list(dict.fromkeys([*names, *(trial.variant for trial in run.trials)]))


def _off_variants(run: Run, baseline: str) -> set[str]:
    """Variants that must not draft: the experiment or the server says so, or the baseline is called `off`."""
    off = {
        str(variant["name"])
        for variant in run.manifest.experiment.get("variants", [])
        if variant.get("speculative") is False
    }
    off |= {start.variant for start in run.starts if start.facts.speculative is False}
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


def _pairs(
    valid: Mapping[tuple[str, int], Sequence[Trial]], baseline: str, quantity: str
) -> dict[tuple[str, int], dict[int, float]]:
    """dᵣ of one quantity of the trials, by (variant, level) and round."""

    def by_round(key: tuple[str, int]) -> dict[int, float | None]:
        return {trial.record.round: getattr(trial, quantity) for trial in valid.get(key, ())}

    return {key: log_ratios(by_round(key), by_round((baseline, key[1]))) for key in valid if key[0] != baseline}


def _comparisons(
    valid: Mapping[tuple[str, int], Sequence[Trial]], baseline: str, min_effect: float
) -> list[Comparison]:
    return compare(_pairs(valid, baseline, "tasks_per_hour"), baseline=baseline, min_effect=min_effect)


def _latency_comparisons(valid: Mapping[tuple[str, int], Sequence[Trial]], baseline: str) -> list[dict[str, Any]]:
    """Ratios of other quantities to the baseline, paired by round: described, never called."""
    out = []
    for metric in ("median_ttft_s", "median_tpot_s", "output_tokens_per_s"):
        for (variant, level), logs in _pairs(valid, baseline, metric).items():
            ratio = speedup(list(logs.values())).as_json()
            entry = {"variant": variant, "baseline": baseline, "concurrency": level, "metric": metric, "ratio": ratio}
            out.append(entry)
    for (variant, level), trials in valid.items():
        if variant != baseline:
            ratio = length_ratio(trials, valid.get((baseline, level), ())).as_json()
            out.append(
                {
                    "variant": variant,
                    "baseline": baseline,
                    "concurrency": level,
                    "metric": "tokens_per_turn",
                    "ratio": ratio,
                }
            )
    return out


def _crossovers(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    by_variant: dict[str, dict[int, dict[int, float]]] = {}
    for c in comparisons:
        by_variant.setdefault(c.variant, {})[c.level] = dict(zip(c.of_rounds, c.rounds, strict=True))
    found = [crossover(variant, by_level) for variant, by_level in by_variant.items()]
    return [entry for entry in found if entry is not None]


def _noise(valid: Mapping[tuple[str, int], Sequence[Trial]], baseline: str) -> list[dict[str, Any]]:
    return [
        {"concurrency": level, **noise_floor({trial.record.round: trial.tasks_per_hour for trial in trials})}
        for (variant, level), trials in valid.items()
        if variant == baseline
    ]


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


def _warnings(run: Run, valid: Mapping[tuple[str, int], Sequence[Trial]], baseline: str) -> list[dict[str, Any]]:
    slots = {start.variant: start.facts.slots for start in run.starts if start.facts.slots is not None}
    speculative = {start.variant for start in run.starts if start.facts.speculative is True}
    found = caveats(valid, baseline=baseline, slots=slots, speculative=speculative)
    dropped = run.plan.dropped_levels if run.plan is not None else []
    if dropped:
        levels = ", ".join(map(str, dropped))
        text = f"Left out, because the time budget holds fewer than 3 rounds with them: {levels} agents."
        found.append({"kind": "dropped_levels", "variant": None, "concurrency": None, "text": text})
    return found
