"""Rules of a look at a run that goes on."""

from typing import Any

import msgspec

from loadgen.analysis.sequential.interim import look
from loadgen.cell_key import CellKey
from loadgen.records.manifest import Plan
from tests.analysis.sequential.test_looks import looked, planned

STEADY = [10.0, 10.1, 9.9, 10.0]
TASKS = {
    ("off", 1): STEADY,
    ("mtp", 1): [20.0, 20.3, 19.8, 20.0],
    ("off", 2): STEADY,
    ("mtp", 2): [8.0, 14.0, 9.0, 12.0],
    ("off", 4): STEADY,
    ("mtp", 4): [5.0, 5.1, 4.9, 5.0],
}


def _run(make: Any, tasks: dict[tuple[str, int], list[float]] | None = None, *journal: Any) -> Any:
    tasks = tasks or TASKS
    plan = Plan(rounds=8, trials=planned(dict.fromkeys(tasks, 8), 8), dropped_levels=[], estimated_s=1, turn_s={})
    return make.run(tasks, plan=msgspec.structs.replace(plan, looks=[4, 6]), journal=journal)


def test_what_is_open_goes_on(make: Any) -> None:
    """A clear gain and a clear loss are known after 4 rounds; the noisy level between them is measured further."""
    found = look(_run(make), 4)
    assert found.open == frozenset({CellKey("mtp", 2)})
    assert found.note == "look after round 4 of 8: mtp pays at 1; mtp costs at 4; measured on: mtp at 2"


def test_rounds_after_the_look_don_t_count(make: Any) -> None:
    """After round 2 there is no interval yet, though four rounds are in the folder."""
    found = look(_run(make), 2)
    assert found.open == frozenset({CellKey("mtp", 1), CellKey("mtp", 2), CellKey("mtp", 4)})
    assert found.note == "look after round 2 of 8: nothing more is known yet; measured on: mtp at 1, 2 and 4"


def test_what_an_earlier_look_closed_stays_closed(make: Any) -> None:
    """It is neither open nor found again."""
    found = look(_run(make, None, looked(2, ("mtp", 1), ("mtp", 2))), 4)
    assert found.open == frozenset()
    assert found.note == "look after round 4 of 8: mtp costs at 4; nothing is open any more"


def test_a_variant_that_could_not_be_measured_stays_open(make: Any) -> None:
    """A planned comparison without a trial is no known one."""
    run = _run(make, {**TASKS, ("ngram", 1): []})
    assert look(run, 4).open == frozenset({CellKey("mtp", 2), CellKey("ngram", 1)})


def test_where_nothing_is_compared_everything_goes_on(make: Any) -> None:
    """One variant, or no plan yet: no cells are closed."""
    assert look(_run(make, {("off", 1): STEADY}), 4).open is None
    assert look(make.run(TASKS), 4).open is None
