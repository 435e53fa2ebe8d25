"""What looks at the results closed while a run went on, as its journal has it, and what is measured after them."""

from collections.abc import Collection, Iterable

from loadgen.cell_key import CellKey
from loadgen.records.manifest import JournalEntry, Look, PlannedTrial


def looks_taken(journal: Iterable[JournalEntry]) -> list[Look]:
    """The looks of a run in their order."""
    return [entry.look for entry in journal if entry.look is not None]


def closed_cells(journal: Iterable[JournalEntry]) -> dict[CellKey, int]:
    """The cells that looks closed, with the round after which they did."""
    return {cell: look.round for look in looks_taken(journal) for cell in look.closed}


def compared_cells(planned: Iterable[PlannedTrial], baseline: str) -> set[CellKey]:
    """The cells that a plan compares with the baseline."""
    return {one.cell for one in planned if not one.drift and one.variant != baseline}


def measured_cells(
    planned: Collection[PlannedTrial], baseline: str, closed: Collection[CellKey], out: Collection[str] = ()
) -> set[CellKey]:
    """The cells of a plan that are still measured: none of `closed` and no variant that is `out`.

    The baseline is measured wherever another variant is, and everywhere where nothing is compared with it.
    """
    compared = compared_cells(planned, baseline)
    if not compared:
        return {one.cell for one in planned if not one.drift}
    left = {cell for cell in compared if cell not in closed and cell.variant not in out}
    return left | {CellKey(baseline, cell.level, cell.depth) for cell in left}
