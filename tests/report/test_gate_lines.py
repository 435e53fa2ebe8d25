"""How a gate reads."""

import io
from typing import Any

import pytest
from rich.console import Console

from loadgen.report.gate_lines import criterion_text, method_lines, print_gate

PLAIN: dict[str, Any] = {
    "criterion": "speedup>=0.97", "kind": "non_inferiority", "variant": "new", "concurrency": 4, "metric": "speedup",
    "op": ">=", "limit": 0.97, "unit": "ratio", "value": 0.912, "low": 0.88, "high": 0.944, "n": 5, "seen": False,
    "result": "fail", "reason": None, "more_rounds": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "new at 4 agents: speedup 0.912 [0.880, 0.944], at least 0.970: failed."),
        (
            {"value": 0.99, "low": 0.98, "high": 1.0, "result": "pass", "concurrency": 1},
            "new at 1 agent: speedup 0.990 [0.980, 1.000], at least 0.970: passed.",
        ),
        (
            {"high": 1.0, "result": "unknown", "more_rounds": 4},
            (
                "new at 4 agents: speedup 0.912 [0.880, 1.000], at least 0.970: can't tell; "
                "about 4 more rounds would tell."
            ),
        ),
        (
            {"high": 1.0, "result": "unknown", "more_rounds": 1},
            "new at 4 agents: speedup 0.912 [0.880, 1.000], at least 0.970: can't tell; about 1 more round would tell.",
        ),
        (
            {"high": 1.0, "result": "unknown"},
            (
                "new at 4 agents: speedup 0.912 [0.880, 1.000], at least 0.970: can't tell; more than 999 more "
                "rounds would be needed to tell."
            ),
        ),
        (
            {"value": None, "low": None, "high": None, "result": "unknown", "reason": "no trial of new at 4 is valid"},
            "new at 4 agents: speedup n/a, at least 0.970: can't tell (no trial of new at 4 is valid).",
        ),
        (
            {"low": None, "high": None, "result": "unknown", "reason": "1 observation is too few", "more_rounds": 2},
            (
                "new at 4 agents: speedup 0.912 [n/a], at least 0.970: can't tell (1 observation is too few); about "
                "2 more rounds would tell."
            ),
        ),
        (
            {"metric": "memory_peak", "unit": "bytes", "op": "<=", "limit": 2**30, "value": 2**29, "low": None,
             "high": None, "seen": True, "result": "pass", "concurrency": None},
            "new: memory_peak 512.00 MiB, at most 1,024.00 MiB: passed.",
        ),
        (
            {"metric": "ttft.p95", "unit": "seconds", "op": "<", "limit": 2.0, "value": 1.5, "low": 1.2,
             "high": 2.0001, "result": "unknown", "more_rounds": 9},
            (
                "new at 4 agents: ttft.p95 1.50 s [1.20 s, just above 2.00 s], below 2.00 s: can't tell; about 9 "
                "more rounds would tell."
            ),
        ),
    ],
)  # fmt: skip
def test_a_criterion_is_one_sentence(changes: dict[str, Any], text: str) -> None:
    """Place, figure, interval, limit, result, and what would settle it; an end never reads as the limit it misses."""
    assert criterion_text({**PLAIN, **changes}) == text


def test_the_method_is_said_for_what_was_asked() -> None:
    """Non-inferiority over several levels, and thresholds, each judged alone."""
    threshold = {**PLAIN, "kind": "threshold", "criterion": "ttft.p95<=2s"}
    gate = {"at_least": 0.97, "criteria": [PLAIN, {**PLAIN, "concurrency": 8}, threshold, threshold]}
    first, second = method_lines(gate)
    assert "the upper one for all 2 together" in first
    assert second.endswith("Each of the 2 is judged alone.")
    assert method_lines({"at_least": None, "criteria": []}) == []


@pytest.mark.parametrize(
    ("result", "title"), [("pass", "Gate: passed"), ("fail", "Gate: failed"), ("unknown", "Gate: can't tell")]
)
def test_the_section_begins_with_the_result(result: str, title: str) -> None:
    """The first words are the answer."""
    console = Console(width=100, file=io.StringIO(), color_system=None)
    print_gate({"result": result, "at_least": 0.97, "criteria": [PLAIN]}, console)
    out = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO above
    assert out.strip().startswith(title)
    assert max(len(line) for line in out.splitlines()) <= 100
