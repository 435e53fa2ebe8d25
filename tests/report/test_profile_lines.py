"""One profile on a terminal, and what reports say of it."""

import io
from dataclasses import replace

import msgspec
import pytest
from rich.console import Console

from loadgen.analysis.summary import summarise
from loadgen.report.profile_lines import print_profile
from loadgen.report.terminal import print_report
from loadgen.workload import library
from tests.analysis.conftest import Maker


def test_a_profile_is_shown_number_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    """Each parameter in a line as its file has it, below it the source or that it is assumed."""
    print_profile(library.builtin_profile("chat-4k"), {"turns": "{p50: 5, p90: 8}", "a_longer_name_than_14": "7"})
    out = capsys.readouterr().out
    begin, _, numbers = out.partition("\n\n")
    head = " ".join(begin.split())
    assert head.startswith("chat-4k: A person who chats with short messages and answers, for 4,096 tokens of context a")
    assert (
        "context a slot: 4,096 tokens at least; a session that outgrows it: finish; history live; 64 sessions" in head
    )
    assert head.endswith("assumed: 9 of 9 parameters")
    assert [line.rstrip() for line in numbers.splitlines()] == [
        "turns                 {p50: 5, p90: 8}",
        "                      assumed",
        "a_longer_name_than_14 7",
        "                      assumed",
    ]


def test_a_report_lists_what_is_assumed() -> None:
    """Nothing where every number of the workload has a source."""
    run = Maker().run({("off", 1): [10.0, 10.1, 9.9], ("mtp", 1): [12.0, 12.1, 11.9]})
    workload = msgspec.structs.replace(run.manifest.workload, assumed=["turns", "tool_result.corpus"])
    for manifest, told in ((msgspec.structs.replace(run.manifest, workload=workload), True), (run.manifest, False)):
        console = Console(width=200, file=io.StringIO(), color_system=None, force_terminal=True)
        print_report(summarise(replace(run, manifest=manifest)), console)
        out = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined] # it is the StringIO above
        assert ("assumed rather than measured: turns, tool_result.corpus" in out) is told
