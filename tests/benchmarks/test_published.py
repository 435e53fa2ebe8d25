"""Rules of the replay of published tables."""

from dataclasses import replace

import pytest

from benchmarks.published import CASES, main


def test_published_tables_get_the_verdict_that_they_show(capsys: pytest.CaptureFixture[str]) -> None:
    """Each one is ok, and says that its source gives no intervals."""
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(": ok")] == [f"{case.name}: ok" for case in CASES]
    assert sum("no intervals" in line for line in lines) == len(CASES)


def test_another_verdict_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    """With the two columns exchanged, or the crossover expected elsewhere, the exit status is 1."""
    turned = replace(CASES[0].table, off=CASES[0].table.on, on=CASES[0].table.off)
    assert main([replace(CASES[0], table=turned)]) == 1
    assert main([replace(CASES[0], crossover_between=(2, 4))]) == 1
    assert "OUT" in capsys.readouterr().out
