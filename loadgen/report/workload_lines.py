"""Workloads on a terminal: lists of profiles and formats, and what a file of sessions is like."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from loadgen.report.lines import print_hanging
from loadgen.report.numbers import NOT_MEASURED, seconds, share, significant

_PERCENTS = ("p25", "p50", "p75", "p95", "max")
_TOKENS = {
    "turns_per_session": "turns a session",
    "prompt_tokens": "prompt tokens a turn",
    "added_tokens": "new of them",
    "output_tokens": "output tokens a turn",
    "first_prompt_tokens": "first prompt",
    "deepest_tokens": "deepest turn, answer included",
}


def print_profiles(profiles: Iterable[tuple[str, int, int, int, str]], footnote: str) -> None:
    """Name, context, parameters that are assumed and in all, and description of each profile; the note below them."""
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("workload", no_wrap=True)
    table.add_column("context a slot", justify="right")
    table.add_column("assumed", justify="right")
    table.add_column("what it imitates")
    for name, context, assumed, parameters, description in profiles:
        table.add_row(name, f"{context:,}", f"{assumed} of {parameters}", Text(description))
    console.print(table)
    print_hanging(console, "", footnote)


def print_formats(formats: Iterable[tuple[str, str, bool, str]]) -> None:
    """Name, status, whether it carries text, and title of each format of recorded sessions."""
    console = Console(highlight=False)
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("format", "status", "carries", "written by"):
        table.add_column(column)
    for name, status, text, title in formats:
        table.add_row(name, status, "text" if text else "lengths only", Text(title))
    console.print(table)
    print_hanging(console, "", "unverified: tried with rows of our own making alone, after the published schema")


def print_stats(name: str, figures: Mapping[str, Any], notes: Iterable[str] = ()) -> None:
    """The figures of `session_stats.describe`, and what is to be known of them."""
    console = Console(highlight=False)
    console.print(Text(name, style="bold"))
    counted = (
        "as the file says"
        if figures["tokens"] == "counted"
        else (f"estimated, at {figures['chars_per_token']:g} characters a token")
    )
    subs = f", {figures['sub_agents']} sub-agents" if figures["sub_agents"] else ""
    print_hanging(console, "", f"{figures['sessions']:,} sessions, {figures['turns']:,} turns{subs}; tokens {counted}")
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for column in ("mean", *_PERCENTS):
        table.add_column(column, justify="right")
    for key, title in _TOKENS.items():
        table.add_row(title, *(significant(figures[key][column]) for column in ("mean", *_PERCENTS)))
    for kind, spread in figures["waits_s"].items():
        table.add_row(f"wait ({kind})", *(seconds(spread[column]) for column in ("mean", *_PERCENTS)))
    copies = figures["copy_rate"]
    table.add_row("copied 8-grams an answer", *(share(copies["by_turn"][column]) for column in ("mean", *_PERCENTS)))
    console.print(table)
    console.print()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in figures["kinds"].items())
    print_hanging(console, "answers: ", kinds)
    print_hanging(
        console,
        "copies: ",
        f"{share(copies['overall'])} of all 8-grams (words and marks) of answers stand earlier in their session",
    )
    print_hanging(
        console, "reuse: ", f"{share(figures['prefix_reuse'])} of prompt tokens stood in the prompt or answer before"
    )
    fits = ", ".join(
        f"{int(context) // 1024}k {count}" for context, count in figures["fits"].items() if figures["sessions"]
    )
    print_hanging(console, "fits: ", f"sessions whole within a context of {fits or NOT_MEASURED}")
    for note in notes:
        print_hanging(console, "note: ", note)
