"""What the decision for a number of agents rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadgen.analysis.diagnostic import Diagnostic
from loadgen.analysis.estimators.comparison import Comparison

Entry = Mapping[str, Any]
"""One entry of a list of the summary, in its form."""


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """The parts of a summary that say what to run at `agents`, of all levels: other levels give advice too."""

    agents: int
    baseline: str
    variants: Sequence[str]
    comparisons: Sequence[Comparison] = ()
    crossovers: Sequence[Entry] = ()
    latencies: Sequence[Entry] = ()
    """`latency_comparisons`."""
    cells: Sequence[Entry] = ()
    class_comparisons: Sequence[Entry] = ()
    """What variants do for each class of a mix, in ratio to the baseline: by themselves, not corrected."""
    memory: Sequence[Entry] = ()
    output_check: Sequence[Entry] = ()
    check_asked: bool = False
    """Whether the experiment asked for an output check."""
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)
    goodput: Sequence[Entry] = ()
    """See `goodput`; none where no objective was asked for."""
    equal_memory: Sequence[Entry] = ()
    """Speculation against no speculation with the slots that its memory would buy: `speedup` is of the first to the
    second, `by` says whether it was measured or predicted, `other_variant` names a variant that ran with the slots, and
    `other_concurrency` how many agents it had (not there: as many)."""
    dropped_levels: Sequence[int] = ()
    """Levels that the time budget left out."""
    depth: int | None = None
    """The fixed depth that all of it is of; null in a run without them."""

    @property
    def candidates(self) -> list[str]:
        """The variants that may be kept in the place of the baseline: diagnostics never are."""
        return [name for name in self.variants if name != self.baseline and name not in self.diagnostics]

    @property
    def failed(self) -> dict[str, Sequence[str]]:
        """The variants whose output check failed, with the reasons."""
        return {entry["variant"]: entry["reasons"] for entry in self.output_check if entry["result"] == "failed"}

    @property
    def levels(self) -> list[int]:
        """The levels at which anything was tried."""
        tried = {entry["concurrency"] for entry in self.cells} | {one.level for one in self.comparisons}
        return sorted(tried)

    @property
    def family(self) -> int:
        """How many comparisons are tested together."""
        return sum(one.p_value is not None for one in self.comparisons)

    def comparison(self, variant: str, level: int | None = None) -> Comparison | None:
        """Of a variant with the baseline, at `agents` or another level; null where no round has a valid pair."""
        where = self.agents if level is None else level
        return next((c for c in self.comparisons if c.variant == variant and c.level == where and c.rounds), None)

    def memory_of(self, variant: str) -> Entry | None:
        """The memory entry of a variant."""
        return next((entry for entry in self.memory if entry["variant"] == variant), None)

    def safety(self, variant: str) -> str:
        """`safe`, `unsafe` or `unknown`: what nobody looked at is unknown."""
        entry = self.memory_of(variant)
        return "unknown" if entry is None else str(entry["safety"])

    def goodput_of(self, variant: str, level: int | None = None) -> Entry | None:
        """Goodput and attainment of a variant, at `agents` or another level."""
        return _at(self.goodput, variant, self.agents if level is None else level)

    def cell(self, variant: str) -> Entry | None:
        """The cell of a variant at `agents`."""
        return _at(self.cells, variant, self.agents)

    def latency(self, variant: str, level: int, metric: str) -> Entry | None:
        """The ratio of a variant's median latency to the baseline's; null where there is none that can be told."""
        found = _at([entry for entry in self.latencies if entry["metric"] == metric], variant, level)
        if found is None or found.get("not_comparable"):
            return None
        return found["ratio"] if found["ratio"]["value"] is not None else None

    def classes_of(self, variant: str, level: int | None = None) -> list[Entry]:
        """What a variant does for each class of a mix, at `agents` or another level."""
        where = self.agents if level is None else level
        return [one for one in self.class_comparisons if one["variant"] == variant and one["concurrency"] == where]

    def equal_memory_of(self, variant: str) -> Entry | None:
        """The equal-memory question about a variant at `agents`."""
        return _at(self.equal_memory, variant, self.agents)


def _at(entries: Sequence[Entry], variant: str, level: int) -> Entry | None:
    return next((one for one in entries if one["variant"] == variant and one["concurrency"] == level), None)
