"""The report's lists and ledgers."""

import io
from typing import Any

import pytest
from rich.console import Console

from loadgen.analysis.summary import summarise
from loadgen.report.lines import print_hanging
from loadgen.report.terminal import print_report, warning_lines
from tests.analysis.conftest import Maker
from tests.records.make import journal


def warning(variant: str | None, level: int | None, text: str) -> dict[str, Any]:
    """A warning as the summary holds it."""
    where = f"{variant} at {level}: " if variant else ""
    return {"kind": "k", "variant": variant, "concurrency": level, "text": where + text}


def test_cells_that_share_a_warning_share_a_line() -> None:
    """One line a sentence; a sentence that holds for every cell names none."""
    warnings = [
        warning("off", 1, "slow."),
        warning("mtp", 1, "slow."),
        warning("off", 1, "short."),
        warning(None, None, "Hm."),
    ]
    assert warning_lines(warnings, cells=3) == ["off at 1, mtp at 1: slow.", "off at 1: short.", "Hm."]
    assert warning_lines(warnings[:2], cells=2) == ["everywhere: slow."]


@pytest.mark.parametrize("text", ["[bold]not markup[/bold]", "a [red]b", "x" * 70])
def test_text_from_servers_is_never_markup(text: str) -> None:
    """What a server or a file says is printed as it is, wrapped at the width of the terminal."""
    console = Console(width=40, file=io.StringIO(), color_system=None)
    print_hanging(console, "- ", text)
    out = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO above
    assert out.replace("\n", "").replace("  ", "") == f"- {text}"
    assert max(len(line) for line in out.splitlines()) <= 40


def printed(run: Any) -> str:
    """The report of a run on a terminal of 100 columns, its lines joined where they wrap."""
    console = Console(width=100, file=io.StringIO(), color_system=None, force_terminal=True)
    print_report(summarise(run), console)
    out = console.file.getvalue()  # type: ignore[attr-defined] # it is the StringIO above
    assert max(len(line) for line in out.splitlines()) <= 100
    return " ".join(out.split())


def call_of(text: str, variant: str) -> str:
    """The word in the column of calls in the row of a variant."""
    row = text.partition("tasks/h")[2].partition(f" {variant} ")[2]
    return row.partition("]")[2].split()[0]


def test_the_report_marks_what_is_no_candidate_and_what_answers_wrongly() -> None:
    """Overhead is a diagnostic, set acceptance bears a mark with its note, a failed check has no verdict."""
    make = Maker()
    rates = {"off": 10.0, "idle": 9.7, "set": 20.0, "wrong": 30.0, "mtp": 15.0}
    run = make.run(
        {(name, 2): [rate, rate * 1.01, rate * 0.99] for name, rate in rates.items()},
        variants=[
            {"name": "off"}, {"name": "idle", "overhead": True}, {"name": "set", "args": ["--spec-synth-len", "3"]},
            {"name": "wrong"}, {"name": "mtp"},
        ],
        checks=[make.check(name, crossed=name == "wrong") for name in rates],
        journal=[journal("started"), journal("complete")],
    )  # fmt: skip
    text = printed(run)
    assert {name: call_of(text, name) for name in rates if name != "off"} == {
        "idle": "diagnostic",
        "set": "pays*",
        "wrong": "no",
        "mtp": "pays",
    }
    assert "* diagnostic: the acceptance of set was set, so nothing advises to keep it" in text
    assert "noise floor: off varies by 1.00 % (2 agents) between rounds" in text
    assert (
        "output check: off passed, idle passed, set passed, mtp passed, wrong failed (agent 0 got text of agent 1's "
        "session on slot 0)"
    ) in text
    assert "No verdict: the output check failed for wrong: agent 0 got" in text


def test_the_heading_tells_how_the_run_went() -> None:
    """Resumed, done again, a rerun, given up, and how a server differs."""
    make = Maker()
    entries = [journal("started"), journal("given_up", "mtp: no answer"), journal("resumed"), journal("complete")]
    run = make.run(
        {("off", 1): [10.0, 11.0, 12.0], ("mtp", 1): [10.0]},
        journal=entries,
        rerun_of="earlier",
        repeated=9.0,
        starts=[make.start("off"), make.start("mtp", slots=6, drafted=0)],
    )
    run.trials.append(make.record(trial="r1-n1-mtp.2", variant="mtp", attempt=2))
    text = printed(run)
    assert "complete; resumed once; 1 trial done again; a rerun of earlier" in text
    assert "given up mtp: no answer" in text
    assert (
        "speculation on by /slots, nothing drafted in the probe, http://127.0.0.1:1, differs from off in: slots 4 → 6"
        in (text)
    )
    assert "output check: not made" in text
    assert "drift off at 1 agent, the first trial, repeated at the end: 0.900 times its tasks per hour" in text


def test_a_variant_against_itself_is_announced() -> None:
    """Before any number is read."""
    make = Maker()
    text = printed(make.run({("off", 1): [10.0] * 3, ("off-again", 1): [10.0] * 3}, aa=True))
    assert text.index("The variants are the same: every call of pays or costs is a false alarm.") < text.index(
        "tasks/h"
    )
    assert "off and off-again are the same, so every call of pays or costs is a false alarm: none in 1" in text
