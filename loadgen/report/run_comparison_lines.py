"""Two runs held against each other, on a terminal: a row a cell, what it says, and what it can't say."""

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.analysis.wording import change, factor, interval
from loadgen.report.lines import print_hanging, print_named
from loadgen.report.numbers import NOT_MEASURED, agents, of, ratio_with_interval, significant

_STYLES = {"faster": "bold green", "slower": "bold red", "same": "bold", "unresolved": "yellow"}
_METRICS = {"median_ttft_s": "median TTFT", "median_tpot_s": "median TPOT", "output_tokens_per_s": "output tokens/s"}
_COLUMNS = ("agents", "variant", "A tasks/h", "B tasks/h", "B ÷ A [95 %]", "rounds", "call")
_LEFT = ("variant", "B ÷ A [95 %]", "call")
_DIGEST = re.compile("[0-9a-f]{64}")
_SHOWN = 12
"""Characters of a digest: enough to tell two apart."""

UNPAIRED = (
    "A and B were measured in two sittings, and their rounds are not paired: whatever changed on the machine in "
    "between (heat, clocks, drivers, other load) is part of every ratio, and no interval covers it."
)
NO_EVIDENCE = (
    "Two sittings of the same thing differ too: a difference smaller than theirs is no evidence. See how much with "
    "loadgen rerun, or measure both in one sitting with loadgen gate or loadgen ab."
)


def print_run_comparison(document: dict[str, Any], console: Console) -> None:
    """Print the document of a comparison. Text from runs is printed as it is, never as markup."""
    for name in ("a", "b"):
        print_named(console, name.upper(), run_text(document[name]))
    console.print()
    console.print(_table(document))
    for title, lines in (
        ("What it says", says_lines(document)),
        ("Described, not called (B ÷ A)", described_lines(document)),
        ("Not compared", not_compared_lines(document)),
        ("What differs", difference_lines(document)),
        ("Mind", mind_lines(document)),
    ):
        _print_list(title, lines, console)


def run_text(entry: dict[str, Any]) -> str:
    """One run in a line."""
    ended = "complete" if entry["complete"] else f"incomplete ({entry['ended'] or 'its process was killed'})"
    text = (
        f"{entry['id']}, {entry['workload']}, started {entry['started_at']}, loadgen {entry['tool_version']}: {ended}"
    )
    return f"{text}; a rerun of {entry['rerun_of']}" if entry["rerun_of"] is not None else text


def says_lines(document: dict[str, Any]) -> list[str]:
    """One sentence a cell; its interval never disagrees with its call."""
    family = sum(one["p_value"] is not None for one in document["comparisons"])
    return [_sentence(one, family) for one in document["comparisons"]]


def described_lines(document: dict[str, Any]) -> list[str]:
    """One line a cell with the other quantities, and the difference between the speed-ups of both runs."""
    by_cell: dict[str, list[str]] = {}
    for one in document["described"]:
        if of(one["ratio"]) is not None:
            text = f"{_METRICS[one['metric']]} {ratio_with_interval(one['ratio'])}"
            by_cell.setdefault(_place(one), []).append(text)
    lines = [f"{place}: {', '.join(texts)}" for place, texts in by_cell.items()]
    return lines + [
        f"{_place(one)}: speed-up over the baseline of its own run "
        f"{ratio_with_interval(one['ratio'])}; what changed for both in between is not part of that"
        for one in document["speedups"]
        if of(one["ratio"]) is not None
    ]


def not_compared_lines(document: dict[str, Any]) -> list[str]:
    """The cells left out, with the reason."""
    return [
        f"{one['run'].upper()}: {one['variant']} at {agents(one['concurrency'])}{deep(one.get(ASKED))}, {one['reason']}"
        for one in document["not_compared"]
    ]


def difference_lines(document: dict[str, Any]) -> list[str]:
    """How the runs differ beside what they measured: A's value, then B's. Variants that differ alike share a line."""
    lines: dict[str, list[str]] = {}
    for one in document["differences"]:
        meant = " (allowed)" if one["voids"] and one["allowed"] else ""
        lines.setdefault(f"{_difference(one)}{meant}", []).append(one["variant"] or "")
    return [f"{', '.join(filter(None, names))}: {text}" if any(names) else text for text, names in lines.items()]


def _difference(one: dict[str, Any]) -> str:
    """A field with both values; of an object only the names that differ."""
    name, ours, theirs = one["field"].replace("_", " "), one["a"], one["b"]
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return f"{name} {_value(ours)} → {_value(theirs)}"
    keys = [key for key in sorted({*ours, *theirs}) if ours.get(key) != theirs.get(key)]
    inner = (f"{key.replace('_', ' ')} {_value(ours.get(key))} → {_value(theirs.get(key))}" for key in keys)
    return f"{name} {', '.join(inner)}"


def _value(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(_value, value)) or "none"
    if isinstance(value, dict):
        return " ".join(_value(item) for item in value.values() if item is not None) or "none"
    if isinstance(value, str) and _DIGEST.fullmatch(value):
        return value[:_SHOWN]
    return f"{value:,}" if isinstance(value, int) else str(value)


def mind_lines(document: dict[str, Any]) -> list[str]:
    """What an unpaired comparison doesn't take out, and what else weakens this one."""
    cut = [name.upper() for name in ("a", "b") if not document[name]["complete"]]
    lines = [UNPAIRED, NO_EVIDENCE, *(f"{name} is incomplete: the rounds that it has are compared." for name in cut)]
    fields = {one["field"] for one in document["differences"]}
    if "seed" in fields:
        lines.append("The seeds differ: other sessions were drawn, so that the work varies as well.")
    if "trial_length" in fields:
        lines.append("Trials differ in length: the shorter ones vary more, and hold other turns of the sessions.")
    if document["b"]["random_weights"] or document["a"]["random_weights"]:
        lines.append("Weights are random in a run: how a real model does is not answered.")
    return lines


def _sentence(one: dict[str, Any], family: int) -> str:
    place, value = _place(one), of(one["ratio"])
    if one["not_comparable"]:
        return f"{place}: not comparable: {'; '.join(why['text'] for why in one['not_comparable'])}."
    if value is None:
        return f"{place}: nothing can be said, for a run has no valid trial."
    rounds = f"{one['n_a']} and {one['n_b']} rounds"
    if one["p_value"] is None:
        return (
            f"{place}: B did {factor(value)} times the tasks per hour of A ({rounds}, no interval below 3): unresolved."
        )
    said = f"{place}: B did {factor(value)} times the tasks per hour of A"
    if one["call"] == "same":
        bounds = interval(one["same_low"], one["same_high"])
        return f"{said} (90 % interval {bounds}, {rounds}): the same within {one['min_effect']:.0%}."
    low, high = one["ratio"]["low"], one["ratio"]["high"]
    bounds = f"95 % interval {interval(low, high)}"
    if one["call"] == "unresolved" and (low > 1 or high < 1):
        # The pointwise interval would contradict the call, which weighs all cells at once.
        bounds = f"interval {interval(one['sim_low'], one['sim_high'])} with all {family} cells at 95 % together"
    moved = f", {change(value)}" if one["call"] in ("faster", "slower") else ""
    return f"{said} ({bounds}, {rounds}): {one['call']}{moved}."


def _table(document: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in _LEFT else "right", no_wrap=True)
    cells = {
        (name, cell["variant"], cell["concurrency"], cell.get(ASKED)): of(cell["tasks_per_hour"])
        for name in ("a", "b")
        for cell in document[name]["cells"]
    }
    for one in document["comparisons"]:
        level, depth = one["concurrency"], one[ASKED]
        table.add_row(
            f"{level}{deep(depth)}",
            Text(_names(one["variant"], one["variant_b"])),
            significant(cells["a", one["variant"], level, depth]),
            significant(cells["b", one["variant_b"], level, depth]),
            Text(ratio_with_interval(one["ratio"])),
            f"{one['n_a']}, {one['n_b']}",
            Text(one["call"] or "not comparable", style=_STYLES.get(one["call"], "bold red")),
        )
    if not document["comparisons"]:
        table.add_row(*[NOT_MEASURED] * len(_COLUMNS))
    return table


def _names(name: str, other: str) -> str:
    return name if name == other else f"{name} → {other}"


def _place(one: dict[str, Any]) -> str:
    return f"{_names(one['variant'], one['variant_b'])} at {agents(one['concurrency'])}{deep(one.get(ASKED))}"


def _print_list(title: str, lines: Sequence[str], console: Console) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold"))
    for line in lines:
        print_hanging(console, "  - ", line)
