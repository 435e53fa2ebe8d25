"""Lines that wrap at words and hang under their label."""

from rich.console import Console
from rich.text import Text

_NARROWEST = 20
"""Below this many columns text is cut rather than wrapped to single words."""


def print_hanging(console: Console, label: str, text: str, *, style: str = "") -> None:
    """Print `text` behind `label`; what doesn't fit in the line goes on below the first word. Nothing is markup."""
    room = max(console.width - len(label) - 1, _NARROWEST)
    for number, part in enumerate(Text(text).wrap(console, room)):
        part.rstrip()
        console.print(Text.assemble((label if number == 0 else " " * len(label), style), part), no_wrap=True)


def print_named(console: Console, name: str, text: str) -> None:
    """Print a line of the heading: its name in bold, the text behind it."""
    print_hanging(console, f"{name:<9}", text, style="bold")
