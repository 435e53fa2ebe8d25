"""Who decides, while a run goes on, what is still worth measuring: the seam between analysis and replay.

The replay asks a policy after preset rounds; the command line makes one out of the analysis of the run folder. Neither
of the two knows the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from loadgen.cell_key import CellKey


@dataclass(frozen=True)
class Decision:
    """What a look at the results says.

    `open` are the cells that later rounds still measure, without the baseline, which is measured
    wherever another variant is: empty ends the run. Null: everything goes on. `note` is a sentence for the user.
    """

    open: frozenset[CellKey] | None
    note: str


class StopPolicy(Protocol):
    """Looks at the results so far, after rounds that were fixed before the first one."""

    def looks(self, rounds: int) -> Sequence[int]:
        """After which of so many planned rounds to look, ascending; the last round is no look."""
        ...

    def after(self, round_: int) -> Decision:
        """What the facts in the run folder say once round `round_` has ended."""
        ...
