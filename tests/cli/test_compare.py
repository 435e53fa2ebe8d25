"""`loadgen compare`: what is compared, what is refused, and why."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadgen.analysis.criteria.run_differences import VOIDS
from loadgen.cli.compare import Allowed
from loadgen.records.run import Run
from tests.analysis.conftest import Maker
from tests.cli.invoked import invoked
from tests.records.folder import written
from tests.records.make import journal

Tasks = dict[tuple[str, int], Sequence[float]]

OLD: Tasks = {("off", 1): [10.0, 10.1, 9.9], ("mtp", 1): [20.0, 20.2, 19.8]}
NEW: Tasks = {("off", 1): [10.0, 10.1, 9.9], ("mtp", 1): [30.0, 30.3, 29.7]}
DONE = [journal("started"), journal("complete")]


def run(tasks: Tasks, *, digest: str = "d", build: str = "b1", **how: Any) -> Run:
    """A finished run."""
    make = Maker()
    names = dict.fromkeys(name for name, _ in tasks)
    starts = [make.start(name, build=build, speculative=name != "off") for name in names]
    found = make.run(tasks, **{"journal": DONE, "starts": starts, **how})
    facts = msgspec.structs.replace(found.manifest.workload, digest=digest)
    manifest = msgspec.structs.replace(found.manifest, workload=facts)
    return Run(
        manifest=manifest, starts=found.starts, trials=found.trials, requests=found.requests, journal=found.journal
    )


def test_two_runs_are_compared_cell_by_cell(tmp_path: Path) -> None:
    """Exit 0; speculation is faster, the rest the same, and what may be compared is listed as different."""
    old, new = written(tmp_path / "old", run(OLD)), written(tmp_path / "new", run(NEW, build="b2"))
    result = invoked("compare", str(old), str(new))
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "mtp at 1 agent: B did 1.50 times the tasks per hour of A" in text
    assert "off at 1 agent: B did 1.00 times" in text
    assert "off, mtp: build b1 → b2" in text
    assert "their rounds are not paired" in text
    document = json.loads(invoked("compare", str(old), str(new), "--json").out)
    assert document["schema"] == "loadgen-compare/1"
    assert {one["variant"]: one["call"] for one in document["comparisons"]} == {"off": "same", "mtp": "faster"}


def test_other_work_is_refused_unless_allowed(tmp_path: Path) -> None:
    """Exit 2 with the reason and the option; allowed, it is marked."""
    old, new = written(tmp_path / "old", run(OLD)), written(tmp_path / "new", run(NEW, digest="e"))
    result = invoked("compare", str(old), str(new))
    assert result.code == 2
    assert "they differ in workload chat d → chat e" in result.err
    assert "--allow-different workload" in result.err
    allowed = invoked("compare", str(old), str(new), "--allow-different", "workload")
    assert allowed.code == 0
    assert "workload chat d → chat e (allowed)" in allowed.out


def test_variants_are_matched_by_name_or_as_told(tmp_path: Path) -> None:
    """Other names find each other by --map only."""
    old = written(tmp_path / "old", run({("mtp", 1): [10.0] * 3}))
    new = written(tmp_path / "new", run({("mtp-5", 1): [20.0] * 3}))
    result = invoked("compare", str(old), str(new))
    assert result.code == 2
    assert "the first has mtp, the second mtp-5; hold one against another with --map A=B" in result.err
    mapped = invoked("compare", str(old), str(new), "--map", "mtp=mtp-5")
    assert mapped.code == 0
    assert "mtp → mtp-5 at 1 agent: B did 2.00 times" in mapped.out
    wrong = invoked("compare", str(old), str(new), "--map", "mtp=off")
    assert wrong.code == 2
    assert "the first run has mtp, the second mtp-5" in wrong.err


def test_no_common_cell(tmp_path: Path) -> None:
    """Exit 2 with the cells of both."""
    old = written(tmp_path / "old", run({("off", 1): [10.0] * 3}))
    new = written(tmp_path / "new", run({("off", 2): [10.0] * 3}))
    result = invoked("compare", str(old), str(new))
    assert result.code == 2
    assert "no cell in common: the first has off at 1, the second off at 2" in result.err


def test_one_round_has_no_interval(tmp_path: Path) -> None:
    """It is shown and left unresolved; exit 0."""
    old, new = written(tmp_path / "old", run({("off", 1): [10.0]})), written(tmp_path / "new", run(OLD))
    result = invoked("compare", str(old), str(new))
    assert result.code == 0
    assert "(1 and 3 rounds, no interval below 3): unresolved." in " ".join(result.out.split())


def test_incomplete_runs_are_compared_and_called_so(tmp_path: Path) -> None:
    """A run that was interrupted says so at its head and among what to mind."""
    old = written(tmp_path / "old", run(OLD))
    new = written(tmp_path / "new", run(NEW, journal=[journal("started"), journal("interrupted")]))
    result = invoked("compare", str(old), str(new))
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "incomplete (interrupted)" in text
    assert "B is incomplete: the rounds that it has are compared." in text


def test_no_valid_trial_in_common_is_exit_4(tmp_path: Path) -> None:
    """Cells there are, but nothing valid on one side."""
    dead = run(NEW)
    trials = [msgspec.structs.replace(trial, server_alive=False) for trial in dead.trials]
    old = written(tmp_path / "old", run(OLD))
    new = written(
        tmp_path / "new", Run(manifest=dead.manifest, trials=trials, requests=dead.requests, journal=dead.journal)
    )
    result = invoked("compare", str(old), str(new))
    assert result.code == 4
    assert "no cell has valid trials in both runs" in result.err


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [("old", "old", "is the same run twice"), ("old", "nothing", "is not a run folder")],
)
def test_what_is_no_pair_of_runs(tmp_path: Path, first: str, second: str, message: str) -> None:
    """Exit 2 and why."""
    written(tmp_path / "old", run(OLD))
    result = invoked("compare", str(tmp_path / first), str(tmp_path / second))
    assert result.code == 2
    assert message in result.err


def test_what_can_be_allowed_is_what_forbids() -> None:
    """The option's words are the analysis's fields."""
    assert {one.value for one in Allowed} == set(VOIDS)
