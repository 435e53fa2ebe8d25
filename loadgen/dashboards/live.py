"""The dashboard *Live*: a run while it goes on."""

from loadgen.dashboards.panel import (
    BOUNDARIES,
    CELL,
    OF_A_RUN,
    SELECTED,
    Board,
    Panel,
    Query,
    Row,
    View,
    quantile,
    rate,
    ratio,
)
from loadgen.metrics.table import PHASES

_NAMED = "{{variant}} at {{concurrency}}"
_TTFT = "loadgen_time_to_first_token_seconds"
_FAILED = ', outcome!~"ok|cancelled"'
_TRIED = ', outcome!="cancelled"'


def _requests(which: str) -> str:
    return rate("loadgen_requests_total", CELL, which)


def _phase() -> str:
    """The number of the phase (from 1, in the order of the table) of each cell that is in one."""
    parts = (
        f'max by ({CELL}) ({number} * (loadgen_phase{{{SELECTED}, phase="{phase}"}} == 1))'
        for number, phase in enumerate(PHASES, start=1)
    )
    return " or ".join(parts)


def _tokens_per_step() -> str:
    """A step writes a token of its own. Output tokens include those of cancelled requests, whose steps are unknown."""
    steps, accepted = rate("loadgen_decode_steps_total"), rate("loadgen_draft_tokens_accepted_total")
    return f"1 + ({accepted} or 0 * {steps}) / ({steps} > 0)"


_NOW = Row(
    "What runs",
    (
        Panel(
            "Variant and phase",
            "Which variant runs at which concurrency, and what its trial does: the pilot that fixes trial lengths, the "
            "warm-up, the measured segment, or the requests that end behind it.",
            View.STATES,
            "none",
            (Query(_phase(), _NAMED),),
            width=24,
            states=PHASES,
        ),
        Panel(
            "Agents and requests",
            "Agents that the trial asks for and that are at work (waits for tools included), requests in flight, busy "
            "slots and requests that wait for one. In flight above busy means queueing.",
            View.LINES,
            "short",
            (
                Query(f"sum(loadgen_agents_target{{{SELECTED}}})", "agents asked for"),
                Query(f"sum(loadgen_agents_active{{{SELECTED}}})", "agents at work"),
                Query(f"sum(loadgen_requests_in_flight{{{SELECTED}}})", "requests in flight"),
                Query(f"sum(loadgen_server_slots_busy{{{SELECTED}}})", "busy slots", may_be_empty=True),
                Query(f"sum(loadgen_server_requests_deferred{{{SELECTED}}})", "deferred", may_be_empty=True),
            ),
            low=0,
        ),
        Panel(
            "Failed requests",
            "Share of the requests that failed, cancelled ones left out. From 1 % on a trial doesn't count.",
            View.LINES,
            "percentunit",
            (
                Query(
                    f"({_requests(_FAILED)} or 0 * {_requests(_TRIED)}) / ({_requests(_TRIED)} > 0)",
                    _NAMED,
                ),
            ),
            low=0,
        ),
    ),
)
_LATENCY = Row(
    "What people wait for",
    (
        Panel(
            "Time to first token",
            "Requests by the time from sending to the first token, of measured segments.",
            View.HEATMAP,
            "s",
            (
                Query(
                    f"sum by (le) (increase({_TTFT}_bucket{{{SELECTED}}}[$__rate_interval]))",
                    "{{le}}",
                ),
            ),
            width=24,
        ),
        Panel(
            "Time per output token",
            "Median and 95th percentile of the time a token after the first. The report's own quantiles are exact; "
            "these are read off buckets.",
            View.LINES,
            "s",
            (
                Query(quantile(0.5, "loadgen_time_per_output_token_seconds"), f"p50 {_NAMED}"),
                Query(quantile(0.95, "loadgen_time_per_output_token_seconds"), f"p95 {_NAMED}"),
            ),
            dashed="^p95 ",
            height=9,
            low=0,
        ),
        Panel(
            "Step gap",
            "Median and 95th percentile of the time between steps, for which a reader waits: a verification step "
            "writes all tokens that it accepted at once.",
            View.LINES,
            "s",
            (
                Query(quantile(0.5, "loadgen_step_gap_seconds"), f"p50 {_NAMED}"),
                Query(quantile(0.95, "loadgen_step_gap_seconds"), f"p95 {_NAMED}"),
            ),
            dashed="^p95 ",
            height=9,
            low=0,
        ),
    ),
)
_SPEED = Row(
    "Speculation and speed",
    (
        Panel(
            "Acceptance rate",
            "Accepted over drafted tokens, as a rate over a rate. A variant without drafts has no line.",
            View.LINES,
            "percentunit",
            (
                Query(
                    ratio("loadgen_draft_tokens_accepted_total", "loadgen_draft_tokens_total"),
                    _NAMED,
                    may_be_empty=True,
                ),
            ),
            width=8,
            low=0,
            high=1,
            empty="no drafts",
        ),
        Panel(
            "Tokens per step",
            "Output tokens per decode step: 1 without speculation, more where drafts are accepted.",
            View.LINES,
            "short",
            (Query(_tokens_per_step(), _NAMED, may_be_empty=True),),
            width=8,
        ),
        Panel(
            "Output tokens a second",
            "Of all agents together, in every phase.",
            View.LINES,
            "short",
            (Query(rate("loadgen_generation_tokens_total"), _NAMED),),
            width=8,
            low=0,
        ),
    ),
)
_MACHINE = Row(
    "Machine and client",
    (
        Panel(
            "Memory",
            "Memory in use against what there is, by device (process: the server's own, without a device).",
            View.LINES,
            "bytes",
            (
                Query(
                    f"max by (variant, device) (loadgen_memory_used_bytes{{{SELECTED}}})",
                    "{{variant}} on {{device}}",
                    may_be_empty=True,
                ),
                Query(
                    f"max by (device) (loadgen_memory_budget_bytes{{{SELECTED}}})",
                    "budget of {{device}}",
                    may_be_empty=True,
                ),
            ),
            width=8,
            low=0,
        ),
        Panel(
            "Client lag",
            "How late loadgen itself read arrivals in the last trial of a cell, p99. Half of the step gap "
            "makes a trial invalid.",
            View.LINES,
            "s",
            (Query(f"max by ({CELL}) (loadgen_client_lag_seconds{{{SELECTED}}})", _NAMED),),
            width=8,
            low=0,
        ),
        Panel(
            "Client CPU",
            "CPU time of loadgen over wall time in the last trial of a cell. Above 90 % the client is the bottleneck, "
            "and the trial doesn't count.",
            View.LINES,
            "percentunit",
            (Query(f"max by ({CELL}) (loadgen_client_cpu_ratio{{{SELECTED}}})", _NAMED),),
            width=8,
            low=0,
        ),
        Panel(
            "Power",
            "Power drawn, where a device tells it.",
            View.LINES,
            "watt",
            (
                Query(
                    f"max by (variant, device) (loadgen_power_watts{{{SELECTED}}})",
                    "{{variant}} on {{device}}",
                    may_be_empty=True,
                ),
            ),
            width=24,
            height=6,
            low=0,
            empty="no device tells its power",
        ),
    ),
)

LIVE = Board(
    uid="loadgen-live",
    title="loadgen: live",
    description="A run of loadgen while it goes on: what runs, what people wait for, what drafts yield.",
    rows=(_NOW, _LATENCY, _SPEED, _MACHINE),
    variables=OF_A_RUN,
    since="now-30m",
    refresh="10s",
    boundaries=BOUNDARIES,
)
