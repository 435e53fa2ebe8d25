"""The section on the operating point: what to run for so many agents, and how the service level objective is kept."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.decision.objective_text import percent
from loadgen.report.lines import print_hanging
from loadgen.report.numbers import NOT_MEASURED, agents, of, seconds, significant

_TITLES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "step_gap_s": "step gap", "request_s": "request", "task_s": "task"}
_MEETS_STYLES = {"yes": "bold green", "no": "bold red", "unresolved": "yellow"}
_ESTIMATED = "~"
"""Before what is estimated, not measured."""


def print_decision(summary: dict[str, Any], console: Console) -> None:
    """Print what to run at the operating point, then goodput by variant and concurrency.

    Reads `operating_point` and `goodput` of the summary; nothing where neither an operating point nor an objective was
    asked for.
    """
    point, entries = summary.get("operating_point"), summary.get("goodput") or []
    if point is not None:
        console.print()
        console.print(Text(f"At {agents(point['agents'])}{deep(point.get(ASKED))}: {_kept(point)}", style="bold"))
        for line in decision_lines(point):
            print_hanging(console, "  ", line)
    for title, own in objectives(entries):
        console.print()
        console.print(Text(f"{title}{deep(own[0].get(ASKED))}: {objective_text(own[0])}", style="bold"))
        console.print(goodput_table(own))
        for line in goodput_notes(own):
            print_hanging(console, "  ", line)


def objectives(entries: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """What is judged together, with its title: everything, or of a mix each class that has a limit."""
    names = dict.fromkeys(one["work_class"] for entry in entries for one in entry.get("classes", ()))
    if not names:
        return [("Objective", list(entries))] if entries and entries[0]["limits"] else []
    return [
        (
            f"Objective of {name}",
            [
                {**one, "variant": entry["variant"], "concurrency": entry["concurrency"]}
                for entry in entries
                for one in entry.get("classes", ())
                if one["work_class"] == name
            ],
        )
        for name in names
    ]


def decision_lines(point: dict[str, Any]) -> list[str]:
    """The answer in one line, then the paragraph."""
    return [f"{point['answer'][0].upper()}{point['answer'][1:]}.", point["text"]]


def objective_text(entry: dict[str, Any]) -> str:
    """What was asked for: `TTFT 2.00 s, TPOT 80.0 ms; by 95 % of all attempts`."""
    limits = ", ".join(f"{_TITLES[one['limit']]} {seconds(one['asked_s'])}" for one in entry["limits"])
    return f"{limits}; by {percent(entry['attainment_asked'])} of all attempts"


def goodput_table(entries: Sequence[dict[str, Any]]) -> Table:
    """One row a cell: good requests and tasks per hour, the share that is good, and that of every limit."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    limits = [one["limit"] for one in entries[0]["limits"]]
    table.add_column("agents", justify="right", no_wrap=True)
    table.add_column("variant", no_wrap=True)
    for title in ("good req/h", "good [95 %]", *(_TITLES[name] for name in limits), "good tasks/h", "good tasks"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("meets it", no_wrap=True)
    table.add_column("binds", no_wrap=True)
    previous = None
    for entry in entries:
        level = entry["concurrency"]
        if previous is not None and level != previous:
            table.add_section()
        shown = str(level) if level != previous else ""
        table.add_row(shown, Text(entry["variant"]), *map(Text, _values(entry)), _meets(entry), _binds(entry))
        previous = level
    return table


def goodput_notes(entries: Sequence[dict[str, Any]]) -> list[str]:
    """What the table's figures rest on; only what applies."""
    notes = []
    if any(one["unmeasured"] for entry in entries for one in entry["limits"]):
        notes.append("a request that ended well and has no such time (one token, or all at once) keeps the limit")
    if any(entry["tasks"]["attempted"] for entry in entries):
        notes.append("tasks: those that began and ended in a trial, which favours short ones")
    if any(one["by"] == "estimated" for entry in entries for one in entry["limits"]):
        notes.append(f"{_ESTIMATED} no task was seen whole; the mean that its turns give lies above the limit")
    return notes


def _kept(point: dict[str, Any]) -> str:
    return "open" if point["keep"] is None else f"run {point['keep']}"


def _values(entry: dict[str, Any]) -> list[str]:
    return [
        significant(of(entry["requests"]["per_hour"])),
        _share(entry["requests"]["attainment"], entry["attainment_asked"]),
        *(_limit(one, entry) for one in entry["limits"]),
        significant(of(entry["tasks"]["per_hour"])),
        _of(entry["tasks"]),
    ]


def _share(estimate: dict[str, Any], asked: float) -> str:
    """A share with its interval, on the right side of the share asked for."""
    value = of(estimate)
    if value is None:
        return NOT_MEASURED
    if estimate["low"] is None or estimate["high"] is None:
        return percent(value, asked)
    return f"{percent(value, asked)} [{percent(estimate['low'], asked)}, {percent(estimate['high'], asked)}]"


def _limit(limit: dict[str, Any], entry: dict[str, Any]) -> str:
    """The share that kept one limit; of tasks that nobody saw whole, the mean time that is estimated."""
    if limit["by"] == "estimated":
        return f"{_ESTIMATED}{seconds(of(entry['task_s_estimated']))}"
    value = of(limit["attainment"])
    return NOT_MEASURED if value is None else percent(value, entry["attainment_asked"])


def _of(tasks: dict[str, Any]) -> str:
    return f"{tasks['good']}/{tasks['attempted']}" if tasks["attempted"] else NOT_MEASURED


def _meets(entry: dict[str, Any]) -> Text:
    meets = entry["meets"]
    return Text(NOT_MEASURED if meets is None else str(meets), style=_MEETS_STYLES.get(str(meets), ""))


def _binds(entry: dict[str, Any]) -> Text:
    return Text("" if entry["binds"] is None else _TITLES.get(entry["binds"], entry["binds"]))
