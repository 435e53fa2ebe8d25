"""The policy that runs follow: when it looks, and what it reads in the run folder."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from loadgen.cell_key import CellKey
from loadgen.cli.plan import describe
from loadgen.cli.progress import ProgressDisplay
from loadgen.cli.until_known import Shown, UntilKnown
from loadgen.experiment.model import Experiment
from loadgen.records.manifest import Plan
from loadgen.records.run_folder import RunWriter
from tests.analysis.conftest import Maker
from tests.analysis.sequential.test_looks import planned

TASKS: dict[tuple[str, int], Sequence[float]] = {
    ("off", 1): [10.0, 10.1, 9.9, 10.0],
    ("mtp", 1): [20.0, 20.3, 19.8, 20.0],
    ("off", 2): [10.0, 10.1, 9.9, 10.0],
    ("mtp", 2): [8.0, 14.0, 9.0, 12.0],
}
"""Pays at 1 agent, open at 2."""


def experiment(**changes: Any) -> Experiment:
    """Two launched variants; the second drafts 3 tokens at once, as llama-server does by default."""
    values: dict[str, Any] = {
        "variants": [
            {"kind": "launch", "name": "off", "program": "llama-server"},
            {"kind": "launch", "name": "mtp", "program": "llama-server", "args": ("--spec-type", "draft-mtp")},
        ],
        "baseline": "off",
        "levels": (1, 2),
    }
    return Experiment(**(values | changes))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of 8 planned rounds that is after its fourth."""
    plan = Plan(rounds=8, trials=planned(dict.fromkeys(TASKS, 8), 8), dropped_levels=[], estimated_s=1, turn_s={})
    run = Maker().run(TASKS)
    writer = RunWriter(tmp_path / "run")
    writer.manifest(run.manifest)
    writer.plan(msgspec.structs.replace(plan, looks=[4, 6]))
    for trial in run.trials:
        writer.trial(trial)
    for request in run.requests:
        writer.request(request, [])
    writer.close()
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("changes", "looks"),
    [({}, [4, 8]), ({"rounds": 12}, []), ({"stop_when_known": False}, [])],
)
def test_looks_are_taken_where_the_user_set_no_rounds(
    changes: dict[str, Any], looks: list[int], tmp_path: Path
) -> None:
    """With --rounds and with --all-rounds every round is measured."""
    assert list(UntilKnown(experiment(**changes), tmp_path).looks(12)) == looks


def test_a_single_variant_is_never_looked_at(tmp_path: Path) -> None:
    """Nothing is compared, so nothing would ever be open."""
    alone = experiment(variants=[{"kind": "url", "name": "off", "url": "http://127.0.0.1:1"}])
    assert list(UntilKnown(alone, tmp_path).looks(12)) == []


def test_the_run_folder_says_what_is_open(folder: Path) -> None:
    """From the trials alone, and the display then counts what is left: 4 rounds of two trials."""
    said = io.StringIO()
    display = ProgressDisplay(Console(file=said, width=200))
    run = Plan(rounds=8, trials=planned(dict.fromkeys(TASKS, 8), 8), dropped_levels=[], estimated_s=1, turn_s={})
    display.planned(msgspec.structs.replace(run, looks=[4, 6]), 16)
    decision = Shown(UntilKnown(experiment(), folder), display, "off").after(4)
    assert decision.open == frozenset({CellKey("mtp", 2)})
    assert decision.note == "look after round 4 of 8: mtp pays at 1; measured on: mtp at 2"
    assert "looks after round 4 and 6: what is known by then is measured no further" in said.getvalue()
    display.trial_ended(Maker().record(variant="off", level=2, round=5))
    assert "17/24  round 5: off, 2 agents" in said.getvalue()


def test_a_dry_run_tells_the_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """When looks are taken, and which levels may be added; with a number of rounds neither."""
    describe(experiment(levels=(1, 8)), as_json=False)
    shown = capsys.readouterr().out
    assert "looks: from 6 rounds on, after round 4" in shown
    assert "kernels switch: 2 and 3 (width 8, 3 drafted); 4 and 5 (width 16, 3 drafted)" in shown
    describe(experiment(levels=(1, 8), rounds=5), as_json=False)
    shown = capsys.readouterr().out
    assert "looks:" not in shown
    assert "kernels" not in shown
