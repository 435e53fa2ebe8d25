"""One tool of an agent, as the catalogues describe it."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Parameter", "Tool", "ToolKind"]

ToolKind = Literal["coding", "research", "service"]
"""The kind of agent: whose catalogue its tools come from."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool: its JSON type, what it is for, and values that calls of it have."""

    name: str
    type: Literal["string", "integer", "boolean", "array"]
    description: str
    examples: tuple[str | int | bool | tuple[str, ...], ...]
    required: bool = True


@dataclass(frozen=True)
class Tool:
    """One tool; `prints` are the kinds of text (`loadgen.workload.corpus`) that come back from it."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    prints: tuple[str, ...] = ()
