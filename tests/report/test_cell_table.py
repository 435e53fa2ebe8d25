"""The table of cells: depth, marks and what is not comparable; and what stands at the head about the workload."""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from rich.console import Console

from loadgen.analysis.summary import summarise
from loadgen.records.manifest import Clipped
from loadgen.records.run import Run
from loadgen.report.cell_table import length_text, refused_requests, table_notes
from loadgen.report.heading import clipped_text, waits_text
from loadgen.report.terminal import print_report
from tests.analysis.conftest import Maker
from tests.analysis.deep import deep_run, with_prompts

make = Maker()
OFF, PAYS = [10.0, 10.1, 9.9, 10.0], [20.0, 20.3, 19.8, 20.0]
TASKS: dict[tuple[str, int], Sequence[float]] = {("off", 1): OFF, ("mtp", 1): PAYS}
DRAFTS = {"draft_n": 4, "draft_n_accepted": 3}


def lines(run: Run, width: int = 200) -> list[str]:
    """The lines of a report, runs of blanks made one."""
    console = Console(width=width, file=io.StringIO(), color_system=None, force_terminal=True)
    print_report(summarise(run), console)
    out = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO above
    assert max(len(line) for line in out.splitlines()) <= width
    return [" ".join(line.split()) for line in out.splitlines()]


def row(of: list[str], variant: str) -> str:
    """The first row of the table that names a variant."""
    begin = next(at for at, line in enumerate(of) if line.startswith("agents variant depth"))
    return next(line for line in of[begin:] if variant in line.split())


def exact(run: Run) -> Run:
    """The run with answers of an exact length."""
    workload = msgspec.structs.replace(run.manifest.workload, exact_length=True)
    requests = [msgspec.structs.replace(one, exact_length=True, max_tokens=10) for one in run.requests]
    return replace(run, manifest=msgspec.structs.replace(run.manifest, workload=workload), requests=requests)


def drafting(run: Run) -> Run:
    """The run with drafts of mtp."""
    requests = [msgspec.structs.replace(one, timings=DRAFTS) if one.variant == "mtp" else one for one in run.requests]
    return replace(run, requests=requests)


def test_each_row_has_the_mean_depth_of_its_cell() -> None:
    """Prompt tokens of the measured turns, behind the variant."""
    printed = lines(with_prompts(make.run(TASKS), {"off": 3900, "mtp": 3800}))
    assert row(printed, "off").startswith("1 off 3,900 10.00 ")
    assert row(printed, "mtp").startswith("mtp 3,800 20.0 ")


def test_what_cannot_be_compared_has_neither_speed_up_nor_call() -> None:
    """The row says so, and below it stands why."""
    printed = lines(with_prompts(make.run(TASKS), {"off": 3900, "mtp": 3100}))
    assert row(printed, "mtp").startswith("mtp 3,100 20.0 20.0 n/a not comparable ")
    assert any("not comparable with off: mean depth 3,100 against 3,900 tokens." in line for line in printed)


def test_acceptance_of_an_exact_length_bears_a_mark() -> None:
    """With its footnote; natural answers have neither, and the baseline, which drafts nothing, has no mark."""
    biased, natural = lines(exact(drafting(make.run(TASKS)))), lines(drafting(make.run(TASKS)))
    assert "75.0 %†" in row(biased, "mtp")
    assert "†" not in row(biased, "off")
    assert any(line.startswith("† biased: answers have an exact length") for line in biased)
    assert not any("†" in line for line in natural)
    assert "75.0 %" in row(natural, "mtp")


def test_the_band_of_answer_lengths_is_printed() -> None:
    """Against the baseline, by level; exact lengths are alike by design and say nothing."""
    tasks = {**TASKS, ("off", 2): OFF, ("mtp", 2): PAYS}
    assert (
        length_text(summarise(make.run(tasks)))
        == "against off, mtp 1.000 [1.000, 1.000] at 1, 1.000 [1.000, 1.000] at 2"
    )
    assert length_text(summarise(exact(make.run(tasks)))) is None
    assert length_text(summarise(make.run({("off", 1): OFF}))) is None


def test_requests_per_hour_of_other_lengths_are_named() -> None:
    """The table's column stands, and the note says that it can't be compared."""
    run = make.run(TASKS)
    longer = [
        msgspec.structs.replace(one, completion_tokens=12 if one.variant == "mtp" else 10) for one in run.requests
    ]
    summary = summarise(replace(run, requests=longer))
    text = (
        "req/h of mtp with those of off at 1 agent: answers are 1.20 times as long as those of off (95 % interval "
        "1.20 to 1.20)"
    )
    assert refused_requests(summary) == [text]
    assert ("not comparable: ", text) in table_notes(summary)
    assert refused_requests(summarise(run)) == []


def test_each_depth_has_a_table_of_its_own() -> None:
    """Under its depth, with its own noise floor; what is said of all depths is said once."""
    run = deep_run(make, {2048: TASKS, 16384: {("off", 1): OFF, ("mtp", 1): [5.0, 5.1, 4.9, 5.0]}}, agents=1)
    printed = lines(run)
    titles = [line for line in printed if line.startswith("Asked for:")]
    assert titles == ["Asked for: 2,048 tokens deep", "Asked for: 16,384 tokens deep"]
    assert sum(line.startswith("agents variant depth") for line in printed) == 2
    assert sum(line.startswith("noise floor:") for line in printed) == 2
    assert "At 1 agent, 2,048 tokens deep: open" in printed
    assert "At 1 agent, 16,384 tokens deep: run off" in printed
    assert printed.count("What it says") == 1


def test_a_narrow_terminal_gets_two_tables() -> None:
    """Depth and rates above, what it feels like below; nothing is cut."""
    printed = lines(make.run(TASKS), width=80)
    heads = [line for line in printed if line.startswith("agents variant")]
    assert heads[0].startswith("agents variant depth tasks/h req/h")
    assert heads[1].startswith("agents variant TTFT p50")


def clipped(**fields: Any) -> dict[str, Any]:
    """A workload of 100 turns of which 12 don't fit 4,096 tokens."""
    plain: dict[str, Any] = {
        "context": 4096,
        "sessions_cut": 3,
        "sessions_left_out": 1,
        "turns_left_out": 12,
        "turns": 100,
    }
    found: dict[str, Any] = msgspec.to_builtins(Clipped(**{**plain, **fields}))
    return found


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"sessions_left_out": 2},
            "sessions: 3 ended early, 2 left out; turns left out: 12 of 100 (12.0 %)",
        ),
        (
            {"sessions_cut": 0, "sessions_left_out": 0, "how": "compact", "sessions_compacted": 5, "turns_left_out": 0},
            "sessions: 5 going on from a summary; turns left out: 0 of 100 (0 %)",
        ),
        (
            {"sessions_left_out": 0, "reuse": 0.8, "whole_reuse": 0.9},
            (
                "sessions: 3 ended early; turns left out: 12 of 100 (12.0 %); 80.0 % of the prompt "
                "tokens stood in the turn before, 90.0 % without clipping"
            ),
        ),
    ],
)
def test_the_heading_tells_what_was_clipped(fields: dict[str, Any], text: str) -> None:
    """How many sessions and turns, and what became of the prompts."""
    assert clipped_text(clipped(**fields)) == f"to 4,096 tokens of context a slot; {text}"


@pytest.mark.parametrize(
    ("cap", "scale", "text"),
    [
        (None, 1, None),
        (None, None, None),
        (10.0, 1, "for tools at most 10.0 s"),
        (None, 0.5, "all multiplied by 0.5"),
        (10.0, 2, "for tools at most 10.0 s; all multiplied by 2"),
        (10.0, 0, "none: all are left out"),
    ],
)
def test_the_heading_tells_what_was_done_to_waits(cap: float | None, scale: float | None, text: str | None) -> None:
    """Nothing where they are as the workload has them."""
    assert waits_text({"tool_time_cap_s": cap, "time_scale": scale}) == text


def test_the_heading_has_a_line_for_each() -> None:
    """Where there is anything to tell."""
    run = make.run(TASKS, tool_time_cap_s=10, time_scale=1)
    workload = msgspec.structs.replace(
        run.manifest.workload,
        clipped=Clipped(context=4096, sessions_cut=3, sessions_left_out=0, turns_left_out=12, turns=100),
    )
    printed = lines(replace(run, manifest=msgspec.structs.replace(run.manifest, workload=workload)))
    assert "waits for tools at most 10.0 s" in printed
    assert any(
        line.startswith("clipped to 4,096 tokens of context a slot; sessions: 3 ended early;") for line in printed
    )
    plain = lines(make.run(TASKS))
    assert not any(line.startswith(("waits", "clipped")) for line in plain)
