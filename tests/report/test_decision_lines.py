"""The section on the operating point, and the table of goodput."""

import io
from typing import Any

from rich.console import Console

from loadgen.analysis.decision.operating_point import operating_point
from loadgen.report.decision_lines import decision_lines, goodput_notes, objective_text, print_decision
from tests.analysis.decision_grounds import PAYS, grounds, objective, task_limit


def printed(summary: dict[str, Any], width: int = 140) -> list[str]:
    """The lines on a terminal of this width."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_decision(summary, console)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined] # a StringIO


def test_nothing_is_printed_where_nothing_was_asked() -> None:
    """Neither for a number of agents nor for an objective."""
    assert printed({}) == []
    assert printed({"operating_point": None, "goodput": []}) == []


def test_the_decision_has_a_title_the_answer_and_the_paragraph() -> None:
    """It wraps at words."""
    point = operating_point(grounds({("mtp", 4): PAYS}))
    lines = printed({"operating_point": point, "goodput": []}, width=80)
    assert lines[:4] == [
        "",
        "At 4 agents: run mtp",
        "  Four background agents: keep mtp.",
        "  At 4 agents run mtp. mtp at 4 agents: 1.36 times the tasks per hour of off",
    ]
    assert decision_lines(point) == ["Four background agents: keep mtp.", point["text"]]
    assert all(len(line) <= 80 for line in lines)


def test_an_open_decision_says_so() -> None:
    """No name stands where none is kept."""
    point = operating_point(grounds({("mtp", 4): ()}))
    assert printed({"operating_point": point})[1] == "At 4 agents: open"


def test_goodput_has_a_row_for_each_cell() -> None:
    """By variant and concurrency, with what was asked for above and what it rests on below."""
    whole = {"attempted": 8, "failed": 0, "good": 7, "attainment": {"value": 0.875}, "per_hour": {"value": 12.5}}
    entries = [
        objective("off", 1, "yes", tasks=whole),
        objective("mtp", 1, "no", 0.8, binds="ttft_s"),
        objective("mtp", 4, None, None),
    ]
    assert printed({"goodput": entries}) == [
        "",
        "Objective: TTFT 2.00 s; by 95 % of all attempts",
        "agents variant good req/h       good [95 %] TTFT good tasks/h good tasks meets it binds",
        "     1 off          1,200 97 % [96 %, 98 %] 97 %         12.5        7/8 yes",
        "       mtp          1,200 80 % [79 %, 81 %] 80 %          n/a        n/a no       TTFT",
        "     4 mtp          1,200               n/a  n/a          n/a        n/a n/a",
        "  tasks: those that began and ended in a trial, which favours short ones",
    ]


def test_an_estimated_task_is_marked() -> None:
    """Its mean stands where a share would, with what it means below; failures bind under their own name."""
    entry = objective("mtp", 4, "no", binds="failures", task_s_estimated={"value": 750.0, "low": 700, "high": 800})
    entry["limits"] = [{**entry["limits"][0], "unmeasured": 2}, task_limit(estimated=True)]
    assert objective_text(entry) == "TTFT 2.00 s, task 10:00 min; by 95 % of all attempts"
    row = printed({"goodput": [entry]})[3]
    assert row.split() == [
        "4",
        "mtp",
        "1,200",
        "97",
        "%",
        "[96",
        "%,",
        "98",
        "%]",
        "97",
        "%",
        "~12:30",
        "min",
        "n/a",
        "n/a",
        "no",
        "failures",
    ]
    assert goodput_notes([entry]) == [
        "a request that ended well and has no such time (one token, or all at once) keeps the limit",
        "~ no task was seen whole; the mean that its turns give lies above the limit",
    ]


def test_a_share_without_an_interval_stands_alone() -> None:
    """Below three rounds there is none."""
    entry = objective("off", 1, "unresolved")
    entry["requests"]["attainment"] = {"value": 0.9496, "low": None, "high": None, "n": 40}
    assert printed({"goodput": [entry]})[3].split()[2:5] == ["1,200", "94.96", "%"]
