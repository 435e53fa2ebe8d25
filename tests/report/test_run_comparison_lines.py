"""How a comparison of two runs reads."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from loadgen.analysis.criteria.run_comparison import compare_runs
from loadgen.report.run_comparison_lines import (
    NO_EVIDENCE,
    UNPAIRED,
    described_lines,
    difference_lines,
    mind_lines,
    not_compared_lines,
    print_run_comparison,
    says_lines,
)
from tests.analysis.conftest import Maker
from tests.records.make import journal

PLAIN: dict[str, Any] = {
    "variant": "mtp", "variant_b": "mtp", "concurrency": 4, "metric": "tasks_per_hour", "n_a": 5, "n_b": 6,
    "ratio": {"value": 1.2, "low": 1.1, "high": 1.3, "n": 5}, "sim_low": 1.05, "sim_high": 1.35, "same_low": 1.12,
    "same_high": 1.28, "p_value": 0.001, "p_adjusted": 0.002, "call": "faster", "min_effect": 0.05,
    "depth_asked": None, "not_comparable": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {},
            (
                "mtp at 4 agents: B did 1.20 times the tasks per hour of A (95 % interval 1.10 to 1.30, 5 and 6 "
                "rounds): faster, +20.0 %."
            ),
        ),
        (
            {"call": "same", "same_low": 0.98, "same_high": 1.02, "ratio": {"value": 1.0, "low": 0.97, "high": 1.03}},
            (
                "mtp at 4 agents: B did 1.00 times the tasks per hour of A (90 % interval 0.98 to 1.02, 5 and 6 "
                "rounds): the same within 5%."
            ),
        ),
        (
            {"call": "unresolved", "sim_low": 0.99},
            (
                "mtp at 4 agents: B did 1.20 times the tasks per hour of A (interval 0.99 to 1.35 with all 3 cells "
                "at 95 % together, 5 and 6 rounds): unresolved."
            ),
        ),
        (
            {"call": "unresolved", "p_value": None, "n_a": 1, "variant_b": "mtp-5"},
            (
                "mtp → mtp-5 at 4 agents: B did 1.20 times the tasks per hour of A (1 and 6 rounds, no interval "
                "below 3): unresolved."
            ),
        ),
        (
            {"call": "unresolved", "p_value": None, "ratio": {"value": None, "low": None, "high": None}},
            "mtp at 4 agents: nothing can be said, for a run has no valid trial.",
        ),
    ],
)
def test_a_cell_is_one_sentence_whose_interval_agrees_with_its_call(changes: dict[str, Any], text: str) -> None:
    """Called, the same, unresolved with the interval of all cells, without an interval, without a value."""
    other = {**PLAIN, "concurrency": 8}
    assert (
        says_lines({"comparisons": [{**PLAIN, **changes}, other, other, other][: 4 if "p_value" in changes else 3]})[0]
        == text
    )


def test_what_is_not_comparable_is_said_with_its_depth() -> None:
    """No ratio is read from it."""
    why = [{"reason": "depth", "text": "mean depth 3,100 against 3,900 tokens"}]
    refused = {**PLAIN, "call": None, "p_value": None, "depth_asked": 16384, "not_comparable": why}
    (text,) = says_lines({"comparisons": [refused]})
    assert text == "mtp at 4 agents, 16,384 tokens deep: not comparable: mean depth 3,100 against 3,900 tokens."


def test_differences_name_both_values_and_variants_share_a_line() -> None:
    """Objects show what differs in them; what one side doesn't give is called so; allowed ones are marked."""
    plain = {"variant": None, "voids": False, "allowed": False}
    words = {"field": "arguments", "a": {"-t": "4", "-fa": None}, "b": {"-t": "8", "-fa": "on"}}
    found = difference_lines(
        {
            "differences": [
                {**plain, "field": "seed", "a": 1, "b": 2},
                {**plain, "field": "model", "a": "a" * 64, "b": "b" * 64, "voids": True, "allowed": True},
                {**plain, **words, "variant": "off"},
                {**plain, **words, "variant": "mtp"},
                {**plain, "field": "gpus", "a": [], "b": [{"name": "H200", "driver": "570"}]},
            ]
        }
    )  # fmt: skip
    assert found == [
        "seed 1 → 2",
        f"model {'a' * 12} → {'b' * 12} (allowed)",
        "off, mtp: arguments -fa not given → on, -t 4 → 8",
        "gpus none → H200 570",
    ]


def test_it_is_always_said_that_nothing_is_paired() -> None:
    """Two sittings differ by themselves, and an incomplete run says so."""
    make = Maker()
    tasks: dict[tuple[str, int], Sequence[float]] = {("off", 1): [10.0] * 3}
    first = make.run(tasks, journal=[journal("complete")], seed=1)
    second = make.run(tasks, journal=[journal("interrupted")], seed=2)
    document = compare_runs(first, second, names={"off": "off"}, min_effect=0.05)
    lines = mind_lines(document)
    assert lines[:2] == [UNPAIRED, NO_EVIDENCE]
    assert lines[2] == "B is incomplete: the rounds that it has are compared."
    assert lines[3].startswith("The seeds differ")


def test_the_whole_report_fits_and_names_everything() -> None:
    """Both runs, the table, what it says, what was left out and what differs."""
    make = Maker()
    first = make.run({("off", 1): [10.0] * 3, ("mtp", 1): [20.0] * 3, ("mtp", 2): [20.0] * 3})
    second = make.run({("off", 1): [10.0] * 3, ("mtp", 1): [30.0] * 3})
    document = compare_runs(first, second, names={"off": "off", "mtp": "mtp"}, min_effect=0.05)
    console = Console(width=100, file=io.StringIO(), color_system=None)
    print_run_comparison(document, console)
    out = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO above
    assert max(len(line) for line in out.splitlines()) <= 100
    text = " ".join(out.split())
    for part in (
        "A run, chat",
        "incomplete (its process was killed)",
        "B ÷ A [95 %]",
        "faster, +50.0 %",
        "Not compared",
    ):
        assert part in text
    assert not_compared_lines(document) == ["A: mtp at 2 agents, the other run has no such cell"]
    assert any("speed-up over the baseline of its own run 1.500" in line for line in described_lines(document))
