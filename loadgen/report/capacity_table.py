"""The table of a capacity: a row a variant, with its largest N, what ends it, the servers for a load and the cost."""

from typing import Any

from rich.table import Table
from rich.text import Text

from loadgen.analysis.capacity.answer import range_text
from loadgen.analysis.capacity.reading import TRIALS
from loadgen.report.numbers import NOT_MEASURED, agents, of, significant

EXTRAPOLATED = "extrapolated"
"""The word stands wherever a number rests on nothing that was measured; it is red on a terminal."""
_RED = "bold red"
_OPEN = "…"


def capacity_table(part: dict[str, Any]) -> Table:
    """One row a variant; servers where a load was asked for, costs where a price was given."""
    loaded, priced = part["answer"] is not None, any(entry["cost"] is not None for entry in part["variants"])
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("variant", no_wrap=True)
    table.add_column("slots", justify="right", no_wrap=True)
    table.add_column("largest N [95 %]", no_wrap=True)
    table.add_column("ended by")
    table.add_column("tasks/h there [95 %]", no_wrap=True)
    for title, shown in (
        ("servers", loaded),
        ("with spare", loaded),
        ("cost/task", priced),
        ("with all servers", priced and loaded),
    ):
        if shown:
            table.add_column(title, justify="right", no_wrap=True)
    for entry in part["variants"]:
        table.add_row(
            Text(entry["variant"]),
            NOT_MEASURED if entry["slots"] is None else str(entry["slots"]),
            largest_text(entry),
            Text(ended_text(entry)),
            Text(bounded(entry["tasks_per_hour"])),
            *(_servers(entry["servers"]) if loaded else ()),
            *([significant(of(entry["cost"]["all"]))] if priced else ()),
            *([significant(of(entry["cost_of_load"]["all"]))] if priced and loaded else ()),
        )
    return table


def largest_text(entry: dict[str, Any]) -> Text:
    """The largest N with its interval, such as `11 [9, 14]`, an open end as `…`."""
    found = entry["largest"]
    if found["value"] is None:
        none = "none" if found["ends"] == "below" else NOT_MEASURED
        text = Text(none if found["high"] is None else f"{none} [{NOT_MEASURED}, {found['high']}]")
    else:
        low = NOT_MEASURED if found["low"] is None else str(found["low"])
        high = _OPEN if found["high"] is None else str(found["high"])
        text = Text(f"{found['value']} [{low}, {high}]")
    return text.append(f" {EXTRAPOLATED}", style=_RED) if found["extrapolated"] else text


def ended_text(entry: dict[str, Any]) -> str:
    """What ends the agents of a variant: the limit that is missed, or how far was measured."""
    found, slots = entry["largest"], entry["slots"]
    match found["ends"]:
        case "limit":
            return str(found["binds"])
        case "below":
            return f"{found['binds']}, missed at {agents(found['at'])} already"
        case "measured":
            busy = f", {'all' if found['value'] == slots else 'more than'} its {slots} slots"
            return f"nothing up to here{busy if slots is not None and found['value'] >= slots else ''}"
        case _ if found["at"] is None:
            return "nothing is said of it"
        case _ if found["binds"] == TRIALS:
            return f"at {agents(found['at'])} {found['reason']}"
        case _:
            return f"can't be told at {agents(found['at'])}: {found['binds']}"


def bounded(estimate: dict[str, Any]) -> str:
    """A value with its interval."""
    value, low, high = of(estimate), estimate["low"], estimate["high"]
    if value is None:
        return NOT_MEASURED
    if low is None or high is None:
        return f"{significant(value)} [{NOT_MEASURED}]"
    return f"{significant(value)} [{significant(low)}, {significant(high)}]"


def _servers(found: dict[str, Any]) -> list[str]:
    return [
        range_text(found["fewest"], found["most"]),
        NOT_MEASURED if found["total"] is None else f"{found['total']:,}",
    ]
