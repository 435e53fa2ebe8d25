"""The report on a terminal: what was run, one row per concurrency and variant, what it says and what it doesn't."""

from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.sequential.added_levels import added_text
from loadgen.analysis.sequential.looks_text import looks_text
from loadgen.report import heading
from loadgen.report.decision_lines import print_decision
from loadgen.report.lines import print_hanging
from loadgen.report.memory_table import print_memory
from loadgen.report.noise_line import noise_text
from loadgen.report.numbers import NOT_MEASURED, of, ratio_with_interval, seconds, share, significant
from loadgen.report.scaling_lines import break_even_lines, equal_memory_lines, scaling_lines
from loadgen.report.tuning_lines import command_line, tuning_lines
from loadgen.report.why_lines import print_why

_CALL_STYLES = {"pays": "bold green", "costs": "bold red", "same": "bold", "unresolved": "yellow"}
_MARK = "*"
_NO_LIMIT = 1 << 14
_RATES = ("tasks/h", "req/h", "speed-up [95 %]", "call")
_FEEL = ("TTFT p50", "p95", "max", "TPOT p50", "step gap", "accept", "length", "failed")


def print_report(summary: dict[str, Any], console: Console) -> None:
    """Print the report of a summary. Text from servers and files is printed as it is, never as markup.

    A terminal too narrow for the whole table gets two below each other; where there is no terminal, there is room.
    """
    needed = _width(_table(summary, _RATES + _FEEL), console)
    if not console.is_terminal:
        console.width = max(console.width, needed)
    heading.print_heading(summary, console)
    console.print()
    groups = [_RATES + _FEEL] if console.width >= needed else [_RATES, _FEEL]
    for number, columns in enumerate(groups):
        if number:
            console.print()
        console.print(_table(summary, columns))
    _print_notes(summary, console)
    print_decision(summary, console)
    _print_tuning(summary, console)
    print_why(summary, console)
    _print_list("Break-even", break_even_lines(summary), console)
    print_memory(summary, console)
    _print_list("Slots for that memory instead", equal_memory_lines(summary), console)
    _print_list("Growth with agents", scaling_lines(summary), console)
    _print_findings(summary, console)


def _width(table: Table, console: Console) -> int:
    """Columns that a table needs so that nothing in it is cut."""
    return Measurement.get(console, console.options.update(max_width=_NO_LIMIT), table).maximum


def _table(summary: dict[str, Any], columns: tuple[str, ...]) -> Table:
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


def _values(
    cell: dict[str, Any], comparison: dict[str, Any] | None, baseline: str, *, compared: bool
) -> dict[str, Text]:
    """The texts of one row by column; `compared`: the run has another variant."""
    if comparison is not None:
        speed = ratio_with_interval(comparison["speedup"])
        call = _call(comparison)
    else:
        speed, call = ("baseline" if compared and cell["variant"] == baseline else NOT_MEASURED), Text("")
    failed = sum(count for outcome, count in cell["outcomes"].items() if outcome not in ("ok", "cancelled"))
    plain = {
        "tasks/h": significant(of(cell["tasks_per_hour"])),
        "req/h": significant(of(cell["requests_per_hour"])),
        "speed-up [95 %]": speed,
        "TTFT p50": seconds(of(cell["ttft_s"]["p50"])),
        "p95": _quantile(cell["ttft_s"], "p95"),
        "max": seconds(of(cell["ttft_s"]["max"])),
        "TPOT p50": seconds(of(cell["tpot_s"]["p50"])),
        "step gap": seconds(of(cell["step_gap_s"]["p50"])),
        "accept": share(of(cell["acceptance_rate"])),
        "length": significant(of(cell["acceptance_length"])),
        "failed": f"{failed}/{cell['started']}",
    }
    texts = {name: Text(value) for name, value in plain.items()}
    if failed:
        texts["failed"].stylize("red")
    return {**texts, "call": call}


def _call(comparison: dict[str, Any]) -> Text:
    """The call; what a diagnostic shows is marked, and a variant that answers wrongly has none."""
    if comparison["void"]:
        return Text("no verdict", style="bold red")
    if comparison["diagnostic"] == Diagnostic.OVERHEAD:
        return Text("diagnostic")
    mark = _MARK if comparison["diagnostic"] else ""
    return Text(f"{comparison['call']}{mark}", style=_CALL_STYLES.get(comparison["call"], ""))


def _print_notes(summary: dict[str, Any], console: Console) -> None:
    """Below the table: its marks and the noise floor."""
    marked = [one["variant"] for one in summary["comparisons"] if one["diagnostic"] == Diagnostic.SYNTHETIC]
    if marked:
        names = ", ".join(dict.fromkeys(marked))
        print_hanging(
            console, f"{_MARK} ", f"diagnostic: the acceptance of {names} was set, so nothing advises to keep it"
        )
    noise = noise_text(summary)
    if noise is not None:
        print_hanging(console, "noise floor: ", noise)
    # A race has looks and an error of its own, which stand below "Tuning".
    looks = [] if summary["tuning"] is not None else looks_text(summary["looks"])
    for line in [*looks, *map(added_text, summary["added_levels"])]:
        print_hanging(console, "", line)


def _quantile(quantiles: dict[str, dict[str, Any]], name: str) -> str:
    """A quantile, or with too few samples to bound it their number; the maximum stands beside it."""
    estimate = quantiles[name]
    value = of(estimate)
    if value is None:
        return NOT_MEASURED
    if estimate.get("estimable") is False:
        return f"{NOT_MEASURED} (n={estimate['n']})"
    return seconds(value)


def _print_findings(summary: dict[str, Any], console: Console) -> None:
    verdict = summary["verdict"]
    _print_list("What it says", verdict["says"], console)
    _print_list("What it does not answer", verdict["does_not_answer"], console)
    _print_list("Trials that do not count", _invalid_lines(summary["invalid"]), console)
    _print_list("Mind", warning_lines(summary["warnings"], cells=len(summary["cells"])), console)


def _print_tuning(summary: dict[str, Any], console: Console) -> None:
    """How the race went; the command line stands in one piece, to be copied."""
    _print_list("Tuning", tuning_lines(summary), console)
    command = command_line(summary)
    if command is not None:
        console.print()
        console.print(Text("Run this", style="bold"))
        console.print(Text(command), soft_wrap=True)


def _print_list(title: str, lines: list[str], console: Console) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines:
        print_hanging(console, "  - ", line)


def _invalid_lines(invalid: list[dict[str, Any]]) -> list[str]:
    lines = []
    for entry in invalid:
        detail = f" ({entry['detail']})" if entry.get("detail") else ""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in entry.get("outcomes", {}).items())
        lines.append(f"{entry['trial']}: {', '.join(entry['reasons'])}{detail}; requests: {counts or 'none'}")
    return lines


def warning_lines(warnings: list[dict[str, Any]], *, cells: int) -> list[str]:
    """Warnings as lines; cells that share a sentence share a line, and all `cells` of a run are called so."""
    places: dict[str, list[str]] = {}
    for warning in warnings:
        text = warning["text"]
        where = None
        if warning.get("variant") is not None:
            where = f"{warning['variant']} at {warning['concurrency']}"
            text = text.removeprefix(f"{where}: ")
        places.setdefault(text, [])
        if where is not None:
            places[text].append(where)
    return [f"{_names(where, cells)}: {text}" if where else text for text, where in places.items()]


def _names(places: list[str], cells: int) -> str:
    return "everywhere" if len(places) == cells > 1 else ", ".join(places)
