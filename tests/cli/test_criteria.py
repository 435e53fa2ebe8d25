"""Thresholds on a finished run: exit codes, the JSON document, JUnit."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pytest

from loadgen.analysis.criteria.gate import AT_LEAST
from loadgen.cli import gate
from loadgen.cli.criteria import check_criteria, error_of, parse_criteria
from loadgen.errors import NoVerdictError, ThresholdFailedError, ThresholdUnknownError, UsageError
from tests.analysis.conftest import Maker
from tests.cli.invoked import invoked
from tests.records.folder import written
from tests.records.make import journal

TASKS: dict[tuple[str, int], Sequence[float]] = {
    ("good", 1): [100.0, 101.0, 99.0, 100.0, 100.0],
    ("new", 1): [99.0, 101.0, 98.5, 100.0, 99.0],
    ("good", 4): [50.0, 50.5, 49.5, 50.0, 50.0],
    ("new", 4): [40.0, 41.0, 39.0, 40.0, 40.0],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run: `new` does as much as `good` at 1 agent, and 0.8 times as much at 4."""
    run = Maker().run(TASKS, journal=[journal("started"), journal("complete")], levels=[1, 4])
    return written(tmp_path_factory.mktemp("runs") / "run", run)


@pytest.mark.parametrize(
    ("thresholds", "code", "said"),
    [
        (["speedup@1>=0.95"], 0, "Gate: passed"),
        (["speedup@4>=0.97"], 5, "failed: speedup@4>=0.97 of new at 4"),
        (["speedup>=0.97"], 5, "Gate: failed"),
        (["speedup@1>=0.99"], 6, "can't be told: speedup@1>=0.99 of new at 1"),
        (["speedup@1>=0.99", "speedup@4>=0.97"], 5, "failed: speedup@4>=0.97"),
        (["good:tasks_per_hour@1>=90", "ttft.p50<=5s"], 0, "good at 1 agent: tasks_per_hour 100"),
        (["memory_peak<=1GiB"], 6, "no memory was seen"),
    ],
)
def test_thresholds_on_a_finished_run_end_in_their_exit_code(
    folder: Path, thresholds: list[str], code: int, said: str
) -> None:
    """0 where all hold, 5 where one fails, else 6 where one can't be told; the report names each."""
    result = invoked("report", str(folder), *(word for text in thresholds for word in ("--fail-on", text)))
    assert result.code == code
    assert said in result.out + result.err


def test_what_can_not_be_told_says_how_to_go_on(folder: Path) -> None:
    """The rounds done and those missing make the command that would tell."""
    result = invoked("report", str(folder), "--fail-on", "speedup@1>=0.99")
    assert f"go on with loadgen sweep --resume {folder} --rounds " in result.err


def test_json_is_the_summary_with_its_gate(folder: Path) -> None:
    """One strict document; without thresholds there is no gate, and summary.json never has one from `report`."""
    result = invoked("report", str(folder), "--json", "--fail-on", "speedup@4>=0.97")
    document = json.loads(result.out)
    assert (result.code, document["schema"], document["gate"]["result"]) == (5, "loadgen-summary/1", "fail")
    assert "gate" not in json.loads(invoked("report", str(folder), "--json").out)
    assert "gate" not in json.loads((folder / "summary.json").read_text())


def test_junit_holds_a_case_for_every_place(folder: Path, tmp_path: Path) -> None:
    """One threshold at two concurrencies: two test cases, one of them failed."""
    path = tmp_path / "gate.xml"
    assert invoked("report", str(folder), "--fail-on", "speedup>=0.9", "--junit", str(path)).code == 5
    root = parse(path).getroot()  # noqa: S314 - our own text
    assert root is not None
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["2", "1", "0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail-on", "speed>=1"], "'speed' is no metric"),
        (["--fail-on", "mtp:speedup>=1"], "no variant is called mtp; there is good, new"),
        (["--fail-on", "good:speedup>=1"], "good is the baseline, and has no speedup"),
        (["--fail-on", "speedup@8>=1"], "8 agents are not measured; there is 1, 4"),
        (["--junit", "gate.xml"], "--junit writes what --fail-on asks"),
        (["--fail-on", "speedup>=1", "--junit", "/no/such/folder/gate.xml"], "the folder is not there"),
    ],
)
def test_criteria_that_can_not_be_asked(folder: Path, options: list[str], message: str) -> None:
    """Exit 2, naming what there is."""
    result = invoked("report", str(folder), *options)
    assert result.code == 2
    assert message in result.err


def test_a_lone_variant_has_no_speed_up() -> None:
    """Nothing to compare it with."""
    experiment: dict[str, Any] = {"variants": [{"name": "server"}], "baseline": "server", "levels": [1]}
    with pytest.raises(UsageError, match="server is the baseline"):
        check_criteria(parse_criteria(["speedup>=1"]), experiment)
    with pytest.raises(UsageError, match="there is one: server"):
        check_criteria(parse_criteria([], 0.97), experiment)
    check_criteria(parse_criteria(["tasks_per_hour>=1", "server:ttft.p50@1<=1s"]), experiment)


def test_failing_goes_before_what_can_not_be_told() -> None:
    """One of each: exit 5; without rounds to advise there is no command. Wrong answers go before everything."""
    plain = {"criterion": "x", "variant": "new", "concurrency": None, "more_rounds": None}
    fail, unknown = {**plain, "result": "fail"}, {**plain, "result": "unknown"}
    document: dict[str, Any] = {
        "gate": {"criteria": [unknown, fail]},
        "comparisons": [],
        "cells": [],
        "output_check": [],
        "tuning": None,
    }
    assert isinstance(error_of(document, ["x"]), ThresholdFailedError)
    document["gate"]["criteria"] = [unknown]
    error = error_of(document, ["x"])
    assert isinstance(error, ThresholdUnknownError)
    assert str(error) == "can't be told: x of new"
    document["gate"]["criteria"] = [{**plain, "result": "pass"}]
    assert error_of(document, ["x"]) is None
    document["output_check"] = [{"variant": "new", "result": "failed"}]
    assert isinstance(error_of(document, ["x"]), NoVerdictError)


def test_criteria_become_options_again() -> None:
    """What goes on with a run asks the same of it."""
    criteria = parse_criteria(["ttft.p95<=2s"], 0.97)
    assert criteria.as_options() == ["--at-least", "0.97", "--fail-on", "ttft.p95<=2s"]


def test_the_limit_of_the_command_is_that_of_the_analysis() -> None:
    """The command knows it without importing the analysis."""
    assert gate.AT_LEAST == AT_LEAST
