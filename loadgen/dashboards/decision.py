"""The dashboard *Decision*: what runs came to. It answers when loadgen has ended, too."""

from loadgen.dashboards.panel import OF_A_RUN, Board, Column, Panel, Query, Row, View, last

_NAMED = "{{variant}} at {{concurrency}}"
_OF_A_RUN = "run, series, workload, model, baseline, server_build, loadgen_version"
_RUN, *_REST = (Column(name, name.replace("_", " ")) for name in _OF_A_RUN.split(", "))
_STARTED = (
    'max by (series) (loadgen_run_start_timestamp_seconds{series=~"$series"}) * on (series) group_right () '
    'loadgen_run_info{series=~"$series"}'
)
"""When each run began, looked up minute by minute while it was there: one run of a series follows another."""
_FIGURES = (
    ("tasks an hour", "loadgen_tasks_per_hour", "locale", 0),
    ("from", "loadgen_tasks_per_hour_lower", "locale", 0),
    ("to", "loadgen_tasks_per_hour_upper", "locale", 0),
    ("speed-up", "loadgen_speedup_ratio", "short", 2),
    ("speed-up from", "loadgen_speedup_ratio_lower", "short", 2),
    ("speed-up to", "loadgen_speedup_ratio_upper", "short", 2),
    ("requests an hour", "loadgen_requests_per_hour", "locale", 0),
    ("acceptance", "loadgen_acceptance_ratio", "percentunit", 1),
    ("within limits", "loadgen_slo_attainment_ratio", "percentunit", 1),
    ("within, from", "loadgen_slo_attainment_ratio_lower", "percentunit", 1),
    ("within, to", "loadgen_slo_attainment_ratio_upper", "percentunit", 1),
    ("valid trials", "loadgen_trials_valid", "none", 0),
)
_CELL = (Column("workload", "workload"), Column("concurrency", "agents"), Column("variant", "variant"))
_ORDER = ("workload", "concurrency", "variant")
_ALWAYS = {"loadgen_tasks_per_hour", "loadgen_requests_per_hour", "loadgen_trials_valid"}
"""What every run has; the others need rounds, a baseline, drafts or an objective."""


def _table() -> tuple[tuple[Query, ...], tuple[Column, ...]]:
    queries = tuple(
        Query(
            f"max by (workload, variant, concurrency) ({last(metric)})",
            instant=True,
            may_be_empty=metric not in _ALWAYS,
        )
        for _, metric, _, _ in _FIGURES
    )
    columns = (
        Column(f"Value #{chr(ord('A') + at)}", name, unit, places)
        for at, (name, _, unit, places) in enumerate(_FIGURES)
    )
    return queries, (*_CELL, *columns)


_QUERIES, _COLUMNS = _table()

_VERDICT = Row(
    "The answer",
    (
        Panel(
            "Keep",
            "The variant that the run advises for the number of agents that was asked for (--agents). Empty where "
            "nothing was asked, or nothing can be advised.",
            View.STAT,
            "none",
            (
                Query(
                    f"max by (variant) ({last('loadgen_verdict_keep')}) == 1",
                    "{{variant}}",
                    instant=True,
                    may_be_empty=True,
                ),
            ),
            width=6,
            empty="nothing is advised",
        ),
        Panel(
            "Calls",
            "What each speed-up comes to: pays, costs, same, unresolved, refused where two can't be "
            "compared, or void where the output check failed.",
            View.TABLE,
            "none",
            (Query(f"max by (workload, variant, concurrency, call) ({last('loadgen_verdict')}) == 1", instant=True),),
            width=9,
            columns=(*_CELL, Column("call", "call")),
            ordered=_ORDER,
        ),
        Panel(
            "Crossover",
            "Agents at which the speed-up crosses 1, with its 95 % interval. Empty where it doesn't.",
            View.STAT,
            "short",
            (
                Query(
                    f"max by (variant) ({last('loadgen_crossover_concurrency_lower')})",
                    "{{variant}} from",
                    instant=True,
                    may_be_empty=True,
                ),
                Query(
                    f"max by (variant) ({last('loadgen_crossover_concurrency')})",
                    "{{variant}}",
                    instant=True,
                    may_be_empty=True,
                ),
                Query(
                    f"max by (variant) ({last('loadgen_crossover_concurrency_upper')})",
                    "{{variant}} to",
                    instant=True,
                    may_be_empty=True,
                ),
            ),
            width=9,
            decimals=1,
            empty="none",
        ),
    ),
)
_CELLS = Row(
    "By variant and concurrency",
    (
        Panel(
            "Figures",
            "The last results within the time range, with the bounds of their 95 % intervals.",
            View.TABLE,
            "short",
            _QUERIES,
            width=24,
            height=9,
            columns=_COLUMNS,
            ordered=_ORDER,
        ),
        Panel(
            "Tasks an hour",
            "Whole sessions an hour, all agents together, by concurrency.",
            View.BARS,
            "locale",
            (Query(f"max by (variant, concurrency) ({last('loadgen_tasks_per_hour')})", instant=True),),
            matrix=("variant", "concurrency"),
        ),
        Panel(
            "Speed-up",
            "Tasks an hour over those of the baseline, by concurrency: above 1 speculation gains. Its bounds stand in "
            "the table.",
            View.BARS,
            "short",
            (
                Query(
                    f"max by (variant, concurrency) ({last('loadgen_speedup_ratio')})", instant=True, may_be_empty=True
                ),
            ),
            empty="no speed-up yet",
            decimals=2,
            matrix=("variant", "concurrency"),
        ),
        Panel(
            "Within limits",
            "Share of the requests that kept every limit of --slo, failures included. Its bounds stand in the table.",
            View.BARS,
            "percentunit",
            (
                Query(
                    f"max by (variant, concurrency) ({last('loadgen_slo_attainment_ratio')})",
                    instant=True,
                    may_be_empty=True,
                ),
            ),
            matrix=("variant", "concurrency"),
            low=0,
            high=1,
            empty="no limits (--slo)",
        ),
        Panel(
            "Memory by component",
            "What the server's log, or a prediction, says that its memory is for: of several series the largest.",
            View.BARS,
            "bytes",
            (
                Query(
                    "sum by (variant, component) (max by (variant, component, device) "
                    f"({last('loadgen_memory_component_bytes')}))",
                    instant=True,
                    may_be_empty=True,
                ),
            ),
            matrix=("component", "variant"),
            stacked=True,
        ),
    ),
)
_HISTORY = Row(
    "Over the nights",
    (
        Panel(
            "Speed-up of the series",
            "Each run of the series is a point: its speed-up with the bounds of the 95 % interval.",
            View.LINES,
            "short",
            (
                Query(
                    f"max by (variant, concurrency) ({last('loadgen_speedup_ratio', '$__interval')})",
                    _NAMED,
                    may_be_empty=True,
                ),
                Query(
                    f"max by (variant, concurrency) ({last('loadgen_speedup_ratio_lower', '$__interval')})",
                    f"{_NAMED}, from",
                    may_be_empty=True,
                ),
                Query(
                    f"max by (variant, concurrency) ({last('loadgen_speedup_ratio_upper', '$__interval')})",
                    f"{_NAMED}, to",
                    may_be_empty=True,
                ),
            ),
            width=24,
            decimals=2,
            empty="no speed-up yet",
            apart=True,
            faint=", (from|to)$",
        ),
        Panel(
            "Runs",
            "The runs of the series within the time range, with model, build and version.",
            View.TABLE,
            "none",
            (
                Query(
                    f'max by ({_OF_A_RUN}) (last_over_time(loadgen_run_info{{series=~"$series"}}[$__range]))',
                    instant=True,
                ),
                Query(
                    f"1000 * max by ({_OF_A_RUN}) (max_over_time(({_STARTED})[$__range:1m]))",
                    instant=True,
                    may_be_empty=True,
                ),
            ),
            width=24,
            columns=(_RUN, Column("Value #B", "started", "dateTimeAsIso"), *_REST),
            ordered=("run",),
        ),
    ),
)

DECISION = Board(
    uid="loadgen-decision",
    title="loadgen: decision",
    description="What runs came to: the verdict, speed-ups by concurrency, memory, and the history of a series.",
    rows=(_VERDICT, _CELLS, _HISTORY),
    variables=OF_A_RUN,
    since="now-7d",
)
