"""The table of a report: one row per concurrency and variant, its marks, and the notes that belong to them."""

from typing import Any

from rich.table import Table
from rich.text import Text

from loadgen.analysis.comparability import Reason
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.report.numbers import NOT_MEASURED, agents, of, quantile, ratio_with_interval, seconds, share, significant

RATES = ("depth", "tasks/h", "req/h", "speed-up [95 %]", "call")
FEEL = ("TTFT p50", "p95", "max", "TPOT p50", "step gap", "accept", "length", "failed")
"""The columns, behind agents and variant; a narrow terminal gets them in two tables."""

_CALL_STYLES = {"pays": "bold green", "costs": "bold red", "same": "bold", "unresolved": "yellow"}
_SET, _BIASED = "*", "†"


def cell_table(summary: dict[str, Any], columns: tuple[str, ...]) -> Table:
    """The cells of a summary, with these columns behind agents and variant."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("agents", justify="right", no_wrap=True)
    table.add_column("variant", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="left" if column in ("speed-up [95 %]", "call") else "right", no_wrap=True)
    comparisons = {
        (one["variant"], one["concurrency"]): one for one in summary["comparisons"] if one["metric"] == "tasks_per_hour"
    }
    previous = None
    for cell in summary["cells"]:
        level = cell["concurrency"]
        if previous is not None and level != previous:
            table.add_section()
        comparison = comparisons.get((cell["variant"], level))
        values = _values(cell, comparison, summary["run"]["baseline"], compared=bool(comparisons))
        shown = str(level) if level != previous else ""
        table.add_row(shown, Text(cell["variant"]), *(values[column] for column in columns))
        previous = level
    return table


def table_notes(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What the marks mean, how long answers are, and what of requests per hour isn't comparable: label and text."""
    notes = []
    marked = [one["variant"] for one in summary["comparisons"] if one["diagnostic"] == Diagnostic.SYNTHETIC]
    if marked:
        names = ", ".join(dict.fromkeys(marked))
        notes.append(
            (f"{_SET} ", f"diagnostic: the acceptance of {names} was set, so nothing advises to keep it"),
        )
    if any(_is_biased(cell) for cell in summary["cells"]):
        text = "biased: answers have an exact length, and text past a model's own end is drafted otherwise"
        notes.append((f"{_BIASED} ", text))
    lengths = length_text(summary)
    if lengths is not None:
        notes.append(("answer length: ", lengths))
    return [*notes, *(("not comparable: ", text) for text in refused_requests(summary))]


def length_text(summary: dict[str, Any]) -> str | None:
    """Output tokens a turn against the baseline's, of answers that end by themselves; null where none was compared."""
    if summary["setup"]["workload"]["exact_length"]:
        return None
    by_variant: dict[str, list[str]] = {}
    for one in summary["latency_comparisons"]:
        if one["metric"] == "tokens_per_turn" and of(one["ratio"]) is not None:
            text = f"{ratio_with_interval(one['ratio'])} at {one['concurrency']}"
            by_variant.setdefault(one["variant"], []).append(text)
    if not by_variant:
        return None
    return f"against {summary['run']['baseline']}, " + "; ".join(
        f"{variant} {', '.join(texts)}" for variant, texts in by_variant.items()
    )


def refused_requests(summary: dict[str, Any]) -> list[str]:
    """Which requests per hour can't be compared, because answers are of another length, one line each."""
    return [
        f"req/h of {one['variant']} with those of {one['baseline']} at {agents(one['concurrency'])}: {why['text']}"
        for one in summary["latency_comparisons"]
        if one["metric"] == "requests_per_hour"
        for why in one["not_comparable"]
        if why["reason"] == Reason.OUTPUT_LENGTH
    ]


def _values(
    cell: dict[str, Any], comparison: dict[str, Any] | None, baseline: str, *, compared: bool
) -> dict[str, Text]:
    """The texts of one row by column; `compared`: the run has another variant."""
    if comparison is not None:
        speed = NOT_MEASURED if comparison["not_comparable"] else ratio_with_interval(comparison["speedup"])
        call = _call(comparison)
    else:
        speed, call = ("baseline" if compared and cell["variant"] == baseline else NOT_MEASURED), Text("")
    failed = sum(count for outcome, count in cell["outcomes"].items() if outcome not in ("ok", "cancelled"))
    plain = {
        "depth": significant(of(cell["depth"])),
        "tasks/h": significant(of(cell["tasks_per_hour"])),
        "req/h": significant(of(cell["requests_per_hour"])),
        "speed-up [95 %]": speed,
        "TTFT p50": seconds(of(cell["ttft_s"]["p50"])),
        "p95": quantile(cell["ttft_s"], "p95"),
        "max": seconds(of(cell["ttft_s"]["max"])),
        "TPOT p50": seconds(of(cell["tpot_s"]["p50"])),
        "step gap": seconds(of(cell["step_gap_s"]["p50"])),
        "accept": f"{share(of(cell['acceptance_rate']))}{_BIASED if _is_biased(cell) else ''}",
        "length": significant(of(cell["acceptance_length"])),
        "failed": f"{failed}/{cell['started']}",
    }
    texts = {name: Text(value) for name, value in plain.items()}
    if failed:
        texts["failed"].stylize("red")
    return {**texts, "call": call}


def _is_biased(cell: dict[str, Any]) -> bool:
    return bool(cell["acceptance_biased"]) and of(cell["acceptance_rate"]) is not None


def _call(comparison: dict[str, Any]) -> Text:
    """The call; what a diagnostic shows is marked, and a variant that answers wrongly has none."""
    if comparison["void"]:
        return Text("no verdict", style="bold red")
    if comparison["not_comparable"]:
        return Text("not comparable", style="bold red")
    if comparison["diagnostic"] == Diagnostic.OVERHEAD:
        return Text("diagnostic")
    mark = _SET if comparison["diagnostic"] else ""
    return Text(f"{comparison['call']}{mark}", style=_CALL_STYLES.get(comparison["call"], ""))
