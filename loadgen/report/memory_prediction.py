"""A prediction of memory on a terminal: the components, what fits a budget, and what it means."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadgen.analysis.memory.check import Check
from loadgen.analysis.memory.document import Predicted
from loadgen.analysis.memory.grid import FITS, TIGHT, TOO_LARGE, Cell, Room
from loadgen.footprint.prediction import Share
from loadgen.report.lines import print_hanging
from loadgen.report.numbers import NOT_MEASURED, mebibytes, share
from loadgen.units import bytes_to_mib

_MARKS = {FITS: ("fits", "green"), TIGHT: ("tight", "yellow"), TOO_LARGE: ("no", "red")}
_SAFETY = {FITS: "it fits", TIGHT: "it fits, but too little stays free", TOO_LARGE: "it does not fit"}
_NARROWEST = 120
"""Where there is no terminal, tables are not cut to 80 columns."""
_SLOTS_WIDTH = 7
_CELL_WIDTH = 22
"""Of a cell such as `123,456 tight +12,345`."""


def print_prediction(predicted: Predicted, console: Console, *, explain: bool = False) -> None:
    """Print all of it; with `explain` the arithmetic of every component."""
    if not console.is_terminal:
        console.width = max(console.width, _NARROWEST)
    _title(console, "Memory, predicted from headers")
    console.print(_components(predicted.prediction.shares))
    _print_budget(predicted, console)
    if explain:
        _title(console, "Arithmetic")
        for part in predicted.prediction.shares:
            print_hanging(console, "  - ", f"{_name(part.component)}: {part.arithmetic} = {mebibytes(part.bytes)}")
    for context in predicted.varied.contexts:
        cells = [cell for cell in predicted.cells if cell.slot_context == context]
        _print_grid(cells, predicted.varied.n_max, predicted.room, console)
    if predicted.checks:
        _title(console, "Held against the log")
        console.print(_checks(predicted.checks))
    _title(console, "What it means")
    for sentence in predicted.notes:
        print_hanging(console, "  - ", sentence)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _components(shares: Sequence[Share]) -> Table:
    table = _table(("component", "left"), ("MiB", "right"), ("source", "left"), ("", "left"))
    for part in shares:
        if part.bytes is None:
            remark = part.arithmetic
        elif part.grows:
            remark = "at most, in host memory" if part.bytes else part.arithmetic
        else:
            remark = f"{part.rows} rows a slot" if part.rows is not None and part.rows > 1 else ""
        table.add_row(_name(part.component), _mib(part.bytes), part.source, remark)
    return table


def _print_budget(predicted: Predicted, console: Console) -> None:
    held, room = predicted.prediction.held_bytes, predicted.room
    estimated = sum(part.bytes or 0 for part in predicted.prediction.shares if part.source == "estimated")
    text = f"Held from the start: {mebibytes(held)}"
    if held and estimated:
        text += f", of which {mebibytes(estimated)} are estimated"
    print_hanging(console, "", text + ".")
    left = room.left(held)
    if left is not None:
        print_hanging(
            console,
            "",
            f"Of {mebibytes(room.budget_bytes)}, {mebibytes(left)} stay free; {mebibytes(room.margin_bytes)} should: "
            f"{_SAFETY[room.safety(held)]}.",
        )


def _print_grid(cells: Sequence[Cell], lengths: Sequence[int], room: Room, console: Console) -> None:
    """Rows by slots, columns by draft tokens; columns that the console has no room for go below."""
    title = f"MiB by slots and draft tokens, with {cells[0].slot_context:,} tokens of context a slot"
    if room.budget_bytes is not None:
        title += f", and what stays free of {_whole(room.budget_bytes)} (tight: less than {_whole(room.margin_bytes)})"
    _title(console, title)
    at_once = max(1, (console.width - _SLOTS_WIDTH) // _CELL_WIDTH)
    for first in range(0, len(lengths), at_once):
        shown = lengths[first : first + at_once]
        table = _table(("slots", "right"), *(("no drafts" if one == 0 else f"{one}", "right") for one in shown))
        for slots in dict.fromkeys(cell.slots for cell in cells):
            row = [_cell(cell) for cell in cells if cell.slots == slots and cell.n_max in shown]
            table.add_row(str(slots), *row)
        console.print(table)


def _cell(cell: Cell) -> Text:
    if cell.left_bytes is None:
        return Text(_whole(cell.held_bytes))
    mark, colour = _MARKS[cell.safety]
    sign = "+" if cell.left_bytes >= 0 else "−"
    return Text.assemble(f"{_whole(cell.held_bytes)} ", (f"{mark} {sign}{_whole(abs(cell.left_bytes))}", colour))


def _checks(checks: Sequence[Check]) -> Table:
    table = _table(("component", "left"), ("predicted MiB", "right"), ("log MiB", "right"), ("", "left"))
    for one in checks:
        verdict = "equal" if one.equal else "differs"
        if one.equal is None:
            verdict = "estimated" if one.estimated else "not predicted"
        if one.difference is not None and not one.equal:
            verdict += f", {share(one.difference)} off"
        style = "red" if one.equal is False else ""
        table.add_row(
            _name(one.component), _mib(one.predicted_bytes), _mib(one.logged_bytes), Text(verdict, style=style)
        )
    return table


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, side in columns:
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=bool(name))
    return table


def _name(component: str) -> str:
    return component.replace("_", " ")


def _whole(count: int | None) -> str:
    return NOT_MEASURED if count is None else f"{bytes_to_mib(count):,.0f}"


def _mib(count: int | None) -> str:
    return NOT_MEASURED if count is None else f"{bytes_to_mib(count):,.2f}"
