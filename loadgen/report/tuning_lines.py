"""A tuning run in the report: how the race went, and the command line that came out of it."""

from typing import Any

from loadgen.analysis.sequential.tuning_text import raced


def tuning_lines(summary: dict[str, Any]) -> list[str]:
    """How the race went, line by line; nothing for a run that tunes nothing."""
    entry = summary.get("tuning")
    return [] if entry is None else raced(entry)


def command_line(summary: dict[str, Any]) -> str | None:
    """The command line to paste, to be printed in one piece; null where none came out."""
    entry = summary.get("tuning")
    return None if entry is None else entry["command"]
