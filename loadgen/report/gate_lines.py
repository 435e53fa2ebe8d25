"""The gate of a run: each criterion with its figure, interval, limit and result."""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from loadgen.analysis.at_depth import ASKED, deep
from loadgen.report.lines import print_hanging
from loadgen.report.numbers import NOT_MEASURED, agents, mebibytes, seconds, share, significant

_TITLES = {"pass": ("Gate: passed", "bold green"), "fail": ("Gate: failed", "bold red")}
_UNKNOWN = ("Gate: can't tell", "bold yellow")
_RESULTS = {"pass": "passed", "fail": "failed", "unknown": "can't tell"}
_ASKED = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


def _ratio(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.3f}"


_NUMBERS: Mapping[str, Callable[[float | None], str]] = {
    "ratio": _ratio,
    "share": share,
    "seconds": seconds,
    "bytes": mebibytes,
    "number": significant,
}


def print_gate(gate: dict[str, Any], console: Console) -> None:
    """Print the section: the result, one line a criterion and concurrency, and how they were judged."""
    title, style = _TITLES.get(gate["result"], _UNKNOWN)
    console.print()
    console.print(Text(title, style=style))
    for line in gate_lines(gate):
        print_hanging(console, "  - ", line)
    for line in method_lines(gate):
        print_hanging(console, "  ", line)


def gate_lines(gate: dict[str, Any]) -> list[str]:
    """One line a criterion and concurrency."""
    return [criterion_text(one) for one in gate["criteria"]]


def criterion_text(one: dict[str, Any]) -> str:
    """A criterion in words, such as `new at 4 agents: speedup 0.912 [0.880, 0.944], at least 0.970: failed.`."""
    place = one["variant"]
    if one["concurrency"] is not None:
        place += f" at {agents(one['concurrency'])}{deep(one.get(ASKED))}"
    show = _NUMBERS[one["unit"]]
    text = f"{place}: {one['metric']} {_figure(one, show)}, {_ASKED[one['op']]} {show(one['limit'])}: "
    text += _RESULTS[one["result"]]
    if one["result"] != "unknown":
        return f"{text}."
    why = f" ({one['reason']})" if one["reason"] is not None else ""
    return f"{text}{why}{_more(one)}."


def method_lines(gate: dict[str, Any]) -> list[str]:
    """How the criteria were judged; only what applies."""
    kinds = [one["kind"] for one in gate["criteria"]]
    out = []
    if "non_inferiority" in kinds:
        levels = sum(one["kind"] == "non_inferiority" and one["low"] is not None for one in gate["criteria"])
        together = "" if levels <= 1 else f", the upper one for all {levels} together"
        out.append(
            f"The bounds of speedup>={gate['at_least']:g} hold one-sided at 95 %{together}: a wrong pass has a chance "
            "of 5 % at most, and so has a wrong failure."
        )
    thresholds = kinds.count("threshold")
    if thresholds:
        alone = "" if thresholds == 1 else f" Each of the {thresholds} is judged alone."
        out.append(
            f"A threshold passes where its whole interval keeps the limit, and fails where none of it does.{alone}"
        )
    return out


def _figure(one: dict[str, Any], show: Callable[[float | None], str]) -> str:
    if one["value"] is None:
        return NOT_MEASURED
    value = _beside(one["value"], one["limit"], show)
    if one["seen"]:
        return value
    if one["low"] is None and one["high"] is None:
        return f"{value} [{NOT_MEASURED}]"
    low, high = (NOT_MEASURED if end is None else _beside(end, one["limit"], show) for end in (one["low"], one["high"]))
    return f"{value} [{low}, {high}]"


def _beside(value: float, limit: float, show: Callable[[float | None], str]) -> str:
    """A value whose text doesn't hide on which side of the limit it lies."""
    text = show(value)
    if value == limit or text != show(limit):
        return text
    return f"just {'above' if value > limit else 'below'} {text}"


def _more(one: dict[str, Any]) -> str:
    rounds = one["more_rounds"]
    if rounds is None:
        return "" if one["reason"] is not None else "; more than 999 more rounds would be needed to tell"
    return f"; about {rounds} more round{'' if rounds == 1 else 's'} would tell"
