"""What a verdict rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loadgen.analysis.at_depth import of_depth
from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The parts of a summary that its sentences are made of; lists of mappings are in the form of the summary.

    Of all fixed depths, where a run has them: what is of one says so.
    """

    baseline: str
    variants: Sequence[str]
    comparisons: Sequence[Comparison] = ()
    crossovers: Sequence[Mapping[str, Any]] = ()
    latencies: Sequence[Mapping[str, Any]] = ()
    """Other quantities than the headline, in ratio to the baseline."""
    cells: Sequence[Mapping[str, Any]] = ()
    class_comparisons: Sequence[Mapping[str, Any]] = ()
    """What variants do for each class of a mix, in ratio to the baseline."""
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

    def at(self, depth: int | None) -> "Evidence":
        """What of it is of one depth (null: of none), and what is of the whole run."""
        return replace(
            self,
            comparisons=[c for c in self.comparisons if c.depth == depth],
            crossovers=of_depth(self.crossovers, depth),
            latencies=of_depth(self.latencies, depth),
            cells=of_depth(self.cells, depth),
            noise=of_depth(self.noise, depth),
        )

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
        """The comparisons that aren't void and that can be made."""
        return [c for c in self.comparisons if c.variant not in self.void and not c.refusals]

    @property
    def refused(self) -> list[Comparison]:
        """The comparisons that can't be made, because the two did other work; those that are void left out."""
        return [c for c in self.comparisons if c.variant not in self.void and c.refusals]
