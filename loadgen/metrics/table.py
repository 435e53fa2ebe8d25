"""Every metric in one table: the collector, the page that documents them and the dashboards go by it.

Names follow the conventions of Prometheus: a prefix, base units (seconds, bytes, ratios), `_total` for what only grows.
Rates of results are per hour, as the report tells them. A series that was not measured is absent, never 0.
"""

from dataclasses import dataclass
from enum import StrEnum

from loadgen.metrics.buckets import COARSE, FINE

PREFIX = "loadgen_"

RUN = ("series",)
VARIANT = ("series", "workload", "variant")
CELL = ("series", "workload", "variant", "concurrency")

PHASES = ("pilot", "warmup", "segment", "drain")
"""What a trial does. Requests also count as `check` (of an output check) and `drift` (the first trial repeated)."""
CALLS = ("pays", "costs", "same", "unresolved", "refused", "void")
"""What a speed-up comes to. Refused: the two can't be compared; void: an output check failed."""
MOST_POSITIONS = 64
"""Positions of a draft that have a series of their own; longer drafts are rare, and their tails are hardly accepted."""


class Kind(StrEnum):
    """What a metric is to Prometheus. A state has one series a state, of which one is 1 and the others are 0."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    STATE = "state"
    INFO = "info"


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: with prefix and unit; a counter ends in `_total`, an info in `_info`.
        kind: what it is.
        help: what it means, in one sentence without a full stop.
        labels: their names, in the order in which values are given.
        source: the facts or figures that it comes from.
        edges: of a histogram: the upper bounds of its buckets, without infinity.
        limit: of a histogram: the limit of an objective at which it has an edge too.
        states: of a state: all of them.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    source: str
    edges: tuple[float, ...] = ()
    limit: str | None = None
    states: tuple[str, ...] = ()


def _counter(name: str, text: str, *labels: str, source: str = "requests") -> Metric:
    return Metric(f"{PREFIX}{name}_total", Kind.COUNTER, text, (*CELL, *labels), source)


def _histogram(
    name: str, text: str, edges: tuple[float, ...], limit: str | None = None, source: str = "requests"
) -> Metric:
    text = f"{text}, of what ended well in measured segments"
    return Metric(f"{PREFIX}{name}_seconds", Kind.HISTOGRAM, text, CELL, source, edges=edges, limit=limit)


def _gauge(name: str, text: str, labels: tuple[str, ...], source: str) -> Metric:
    return Metric(PREFIX + name, Kind.GAUGE, text, labels, source)


def _bounded(name: str, text: str, labels: tuple[str, ...], source: str) -> tuple[Metric, ...]:
    """A result and the bounds of its 95 % interval."""
    return (
        _gauge(name, text, labels, source),
        _gauge(f"{name}_lower", f"Lower bound of the 95 % interval of {PREFIX}{name}", labels, source),
        _gauge(f"{name}_upper", f"Upper bound of the 95 % interval of {PREFIX}{name}", labels, source),
    )


def _state(
    name: str, text: str, labels: tuple[str, ...], label: str, states: tuple[str, ...], *, source: str = "summary"
) -> Metric:
    return Metric(PREFIX + name, Kind.STATE, text, (*labels, label), source, states=states)


_RUN = (
    Metric(
        f"{PREFIX}run_info",
        Kind.INFO,
        "The run: its id, model, server build and version of loadgen as labels",
        ("series", "run", "workload", "model", "baseline", "server_build", "loadgen_version"),
        "manifest, server starts",
    ),
    _gauge("run_start_timestamp_seconds", "When the run began, in seconds since the epoch", RUN, "manifest"),
    _gauge("run_end_timestamp_seconds", "When the run ended, in seconds since the epoch", RUN, "journal"),
    _gauge(
        "run_trials_planned",
        "Trials that the run set out to do, those before it was resumed included",
        RUN,
        "plan",
    ),
    _gauge("run_trials_done", "Trials done, pilots left out", RUN, "trials"),
)
_REQUESTS = (
    _counter("requests", "Requests that ended, by outcome and phase", "outcome", "phase"),
    _counter("sessions", "Sessions that ended, warm-up left out: ok, or the outcome that ended them", "outcome"),
    _counter("prompt_tokens", "Prompt tokens, cached ones included", "phase"),
    _counter("prompt_tokens_cached", "Prompt tokens that the server had in its cache", "phase"),
    _counter("generation_tokens", "Output tokens", "phase"),
    _counter("decode_steps", "Decode steps: output tokens less accepted ones", "phase"),
    _counter("draft_tokens", "Drafted tokens", "phase"),
    _counter("draft_tokens_accepted", "Drafted tokens that were accepted", "phase"),
    _counter(
        "verification_steps",
        "Decode steps that had a draft, counted by the server, told at the end of a trial",
        source="trials",
    ),
    _counter(
        "draft_tokens_accepted_per_position",
        f"Accepted tokens by their position in the draft from 0, up to {MOST_POSITIONS - 1}, by the server's counters, "
        "at the end of a trial",
        "position",
        source="trials",
    ),
)
_LATENCIES = (
    _histogram("time_to_first_token", "From sending a request to its first token", COARSE, "ttft_s"),
    _histogram("time_per_output_token", "Time a token after the first", FINE, "tpot_s"),
    _histogram(
        "step_gap",
        "Time between steps, for which a reader waits; a step writes all tokens it accepted",
        FINE,
        "step_gap_s",
        "events",
    ),
    _histogram("request_duration", "From sending a request to its last token", COARSE, "request_s"),
    _histogram("task_duration", "A whole session, waits included", COARSE, "task_s"),
    _histogram("queue_wait", "Until a slot took the request (llama-server only)", COARSE),
)
_LIVE = (
    _gauge("agents_target", "Agents that the trial asks for", CELL, "plan"),
    _gauge("agents_active", "Agents at work, those waiting for a tool included", CELL, "replay"),
    _gauge("requests_in_flight", "Requests sent and not ended", CELL, "replay"),
    _gauge("server_slots_busy", "Slots that process a request, as the server says every few seconds", CELL, "server"),
    _gauge("server_requests_deferred", "Requests that wait for a slot, as the server says", CELL, "server"),
    _gauge("server_slots", "Slots of the server", VARIANT, "server starts"),
    _state("phase", "What the trial does now; all are 0 between trials", CELL, "phase", PHASES, source="replay"),
    _gauge("client_lag_seconds", "How late loadgen itself read arrivals in the last trial, p99", CELL, "trials"),
    _gauge("client_cpu_ratio", "CPU time of loadgen over wall time in the last trial", CELL, "trials"),
)
_MEMORY = (
    _gauge(
        "memory_used_bytes",
        "Memory in use of a device, or of the server's processes (device process)",
        (*VARIANT, "device"),
        "samples",
    ),
    _gauge("memory_used_peak_bytes", "Largest memory in use that was sampled", (*VARIANT, "device"), "samples"),
    _gauge(
        "memory_budget_bytes",
        "Memory that there is on a device, or that was asked for (device all)",
        (*VARIANT, "device"),
        "samples, experiment",
    ),
    _gauge(
        "memory_component_bytes",
        "Memory by component, of the server's log or predicted",
        (*VARIANT, "component", "device"),
        "server starts",
    ),
    _gauge("power_watts", "Power drawn", (*VARIANT, "device"), "samples"),
    _gauge("memory_margin_bytes", "Budget less peak", VARIANT, "summary"),
    _gauge("memory_growth_bytes_per_hour", "Growth of the memory in use at equal load", VARIANT, "summary"),
    _gauge("memory_leak", "1 where memory grows beyond what caches explain, else 0", VARIANT, "summary"),
    _state(
        "memory_safety", "Whether the margin is what was asked for", VARIANT, "safety", ("safe", "unsafe", "unknown")
    ),
)
_RESULTS = (
    _gauge("trials", "Trials of the cell", CELL, "summary"),
    _gauge("trials_valid", "Trials of the cell that count", CELL, "summary"),
    *_bounded("tasks_per_hour", "Whole sessions an hour, all agents together", CELL, "summary"),
    *_bounded("requests_per_hour", "Requests an hour that ended well, all agents together", CELL, "summary"),
    *_bounded("output_tokens_per_second", "Output tokens a second, all agents together", CELL, "summary"),
    *_bounded("acceptance_ratio", "Accepted over drafted tokens", CELL, "summary"),
    *_bounded("acceptance_length", "Tokens that a verification step yields, its own one included", CELL, "summary"),
    *_bounded(
        "slo_attainment_ratio", "Share of the requests that kept every limit, failures included", CELL, "summary"
    ),
    *_bounded("speedup_ratio", "Tasks an hour over those of the baseline", CELL, "summary"),
    _state("verdict", "What the speed-up comes to", CELL, "call", CALLS),
    _state(
        "client_state",
        "Whether loadgen was fast enough for what it measured, worst trial",
        CELL,
        "state",
        ("ok", "suspect", "client_bound"),
    ),
    *_bounded("crossover_concurrency", "Agents at which the speed-up crosses 1", VARIANT, "summary"),
    _state(
        "crossover",
        "What is known of where the speed-up crosses 1",
        VARIANT,
        "kind",
        ("at", "none_up_to", "below", "several", "step"),
    ),
    _gauge("verdict_keep", "1 for the variant to run, 0 for the others; absent without advice", VARIANT, "summary"),
)

METRICS: tuple[Metric, ...] = (*_RUN, *_REQUESTS, *_LATENCIES, *_LIVE, *_MEMORY, *_RESULTS)
BY_NAME = {metric.name: metric for metric in METRICS}
