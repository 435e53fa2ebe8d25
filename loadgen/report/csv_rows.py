"""A run as rows for a spreadsheet: its requests, its trials or its cells. What was not measured is an empty field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from loadgen.analysis.measured.request import measure
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.valid_cells import judged_by_depth
from loadgen.analysis.measured.validity import client_state
from loadgen.analysis.wall_clock import WallClock
from loadgen.records.model import RequestRecord
from loadgen.records.run import Run
from loadgen.units import ns_to_s

Row = dict[str, Any]
HEADLINE = "tasks_per_hour"


class What(StrEnum):
    """What a row is."""

    REQUESTS = "requests"
    TRIALS = "trials"
    CELLS = "cells"


def rows(what: What, run: Run, summary: Mapping[str, Any]) -> list[Row]:
    """The rows; all have the same columns. Latencies are in seconds, rates per hour, as in `summary.json`."""
    if what is What.CELLS:
        return _filled(cell_rows(summary))
    return list(request_rows(run) if what is What.REQUESTS else trial_rows(run))


def request_rows(run: Run) -> Iterator[Row]:
    """Every request of every phase, in the order in which they ended. No column holds a prompt, an answer or a key."""
    llama = {start.variant for start in run.starts if start.facts.kind == "llama-server"}
    times = WallClock(run.manifest, run.journal).tell([one.end_ns for one in run.requests])
    for record, ended_s in zip(run.requests, times, strict=True):
        yield _request(record, ended_s, tells_slot=record.variant in llama)


def trial_rows(run: Run) -> Iterator[Row]:
    """Every trial that a report knows, with why it doesn't count."""
    ends = WallClock(run.manifest, run.journal).tell([one.end_ns for one in run.trials])
    times = {one.trial: ended_s for one, ended_s in zip(run.trials, ends, strict=True)}
    for facts in judged_by_depth(run):
        for trial in [*facts.every, *([facts.repeated] if facts.repeated is not None else [])]:
            name = trial.record.trial
            yield _trial(trial, [reason.value for reason in facts.why[name]], times[name])


def cell_rows(summary: Mapping[str, Any]) -> Iterator[Row]:
    """Every cell of the summary, with the speed-up of its tasks per hour. Nested figures are `ttft_s.p95.value`."""
    compared = {
        (one["variant"], one["concurrency"], one.get("depth_asked")): one
        for one in summary["comparisons"]
        if one["metric"] == HEADLINE
    }
    for cell in summary["cells"]:
        row = dict(_flat(cell))
        found = compared.get((cell["variant"], cell["concurrency"], cell.get("depth_asked")))
        speedup = found["speedup"] if found is not None else {}
        row |= {f"speedup.{key}": speedup.get(key) for key in ("value", "low", "high")}
        yield row | {"call": found["call"] if found is not None else None}


def _request(record: RequestRecord, ended_s: float, *, tells_slot: bool) -> Row:
    found = measure(record, headers_tell_slot=tells_slot)
    return {
        "run": record.run,
        "trial": record.trial,
        "round": record.round,
        "variant": record.variant,
        "concurrency": record.level,
        "phase": record.phase.value,
        "agent": record.agent,
        "session": record.session,
        "turn": record.turn,
        "turns": record.turns,
        "turn_kind": record.turn_kind,
        "attempt": record.attempt,
        "ended_at": _iso(ended_s),
        "outcome": record.outcome.value,
        "status": record.status,
        "finish_reason": record.finish_reason,
        "in_flight": record.in_flight,
        "depth": found.depth,
        "cached_tokens": found.cached,
        "output_tokens": found.output_tokens,
        "tokens_source": found.tokens_source.value if found.tokens_source is not None else None,
        "ttft_s": _seconds(found.ttft_ns),
        "ttfa_s": _seconds(found.ttfa_ns),
        "e2e_s": _seconds(found.e2e_ns),
        "queue_wait_s": _seconds(found.queue_wait_ns),
        "prefill_s": _seconds(found.prefill_ns),
        "tpot_s": found.tpot_s,
        "tpot_reason": found.tpot_reason,
        "tpot_server_s": found.tpot_server_s,
        "drafted_tokens": found.drafted,
        "accepted_tokens": found.accepted,
        "decode_steps": found.decode_steps,
    }


def _trial(trial: Trial, why: Sequence[str], ended_s: float) -> Row:
    record = trial.record
    state = client_state(trial)
    return {
        "run": record.run,
        "trial": record.trial,
        "round": record.round,
        "variant": record.variant,
        "concurrency": record.level,
        "depth_asked": record.depth,
        "order": record.order,
        "attempt": record.attempt,
        "drift": record.drift,
        "ended_at": _iso(ended_s),
        "valid": not why,
        "reasons": " ".join(why) or None,
        "aborted": record.aborted,
        "client_state": state.value if state is not None else None,
        "turns_per_agent": record.turns_per_agent,
        "segment_s": trial.segment_s,
        "requests": len(trial.measured),
        "requests_failed": trial.failed,
        "output_tokens": trial.output_tokens,
        "tasks_per_hour": trial.tasks_per_hour,
        "output_tokens_per_s": trial.output_tokens_per_s,
        "ttft_s.p50": trial.median_ttft_s,
        "tpot_s.p50": trial.median_tpot_s,
        "step_gap_s.p50": trial.median_gap_s,
    }


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Nested mappings as columns; lists (single trials, classes) are left out."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        elif not isinstance(value, Sequence) or isinstance(value, str):
            yield f"{before}{key}", value


def _filled(found: Iterable[Row]) -> list[Row]:
    """The same rows, each with the columns of all."""
    kept = list(found)
    columns = list(dict.fromkeys(column for row in kept for column in row))
    return [{column: row.get(column) for column in columns} for row in kept]


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns_to_s(ns)


def _iso(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")
