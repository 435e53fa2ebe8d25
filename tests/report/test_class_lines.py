"""The section on classes of work."""

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console

from loadgen.analysis.summary import summarise
from loadgen.report.class_lines import class_rows, print_classes
from loadgen.report.decision_lines import objectives, print_decision
from tests.analysis.conftest import Maker
from tests.analysis.mixes import CHAT_PAYS, mixed_run

if TYPE_CHECKING:
    from collections.abc import Callable


def printed(summary: dict[str, Any], show: "Callable[[Any, Console], None]" = print_classes) -> list[str]:
    """The lines on a wide terminal."""
    console = Console(file=io.StringIO(), width=200, color_system=None)
    show(summary, console)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined] # a StringIO


def test_nothing_is_printed_without_a_mix() -> None:
    """One workload has no classes."""
    assert printed(summarise(Maker().run({("off", 1): [10.0] * 3}))) == []
    assert class_rows({"cells": []}) == []


def test_each_class_has_its_rows() -> None:
    """By concurrency, class and variant, the speed-up beside those that are compared, and what it is worth below."""
    lines = printed(summarise(mixed_run(Maker(), CHAT_PAYS)))
    assert lines[:2] == ["", "By class of work"]
    assert lines[2].split() == [
        *("agents", "class", "(agents)", "variant", "speed-up", "[95", "%]", "tasks/h", "req/h", "TTFT", "p50", "p95"),
        *("TPOT", "p50", "p95", "task", "p50", "accept", "failed"),
    ]
    rows = [line.split() for line in lines[3:7]]
    assert [row[:3] for row in rows] == [
        ["4", "chat", "(1)"],
        ["mtp", rows[1][1], rows[1][2]],
        ["batch", "(3)", "off"],
        ["mtp", rows[3][1], rows[3][2]],
    ]
    assert rows[1][1] == "1.995"
    assert rows[3][1] == "0.834"
    assert [row[-1] for row in rows] == ["0/4", "0/4", "0/12", "0/12"]
    assert lines[7].strip().startswith("speed-up by class: paired by round, each interval by itself; not corrected")


def test_one_variant_is_compared_with_nothing() -> None:
    """No column for it, and no note."""
    cells = {("off", 4): CHAT_PAYS["off", 4]}
    lines = printed(summarise(mixed_run(Maker(), cells)))
    assert "speed-up" not in lines[2]
    assert len(lines) == 5


def test_what_is_void_or_other_work_has_no_ratio() -> None:
    """A word stands there."""
    summary = summarise(mixed_run(Maker(), CHAT_PAYS))
    void = [{**one, "void": True} for one in summary["class_comparisons"]]
    assert [row[3] for row in class_rows({**summary, "class_comparisons": void})] == ["", "no verdict"] * 2
    other = [{**one, "not_comparable": [{"reason": "depth", "text": "x"}]} for one in summary["class_comparisons"]]
    assert [row[3] for row in class_rows({**summary, "class_comparisons": other})] == ["", "not comparable"] * 2


def test_each_class_has_an_objective_of_its_own() -> None:
    """One table for each, with the limits that apply to it."""
    slo = {"ttft_s": 5.0, "classes": {"chat": {"ttft_s": 1.0, "tpot_s": 60.0}}}
    summary = summarise(mixed_run(Maker(), CHAT_PAYS, slo=slo))
    titles = [line for line in printed(summary, print_decision) if line.startswith("Objective")]
    assert titles == [
        "Objective of chat: TTFT 1.00 s, TPOT 60.0 s; by 95 % of all attempts",
        "Objective of batch: TTFT 5.00 s; by 95 % of all attempts",
    ]
    assert objectives([]) == []
