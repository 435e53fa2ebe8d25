"""Why a speed-up is what it is: what was promised beside what came of it, and what stands out."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.causes.why_text import why_sentences
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.report.kind_lines import kinds_text
from loadgen.report.lines import print_hanging
from loadgen.report.numbers import of, significant

_COLUMNS = ("tokens/step", "promised", "step time", "decoding", "tokens/s", "wasted/h")


def print_why(summary: dict[str, Any], console: Console) -> None:
    """Print a row for each variant and concurrency that drafted, then sentences; nothing where there is neither."""
    rows, lines = why_rows(summary), why_lines(summary)
    if not rows and not lines:
        return
    console.print()
    console.print(Text(f"Why{deep(summary['why'][0].get(ASKED))}", style="bold"))
    if rows:
        console.print(_table(rows))
        baseline = summary["run"]["baseline"]
        print_hanging(
            console,
            "",
            f"against {baseline}: promised (by tokens per step) ÷ step time = decoding; then prompts, waits and queues "
            "leave tokens/s; wasted/h: drafted tokens an hour that were not accepted",
        )
    if (kinds := kinds_text(summary, void=_void(summary))) is not None:
        print_hanging(console, "accepted by kind of turn: ", kinds)
    for line in lines:
        print_hanging(console, "  - ", line)


def why_lines(summary: dict[str, Any]) -> list[str]:
    """The sentences."""
    return why_sentences(summary["why"], summary["run"]["baseline"], void=_void(summary))


def why_rows(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Agents, variant and the columns of the table, of what drafted or was kept from it; none of wrong answers."""
    void = _void(summary)
    return [
        (str(entry["concurrency"]), entry["variant"], *_values(entry))
        for entry in summary["why"]
        if entry["variant"] not in void and _of_interest(entry, summary["run"]["baseline"])
    ]


def _of_interest(entry: dict[str, Any], baseline: str) -> bool:
    if of(entry["tokens_per_step"]) is None or (entry["variant"] != baseline and of(entry["promised"]) is None):
        return False
    return entry["acceptance"] is not None or entry["diagnostic"] == Diagnostic.OVERHEAD


def _values(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        significant(of(estimate))
        for estimate in (
            entry["tokens_per_step"],
            entry["promised"],
            entry["step_time"]["ratio"],
            entry["decode_speedup"],
            entry["realised"]["output_tokens_per_s"],
            entry["wasted_drafts_per_hour"],
        )
    )


def _void(summary: dict[str, Any]) -> set[str]:
    """The variants whose answers, or whose baseline's, are wrong: nothing is said of their speed."""
    void = {one["variant"] for one in summary["comparisons"] if one["void"]}
    failed = {one["variant"] for one in summary["output_check"] if one["result"] == "failed"}
    return void | failed


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("agents", justify="right", no_wrap=True)
    table.add_column("variant", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    previous = None
    for agents, variant, *values in rows:
        table.add_row(agents if agents != previous else "", Text(variant), *values)
        previous = agents
    return table
