"""Rules of the table of truth as a whole."""

import pytest

from benchmarks.truth import main


def test_a_quick_table_has_every_row_and_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """Little work: every row of the full table is there, with its bounds, and nothing is far out."""
    assert main(["--quick", "--seed", "7"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("seed 7, 30 sweeps a row")
    rows = [line for line in lines if line.rstrip().endswith((" ok", " OUT"))]
    begins = [
        "A/A: sweeps of 4 levels with a call, noise 5%, 4 rounds",
        "A/A in lockstep: sweeps of 4 levels with a call, noise 5%, 8 rounds",
        "equals called same at ±5 %, noise 5%, 25 rounds",
        "coverage of the 95 % interval, noise 15%, 4 rounds",
        "crossover of a smooth curve: median error",
        "crossover of a smooth curve: coverage",
        "crossover of a cliff: median error",
        "bias of tasks/hour, 0% of turns fail, 8 rounds pooled",
        "bias of tasks/hour, 2% of turns fail, 8 rounds pooled",
        "A/A with looks: runs with a call, noise 5%, 12 rounds planned",
        "tuning 7 equals: winners with a call, noise 5%, 13 rounds",
        "pays called where the truth is",
    ]
    assert [begin for begin in begins if not any(row.startswith(begin) for row in rows)] == []
    assert len(rows) == 44
