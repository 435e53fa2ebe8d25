"""`loadgen gate`, with and without `--bisect`, from what is typed to the exit code."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pytest

from loadgen.cli.bisection import exit_code
from loadgen.errors import (
    LaunchError,
    LoadgenError,
    NoVerdictError,
    RunInterruptedError,
    ThresholdFailedError,
    ThresholdUnknownError,
    UsageError,
    VariantError,
    WorkloadError,
)
from loadgen.records.manifest import Plan, PlannedTrial
from tests.analysis.conftest import Maker
from tests.cli.conftest import loadgen
from tests.cli.invoked import invoked
from tests.records.folder import written
from tests.records.make import journal

SHORT = (
    *("--workload", "demo", "--time-budget", "1s", "--warmup", "0.2s", "-c", "2", "--rounds", "1"),
    "--no-drift-check",
)
"""A run as short as it gets."""


@pytest.mark.parametrize(
    ("error", "good_stands", "code"),
    [
        (ThresholdFailedError("x"), True, 1),
        (ThresholdUnknownError("x"), True, 125),
        (LaunchError("x"), True, 125),
        (VariantError("x"), True, 125),
        (NoVerdictError("x"), True, 125),
        (LaunchError("x"), False, 203),
        (NoVerdictError("x"), False, 204),
        (UsageError("x"), True, 202),
        (WorkloadError("x"), True, 202),
        (LoadgenError("x"), True, 201),
        (RunInterruptedError("x"), True, 130),
    ],
)
def test_what_a_bisection_is_told(error: LoadgenError, good_stands: bool, code: int) -> None:
    """1 only where it got worse, 125 where this commit can't be judged, above 127 where none could be."""
    assert exit_code(error, good_stands=good_stands) == code


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "name both sides"),
        (["--good", "a"], "name both sides"),
        (["--good", "'a", "--new", "b"], "--good: No closing quotation"),
        (["--good", "-t 1", "--new", "-t 2"], "--good names no program"),
        (["--good", "a", "--new", "b", "--fail-on", "speed>=1"], "'speed' is no metric"),
        (["--good", "a", "--new", "b", "--fail-on", "mtp:failures<=1%"], "there is good, new"),
        (["--good", "a", "--new", "b", "--fail-on", "speedup@3>=1"], "3 agents are not measured; there is 1, 2, 4"),
        (["--good", "a", "--new", "b", "--junit", "/no/such/folder/x"], "the folder is not there"),
        (["--good", "a", "--new", "b", "--stop-when-known"], "a gate measures all its rounds"),
        (["--no-such-option"], "No such option"),
        (["--at-least", "much"], "--at-least"),
    ],
)
def test_usage_errors_never_call_a_commit_bad(args: list[str], message: str) -> None:
    """Exit 2, and 202 with --bisect."""
    plain, bisecting = invoked("gate", *args), invoked("gate", "--bisect", *args)
    assert (plain.code, bisecting.code) == (2, 202)
    for result in (plain, bisecting):
        assert message in result.err


def test_a_word_behind_the_dashes_is_no_option_of_ours() -> None:
    """`--bisect` among the server's arguments asks for no bisection."""
    assert invoked("gate", "--no-such-option", "--", "--bisect").code == 2


@pytest.mark.parametrize(
    ("good", "new", "plain", "bisecting"),
    [
        ("/bin/true", "/no/such/program", 3, 125),
        ("/no/such/program", "/bin/true", 3, 203),
        ("/no/such/program", "/no/such/program", 3, 203),
        ("/bin/true", "/bin/true -x", 3, 203),
    ],
)
def test_a_side_that_does_not_start(tmp_path: Path, good: str, new: str, plain: int, bisecting: int) -> None:
    """Exit 3; a bisection skips what is new, and stops where what is good doesn't start. JUnit holds the error."""
    for options, code in (([], plain), (["--bisect"], bisecting)):
        junit = tmp_path / f"gate{code}.xml"
        args = ["--out", str(tmp_path / f"run{code}"), "--junit", str(junit), "--good", good, "--new", new]
        result = invoked("gate", *options, *args, "--", "-a", "x")
        assert result.code == code
        root = parse(junit).getroot()  # noqa: S314 - our own text
        assert root is not None
        assert root.get("errors") == "1"


def test_a_dry_run_shows_both_sides(tmp_path: Path) -> None:
    """Nothing is started; levels are those that were asked for."""
    args = ["--out", str(tmp_path / "run"), "--good", "./v1/llama-server", "--new", "./v2/llama-server -fa on"]
    result = invoked("gate", *args, "-c", "1,2", "--dry-run", "--", "-m", "m.gguf")
    assert result.code == 0
    assert "variant good (baseline): ./v1/llama-server -m m.gguf" in result.out
    assert "variant new: ./v2/llama-server -fa on -m m.gguf" in result.out
    assert "concurrency: 1, 2" in result.out
    document = json.loads(invoked("gate", *args, "--dry-run", "--json", "--", "-m", "m.gguf").out)
    assert (document["under_test"], document["aa"]) == (["build", "kv"], False)
    assert (document["stop_when_known"], document["add_levels"]) == (False, False)
    assert not (tmp_path / "run").exists()


FAST: dict[tuple[str, int], Sequence[float]] = {("good", 2): [50.0, 50.5, 49.5], ("new", 2): [50.2, 50.4, 49.6]}
SLOW: dict[tuple[str, int], Sequence[float]] = {("good", 2): [50.0, 50.5, 49.5], ("new", 2): [40.0, 40.5, 39.5]}
NOISY: dict[tuple[str, int], Sequence[float]] = {("good", 2): [50.0, 60.0, 40.0], ("new", 2): [40.0, 55.0, 50.0]}


def finished(path: Path, tasks: dict[tuple[str, int], Sequence[float]], **how: Any) -> Path:
    """The folder of a run from which nothing is missing."""
    make = Maker()
    variants = [{"kind": "url", "name": name, "url": f"http://{name}:1"} for name in ("good", "new")]
    journals = [journal("started"), journal("complete")]
    run = make.run(tasks, levels=[2], variants=variants, journal=journals, **how)
    trials = [
        PlannedTrial(
            trial=one.trial,
            round=one.round,
            variant=one.variant,
            level=2,
            order=one.order,
            turns_per_agent=1,
            short=False,
        )
        for one in run.trials
    ]
    plan = Plan(rounds=3, trials=trials, dropped_levels=[], estimated_s=1, turn_s={})
    return written(path, replace(run, plan=plan))


@pytest.mark.parametrize(
    ("tasks", "options", "plain", "bisecting"),
    [
        (FAST, [], 0, 0),
        (SLOW, [], 5, 1),
        (SLOW, ["--at-least", "0.7"], 0, 0),
        (NOISY, [], 6, 125),
        (FAST, ["--fail-on", "ttft.p99<=1h"], 6, 125),
        (FAST, ["--fail-on", "good:ttft.max<=1ms"], 5, 1),
    ],
)
def test_a_finished_run_is_judged_again(
    tmp_path: Path, tasks: dict[tuple[str, int], Sequence[float]], options: list[str], plain: int, bisecting: int
) -> None:
    """--resume of a whole run measures nothing: 0, 5 or 6, and to a bisection good, bad or skip."""
    folder = str(finished(tmp_path / "run", tasks))
    result = invoked("gate", *options, "--resume", folder)
    assert result.code == plain, result.err
    title = {0: "Gate: passed", 5: "Gate: failed", 6: "Gate: can't tell"}[plain]
    assert title in result.out
    assert invoked("gate", "--bisect", *options, "--resume", folder).code == bisecting


def test_a_run_is_judged_by_the_criteria_that_it_was_made_with(tmp_path: Path) -> None:
    """`report` and `gate --resume` ask what the run was made for, and other criteria go before those."""
    folder = str(finished(tmp_path / "run", SLOW, at_least=0.7, fail_on=["good:ttft.max<=1h"]))
    for command in (["report", folder], ["gate", "--resume", folder]):
        result = invoked(*command)
        assert result.code == 0, result.err
        assert "at least 0.700: passed" in result.out
        assert "good at 2 agents: ttft" in result.out
    assert invoked("gate", "--resume", folder, "--at-least", "0.97").code == 5
    assert invoked("report", folder, "--fail-on", "speedup>=0.97").code == 5


def test_json_is_one_document_with_the_gate(tmp_path: Path) -> None:
    """Stdout holds it alone, and summary.json the same."""
    folder = finished(tmp_path / "run", SLOW)
    result = invoked("gate", "--json", "--resume", str(folder))
    assert result.code == 5
    document = json.loads(result.out)
    assert (document["schema"], document["gate"]["result"]) == ("loadgen-summary/1", "fail")
    assert json.loads((folder / "summary.json").read_text()) == document


def test_what_can_not_be_told_names_the_command_that_goes_on(tmp_path: Path) -> None:
    """With the same criteria, and the rounds that would tell."""
    folder = finished(tmp_path / "run", {("good", 2): [50.0, 51.0, 49.0], ("new", 2): [51.0, 50.0, 49.0]})
    result = invoked("gate", "--resume", str(folder))
    assert result.code == 6
    found = re.search(r"go on with loadgen gate --at-least 0.97 --resume (\S+) --rounds (\d+)", result.err)
    assert found is not None
    assert found[1] == str(folder)
    assert int(found[2]) > 3


def test_wrong_answers_of_the_new_side_are_skipped_and_of_the_good_side_stop(tmp_path: Path) -> None:
    """Exit 4 whatever else holds, and to a bisection a commit to skip, or no good side."""
    make = Maker()
    new = finished(tmp_path / "new", FAST, checks=[make.check("new", crossed=True)])
    result = invoked("gate", "--resume", str(new))
    assert result.code == 4
    assert "the output check failed, so nothing is said of new" in result.out
    assert invoked("gate", "--bisect", "--resume", str(new)).code == 125
    good = finished(tmp_path / "good", FAST, checks=[make.check("good", crossed=True)])
    assert invoked("gate", "--bisect", "--resume", str(good)).code == 204


@pytest.mark.live
def test_real_servers_are_measured_and_judged(tmp_path: Path, tiny_model: Path) -> None:
    """One round of a server against itself: no interval, so it can't be told; 4 where a trial didn't count."""
    run, junit = tmp_path / "run", tmp_path / "gate.xml"
    sides = [
        "--good",
        "embedded",
        "--new",
        "embedded",
        "--",
        "-m",
        str(tiny_model),
        "-np",
        "2",
        "-c",
        "2048",
        "-t",
        "1",
    ]
    options = ["--json", "--out", str(run), "--junit", str(junit), "--fail-on", "good:tasks_per_hour>0"]
    result = loadgen("gate", *SHORT, *options, *sides, "--poll", "0")
    document = json.loads(result.out)
    valid = all(cell["valid_trials"] for cell in document["cells"])
    assert result.code == (6 if valid else 4), result.err
    assert (document["run"]["aa"], document["run"]["complete"]) == (True, True)
    assert document["gate"]["result"] == "unknown"
    assert [(one["variant"], one["kind"]) for one in document["gate"]["criteria"]] == [
        ("new", "non_inferiority"),
        ("good", "threshold"),
    ]
    assert document["gate"]["criteria"][0]["n"] == valid
    assert json.loads((run / "summary.json").read_text()) == document
    root = parse(junit).getroot()  # noqa: S314 - our own text
    assert root is not None
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["2", "0", "2"]
