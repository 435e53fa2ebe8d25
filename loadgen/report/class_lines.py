"""The section on classes of work: what each class of a mix did in every cell, and against the baseline."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadgen.analysis.classes.comparisons import TASKS
from loadgen.report.lines import print_hanging
from loadgen.report.numbers import of, quantile, ratio_with_interval, seconds, share, significant

_COLUMNS = ("tasks/h", "req/h", "TTFT p50", "p95", "TPOT p50", "p95", "task p50", "accept", "failed")
_NOTE = "speed-up by class: paired by round, each interval by itself; not corrected for several comparisons, not called"


def print_classes(summary: Mapping[str, Any], console: Console) -> None:
    """Print one row for each class, variant and concurrency; nothing where one workload was played."""
    rows = class_rows(summary)
    if not rows:
        return
    compared = bool(summary["class_comparisons"])
    console.print()
    console.print(Text("By class of work", style="bold"))
    console.print(_table(rows, compared=compared))
    if compared:
        print_hanging(console, "  ", _NOTE)


def class_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """The texts of the table: agents, class with its own agents, variant, speed-up, then the figures."""
    ratios = {
        (one["variant"], one["concurrency"], one["work_class"]): one
        for one in summary.get("class_comparisons", ())
        if one["metric"] == TASKS
    }
    rows = []
    for level in dict.fromkeys(cell["concurrency"] for cell in summary["cells"]):
        here = [cell for cell in summary["cells"] if cell["concurrency"] == level]
        for name in dict.fromkeys(one["name"] for cell in here for one in cell.get("classes", ())):
            for cell in here:
                own = next((one for one in cell["classes"] if one["name"] == name), None)
                if own is not None:
                    found = ratios.get((cell["variant"], level, name))
                    rows.append(
                        [str(level), f"{name} ({own['agents']})", cell["variant"], _speed(found), *_values(own)]
                    )
    return rows


def _table(rows: Sequence[Sequence[str]], *, compared: bool) -> Table:
    """What stands above in the same column, of the same block, is left out."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("agents", justify="right", no_wrap=True)
    for title in ("class (agents)", "variant", *(["speed-up [95 %]"] if compared else [])):
        table.add_column(title, no_wrap=True)
    for title in _COLUMNS:
        table.add_column(title, justify="right", no_wrap=True)
    before: Sequence[str] = ("", "")
    for level, name, variant, speed, *values in rows:
        if before[0] and before[0] != level:
            table.add_section()
        table.add_row(
            "" if before[0] == level else level,
            Text("" if before == (level, name) else name),
            Text(variant),
            *([Text(speed)] if compared else []),
            *map(Text, values),
        )
        before = (level, name)
    return table


def _speed(comparison: Mapping[str, Any] | None) -> str:
    """The speed-up; nothing for the baseline, which is what the others are compared with."""
    if comparison is None:
        return ""
    if comparison["void"] or comparison["not_comparable"]:
        return "no verdict" if comparison["void"] else "not comparable"
    return ratio_with_interval(comparison["ratio"])


def _values(own: Mapping[str, Any]) -> list[str]:
    failed = sum(count for outcome, count in own["outcomes"].items() if outcome not in ("ok", "cancelled"))
    return [
        significant(of(own["tasks_per_hour"])),
        significant(of(own["requests_per_hour"])),
        seconds(of(own["ttft_s"]["p50"])),
        quantile(own["ttft_s"], "p95"),
        seconds(of(own["tpot_s"]["p50"])),
        quantile(own["tpot_s"], "p95"),
        seconds(of(own["task_s"]["p50"])),
        share(of(own["acceptance_rate"])),
        f"{failed}/{own['started']}",
    ]
