"""The dashboard *llama-server*: the server's own metrics, under their names of newer and older builds."""

from loadgen.dashboards.panel import Board, Panel, Query, Row, Variable, View

_AT = 'instance=~"$instance"'
_NAMED = "{{instance}}"


def _rate(name: str) -> str:
    return f"rate(llamacpp:{name}{{{_AT}}}[$__rate_interval])"


def _gauge(name: str) -> str:
    return f"llamacpp:{name}{{{_AT}}}"


def _optional(expression: str, legend: str = _NAMED) -> Query:
    return Query(expression, legend, may_be_empty=True)


_ACCEPTED = _rate("spec_decode_num_accepted_tokens_total")
_BY_POSITION = _rate("spec_decode_num_accepted_tokens_per_pos_total")
_DRAFTED = _rate("spec_decode_num_draft_tokens_total")
_STEPS = _rate("spec_decode_num_drafts_total")

_WORK = Row(
    "Work",
    (
        Panel(
            "Requests",
            "Requests that slots process, and requests that wait for one.",
            View.LINES,
            "short",
            (
                Query(_gauge("requests_processing"), f"processing, {_NAMED}"),
                Query(_gauge("requests_deferred"), f"deferred, {_NAMED}"),
            ),
        ),
        Panel(
            "Tokens a second",
            "Prompt tokens that were evaluated, and tokens that were generated.",
            View.LINES,
            "short",
            (
                Query(_rate("prompt_tokens_total"), f"prompt, {_NAMED}"),
                Query(_rate("tokens_predicted_total"), f"generated, {_NAMED}"),
            ),
        ),
        Panel(
            "Time spent",
            "Seconds of reading prompts and of generating, per second: above 1 where several slots do so at once.",
            View.LINES,
            "short",
            (
                Query(_rate("prompt_seconds_total"), f"prompts, {_NAMED}"),
                Query(_rate("tokens_predicted_seconds_total"), f"generating, {_NAMED}"),
            ),
        ),
        Panel(
            "Busy slots per decode",
            "Slots that take part in a decode, on average since the server started.",
            View.LINES,
            "short",
            (Query(_gauge("n_busy_slots_per_decode"), _NAMED),),
        ),
    ),
)
_DRAFTS = Row(
    "Speculation (newer builds)",
    (
        Panel(
            "Acceptance rate",
            "Accepted over drafted tokens, as a rate over a rate. Builds without these counters have no line.",
            View.LINES,
            "percentunit",
            (_optional(f"{_ACCEPTED} / ({_DRAFTED} > 0)"),),
        ),
        Panel(
            "Acceptance length",
            "Tokens that a verification step yields, its own one included.",
            View.LINES,
            "short",
            (_optional(f"1 + {_ACCEPTED} / ({_STEPS} > 0)"),),
        ),
        Panel(
            "Acceptance by position",
            "Share of the drafts whose token at this position (from 0) was accepted.",
            View.LINES,
            "percentunit",
            (
                _optional(
                    f"sum by (instance, position) ({_BY_POSITION}) / on (instance) "
                    f"group_left () (sum by (instance) ({_STEPS}) > 0)",
                    "position {{position}}, {{instance}}",
                ),
            ),
            width=24,
        ),
    ),
)
_OLD = Row(
    "Cache (older builds)",
    (
        Panel(
            "KV cache in use",
            "Share of the KV cache in use. Builds since 2025 don't tell it.",
            View.LINES,
            "percentunit",
            (_optional(_gauge("kv_cache_usage_ratio")),),
            width=24,
        ),
    ),
)

LLAMA_SERVER = Board(
    uid="loadgen-llama-server",
    title="loadgen: llama-server",
    description="llama-server's own metrics (it needs --metrics): requests, tokens, slots and speculation.",
    rows=(_WORK, _DRAFTS, _OLD),
    variables=(Variable("instance", "Server", "label_values(llamacpp:requests_processing, instance)"),),
    since="now-1h",
    refresh="10s",
    tags=("loadgen", "llama.cpp"),
)
