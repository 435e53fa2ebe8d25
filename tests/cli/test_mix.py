"""`--mix` on the command line."""

import json
from pathlib import Path

import pytest

from tests.cli.invoked import invoked

SWEEP = ("sweep", "http://127.0.0.1:1", "-c", "1,4", "--dry-run")
MIX = ("--mix", "file-edit:1,batch-agents-4k:3")


def test_a_dry_run_divides_the_agents_at_every_concurrency() -> None:
    """And names the classes that have none."""
    out = invoked(*SWEEP, *MIX).out
    assert (
        "workload: a mix of file-edit:1,batch-agents-4k:3 (classes of work and their shares of the agents)\n"
        "  at 1: batch-agents-4k 1; none for file-edit\n"
        "  at 4: file-edit 1, batch-agents-4k 3\n"
    ) in out


def test_the_classes_and_their_limits_are_part_of_the_experiment() -> None:
    """As the run folder keeps them."""
    result = invoked(*SWEEP, "--json", *MIX, "--slo", "ttft=2s,file-edit:tpot=60ms")
    asked = json.loads(result.out)
    assert [share["workload"] for share in asked["mix"]] == ["file-edit", "batch-agents-4k"]
    assert asked["slo"]["classes"]["file-edit"]["tpot_s"] == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--mix", "demo:x,b:1"), "--mix demo:x,b:1: demo: 'x' is no weight"),
        (("--mix", "demo:1"), "a mix has two classes at least"),
        ((*MIX, "--workload", "demo"), "a mix names its own workloads: leave out either the mix or the workload demo"),
        ((*MIX, "--slo", "chat:ttft=2s"), "limits for chat, which is none of the classes file-edit, batch-agents-4k"),
        (("--slo", "chat:ttft=2s"), "limits for the class chat, and there is no mix of classes"),
    ],
)
def test_what_cannot_be_is_said(args: tuple[str, ...], message: str) -> None:
    """Exit 2, with what to leave out."""
    result = invoked(*SWEEP, *args)
    assert result.code == 2
    assert message in result.err


def test_an_option_takes_the_place_of_what_a_file_plays(tmp_path: Path) -> None:
    """A mix that of a workload, and a workload that of a mix."""
    path = tmp_path / "e.yaml"
    for written, args, played in (
        ("workload: demo", MIX, (None, ["file-edit", "batch-agents-4k"])),
        ("mix: {demo: 1, file-edit: 1}", ("--workload", "demo"), ("demo", None)),
        ("mix: {demo: 1, file-edit: 1}", MIX, (None, ["file-edit", "batch-agents-4k"])),
    ):
        path.write_text(f"variants: [{{name: off, url: http://127.0.0.1:1}}]\nlevels: 2\n{written}\n")
        asked = json.loads(invoked("sweep", str(path), "--dry-run", "--json", *args).out)
        classes = None if asked["mix"] is None else [share["workload"] for share in asked["mix"]]
        assert (asked["workload"], classes) == played
