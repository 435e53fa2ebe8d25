"""What a verdict rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The parts of a summary that its sentences are made of; lists of mappings are in the form of the summary."""

    baseline: str
    variants: Sequence[str]
    comparisons: Sequence[Comparison] = ()
    crossovers: Sequence[Mapping[str, Any]] = ()
    latencies: Sequence[Mapping[str, Any]] = ()
    """Other quantities than the headline, in ratio to the baseline."""
    cells: Sequence[Mapping[str, Any]] = ()
    memory: Sequence[Mapping[str, Any]] = ()
    noise: Sequence[Mapping[str, Any]] = ()
    output_check: Sequence[Mapping[str, Any]] = ()
    check_asked: bool = False
    """Whether the experiment asked for an output check."""
    given_up: Sequence[Mapping[str, Any]] = ()
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)
    random_weights: bool = False
    aa: bool = False
    """Both variants are the same."""

    @property
    def failed(self) -> dict[str, Sequence[str]]:
        """The variants whose output check failed, with the reasons."""
        return {entry["variant"]: entry["reasons"] for entry in self.output_check if entry["result"] == "failed"}

    @property
    def void(self) -> set[str]:
        """The variants of whose speed nothing may be said: their output check failed, or the baseline's did."""
        return set(self.variants) if self.baseline in self.failed else set(self.failed)

    @property
    def unsafe(self) -> set[str]:
        """The variants that leave less memory than was asked for: never kept, whatever their speed."""
        return {entry["variant"] for entry in self.memory if entry["safety"] == "unsafe"}

    @property
    def standing(self) -> list[Comparison]:
        """The comparisons that aren't void."""
        return [c for c in self.comparisons if c.variant not in self.void]
