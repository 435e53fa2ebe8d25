"""Memory in sentences: what is unsafe, what keeps growing, and what can't be told."""

from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.wording import count
from loadgen.units import bytes_to_mib

Entries = Sequence[Mapping[str, Any]]


def unsafe(memory: Entries) -> list[str]:
    """The variants that leave less than was asked for; their speed doesn't matter then."""
    out = []
    for entry in memory:
        if entry["safety"] == "unsafe":
            left, asked = _mib(entry["margin_bytes"]), _mib(entry["margin_asked_bytes"])
            where = f"; {entry['safety_reason']}" if entry["safety_reason"] is not None else ""
            out.append(
                f"{entry['variant']} is unsafe in memory, whatever its speed: {left} of {_mib(entry['budget_bytes'])} "
                f"are left at its peak, and {asked} were asked for{where}."
            )
    return out


def growing(memory: Entries) -> list[str]:
    """The variants whose memory leaks."""
    out = []
    for entry in memory:
        if entry["leak"]:
            rate = entry["growth_bytes_per_hour"]
            less = f" beyond its {entry['growth_less']}" if entry["growth_less"] is not None else ""
            out.append(
                f"Memory of {entry['variant']} keeps growing{less}, by {_mib(rate['value'])} an hour (95 % interval "
                f"{_mib(rate['low'])} to {_mib(rate['high'])}): it leaks."
            )
    return out


def unanswered(memory: Entries) -> list[str]:
    """What memory leaves open: whether it suffices, and whether it goes on growing."""
    unknown: dict[str, list[str]] = {}
    for entry in memory:
        if entry["safety"] == "unknown":
            unknown.setdefault(entry["safety_reason"], []).append(entry["variant"])
    out = [f"Whether memory suffices{_of(names, memory)}: {reason}." for reason, names in unknown.items()]
    short = [entry for entry in memory if entry["leak"] is None and entry["watched_s"] is not None]
    if short:
        names = [entry["variant"] for entry in short]
        longest = max(entry["watched_s"] for entry in short)
        out.append(
            f"Whether memory keeps growing{_of(names, memory)}: {count(longest)} s of a server at work are too short, "
            "or too unsteady, to tell."
        )
    return out


def _of(names: Sequence[str], memory: Entries) -> str:
    return "" if len(names) == len(memory) else f" for {', '.join(names)}"


def _mib(size: float) -> str:
    return f"{'−' if size < 0 else ''}{bytes_to_mib(abs(size)):,.0f} MiB"
