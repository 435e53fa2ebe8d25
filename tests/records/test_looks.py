"""Rules of what looks leave to be measured."""

from loadgen.cell_key import CellKey
from loadgen.records.looks import closed_cells, compared_cells, looks_taken, measured_cells
from loadgen.records.manifest import JournalEntry, Look, PlannedTrial


def _look(round_: int, *cells: CellKey) -> JournalEntry:
    return JournalEntry(at_ns=0, what="looked", look=Look(round=round_, closed=list(cells)))


def _planned(*names: str) -> list[PlannedTrial]:
    trials = [
        PlannedTrial(
            trial=f"{name}{level}", round=1, variant=name, level=level, order=0, turns_per_agent=1, short=False
        )
        for name in names
        for level in (1, 2)
    ]
    drift = PlannedTrial(
        trial="d", round=0, variant=names[0], level=1, order=9, turns_per_agent=1, short=False, drift=True
    )
    return [*trials, drift]


def test_the_journal_says_what_looks_closed_and_when() -> None:
    """Of entries that are no looks nothing is taken."""
    journal = [
        JournalEntry(at_ns=0, what="started"),
        _look(4, CellKey("mtp", 8)),
        _look(6),
        _look(8, CellKey("mtp", 1)),
    ]
    assert [look.round for look in looks_taken(journal)] == [4, 6, 8]
    assert closed_cells(journal) == {CellKey("mtp", 8): 4, CellKey("mtp", 1): 8}


def test_the_baseline_is_measured_where_another_variant_is() -> None:
    """With one of two variants closed at a level the baseline stays there; with both it goes."""
    plan = _planned("off", "mtp", "ngram")
    assert compared_cells(plan, "off") == {
        CellKey("mtp", 1),
        CellKey("mtp", 2),
        CellKey("ngram", 1),
        CellKey("ngram", 2),
    }
    left = measured_cells(plan, "off", {CellKey("mtp", 1), CellKey("mtp", 2), CellKey("ngram", 2)})
    assert left == {CellKey("ngram", 1), CellKey("off", 1)}
    assert measured_cells(plan, "off", {CellKey("mtp", 1), CellKey("mtp", 2)}, out=["ngram"]) == set()


def test_where_nothing_is_compared_everything_is_measured() -> None:
    """A sweep of one variant has no comparison to be known."""
    assert measured_cells(_planned("server"), "server", ()) == {CellKey("server", 1), CellKey("server", 2)}
