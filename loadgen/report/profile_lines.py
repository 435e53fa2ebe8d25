"""One profile on a terminal: what it is, and every number with its source."""

from collections.abc import Mapping
from typing import Protocol

from rich.console import Console
from rich.text import Text

from loadgen.report.lines import print_hanging

__all__ = ["print_profile"]

_NARROWEST = 14
"""Characters for the names of parameters, at least."""


class _Profile(Protocol):
    """What is shown of a profile (`loadgen.workload.profile`, which reports don't know)."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def caution(self) -> str | None: ...
    @property
    def min_context(self) -> int: ...
    @property
    def pool(self) -> int: ...
    @property
    def history(self) -> str: ...
    @property
    def context_full(self) -> str: ...
    @property
    def tools(self) -> int: ...
    @property
    def assumed(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def all_sources(self) -> Mapping[str, str]: ...


def print_profile(profile: _Profile, written: Mapping[str, str]) -> None:
    """The profile, and of each parameter what its file says (`written`) and the source, or `assumed`."""
    console = Console(highlight=False)
    console.print(Text.assemble((profile.name, "bold"), f": {profile.description}"))
    console.print(
        f"context a slot: {profile.min_context:,} tokens at least; a session that outgrows it: {profile.context_full}; "
        f"history {profile.history}; {profile.pool} sessions"
        + (f"; {profile.tools} tool{'s' if profile.tools > 1 else ''}" if profile.tools else "")
    )
    if profile.caution is not None:
        console.print(Text(f"caution: {profile.caution}", style="yellow"))
    console.print(f"assumed: {len(profile.assumed)} of {len(profile.parameters)} parameters\n")
    width = max(_NARROWEST, *map(len, written))
    for parameter, value in written.items():
        print_hanging(console, f"{parameter:<{width}} ", value)
        print_hanging(console, " " * (width + 1), profile.all_sources.get(parameter, "assumed"))
