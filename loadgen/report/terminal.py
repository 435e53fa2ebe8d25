"""The report on a terminal: what was run, one row per concurrency and variant, what it says and what it doesn't."""

from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from loadgen.analysis.at_depth import ASKED, deep, depths_in, summary_at
from loadgen.analysis.sequential.added_levels import added_text
from loadgen.analysis.sequential.looks_text import looks_text
from loadgen.report import heading
from loadgen.report.cell_table import FEEL, RATES, cell_table, table_notes
from loadgen.report.class_lines import print_classes
from loadgen.report.decision_lines import print_decision
from loadgen.report.lines import print_hanging
from loadgen.report.memory_table import print_memory
from loadgen.report.noise_line import noise_text
from loadgen.report.scaling_lines import break_even_lines, equal_memory_lines, scaling_lines
from loadgen.report.tuning_lines import command_line, tuning_lines
from loadgen.report.why_lines import print_why

_NO_LIMIT = 1 << 14


def print_report(summary: dict[str, Any], console: Console) -> None:
    """Print the report of a summary. Text from servers and files is printed as it is, never as markup.

    A terminal too narrow for the whole table gets two below each other; where there is no terminal, there is room. A
    run with fixed depths has a table, and what lies behind it, for each of them.
    """
    slices = [(depth, summary_at(summary, depth)) for depth in depths_in(summary)]
    needed = max(_width(cell_table(here, RATES + FEEL), console) for _, here in slices)
    if not console.is_terminal:
        console.width = max(console.width, needed)
    heading.print_heading(summary, console)
    groups: list[tuple[str, ...]] = [RATES + FEEL] if console.width >= needed else [RATES, FEEL]
    for depth, here in slices:
        console.print()
        _print_cells(here, depth, groups, console)
    _print_looks(summary, console)
    print_classes(summary, console)
    for _, here in slices:
        print_decision(here, console)
    _print_tuning(summary, console)
    for depth, here in slices:
        print_why(here, console)
        _print_list(f"Break-even{deep(depth)}", break_even_lines(here), console)
    print_memory(summary, console)
    for depth, here in slices:
        _print_list(f"Slots for that memory instead{deep(depth)}", equal_memory_lines(here), console)
        _print_list(f"Growth with agents{deep(depth)}", scaling_lines(here), console)
    _print_findings(summary, console)


def _width(table: Table, console: Console) -> int:
    """Columns that a table needs so that nothing in it is cut."""
    return Measurement.get(console, console.options.update(max_width=_NO_LIMIT), table).maximum


def _print_cells(summary: dict[str, Any], depth: int | None, groups: list[tuple[str, ...]], console: Console) -> None:
    """The cells of one depth, and below them the marks, answer lengths and the noise floor."""
    if depth is not None:
        console.print(Text(f"Asked for: {depth:,} tokens deep", style="bold"))
    for number, columns in enumerate(groups):
        if number:
            console.print()
        console.print(cell_table(summary, columns))
    for label, text in table_notes(summary):
        print_hanging(console, label, text)
    noise = noise_text(summary)
    if noise is not None:
        print_hanging(console, "noise floor: ", noise)


def _print_looks(summary: dict[str, Any], console: Console) -> None:
    """A race has looks and an error of its own, which stand below "Tuning"."""
    looks = [] if summary["tuning"] is not None else looks_text(summary["looks"])
    for line in [*looks, *map(added_text, summary["added_levels"])]:
        print_hanging(console, "", line)


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
            where = f"{warning['variant']} at {warning['concurrency']}{deep(warning.get(ASKED))}"
            text = text.removeprefix(f"{where}: ")
        places.setdefault(text, [])
        if where is not None:
            places[text].append(where)
    return [f"{_names(where, cells)}: {text}" if where else text for text, where in places.items()]


def _names(places: list[str], cells: int) -> str:
    return "everywhere" if len(places) == cells > 1 else ", ".join(places)
