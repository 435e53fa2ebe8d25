"""Rules of the table that holds estimates against the truth."""

import random

import pytest

from benchmarks.trial_model import make_work
from benchmarks.truth import Row, Size, aa_row, bias_rows, build_library, coverage_row, sweep

_TINY = Size(sweeps=30, library=1, truth_turns=1000, bias_runs=4, bias_truth_turns=3000, slack=0)


def test_a_row_is_judged_by_its_bounds() -> None:
    """Inside is good, outside isn't, and slack widens the bounds by standard errors."""
    row = Row("coverage", 0.92, 0.005, 0.93, 0.97)
    assert not row.good(0)
    assert row.good(3)
    assert Row("coverage", 0.95, 0.005, 0.93, 0.97).good(0)
    assert row.verdict(0) == "OUT"
    assert row.verdict(3) == "ok"


def test_a_row_that_is_known_to_be_out_says_so() -> None:
    """It is never called ok, and is told apart from a new fault."""
    assert Row("bias", -0.05, 0.001, -0.02, 0.02, open=True).verdict(0) == "OUT, known"
    assert Row("bias", 0.01, 0.001, -0.02, 0.02, open=True).verdict(0) == "ok"


def test_an_interval_that_misses_the_truth_is_noticed() -> None:
    """With a truth far off, coverage is 0; the real comparison covers all levels of a sweep."""
    library = build_library(make_work(1), seed=1, runs=1, rounds=4)
    assert set(library[0]) == {(v, n) for v in ("off", "off-again", "on") for n in (1, 2, 4, 8)}
    found = sweep(library, "on", rounds=4, chance=random.Random(1))  # noqa: S311 - a model, no secret
    assert [comparison.level for comparison in found] == [1, 2, 4, 8]
    assert all(len(comparison.rounds) == 4 for comparison in found)
    wrong = coverage_row(library, dict.fromkeys((1, 2, 4, 8), 9.0), rounds=4, size=_TINY, seed=1)
    assert (wrong.value, wrong.good(0)) == (0.0, False)
    truths = {c.level: c.speedup.value or 0.0 for c in found}
    assert coverage_row(library, truths, rounds=4, size=_TINY, seed=1).value > 0.5
    assert 0 <= aa_row(library, rounds=4, size=_TINY, seed=1).value <= 1


def test_the_bias_is_given_for_all_and_for_valid_trials() -> None:
    """Two rows, each with its standard error."""
    every, valid = bias_rows(make_work(1), failing=0.0, size=_TINY, seed=1, level=2, rounds=2)
    assert (every.name[-10:], valid.name[-12:]) == ("all trials", "valid trials")
    assert every.value == pytest.approx(valid.value)
    assert every.error > 0
