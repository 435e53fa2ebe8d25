"""Experiment files, several commands and A/A on the command line, and what goes before what."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from loadgen.cli.ab import DEFAULTS
from loadgen.cli.app import app
from loadgen.cli.options import Field
from loadgen.cli.shared import FALLBACKS
from loadgen.cli.sweep import FILE_DEFAULTS, is_file
from loadgen.errors import LoadgenError
from loadgen.experiment.levels import parse_levels
from loadgen.experiment.model import Difference, Experiment
from loadgen.experiment.schedule import WARMUP_S
from loadgen.units import parse_duration_s
from tests.cli.conftest import Result

FILE = """
levels: [3]
time_budget: 5m
insecure: true
base: {program: llama-server, args: -m m.gguf -np 4 --api-key hush}
matrix: {--spec-draft-n-max: [0, 3], -np: [4]}
variants:
  - {name: off}
  - {name: mtp, args: --spec-type draft-mtp}
"""


def invoked(*args: str, **variables: str) -> Result:
    """A command, run in this process: starting Python takes longer than what these tests look at."""
    done = CliRunner().invoke(app, list(args), env={"COLUMNS": "200", **variables})
    if isinstance(done.exception, LoadgenError):
        return Result(done.exception.exit_code, done.stdout, f"{done.stderr}{done.exception}")
    return Result(done.exit_code, done.stdout, done.stderr)


def planned(*args: str, **variables: str) -> dict[str, Any]:
    """The experiment that a command would run."""
    result = invoked(*args[:1], "--dry-run", "--json", *args[1:], **variables)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


@pytest.fixture
def file(tmp_path: Path) -> str:
    """An experiment file."""
    path = tmp_path / "night.yaml"
    path.write_text(FILE)
    return str(path)


def test_a_file_is_run_with_its_values_and_the_defaults(file: str) -> None:
    """Variants are written out, secrets masked, notes on stderr, stdout one document."""
    result = invoked("sweep", file, "--dry-run", "--json")
    assert result.code == 0
    assert result.err == "note: off-np4 is the same command as off: it runs once\n"
    asked = json.loads(result.out)
    assert [variant["name"] for variant in asked["variants"]] == ["off", "mtp-n3-np4"]
    assert (asked["levels"], asked["time_budget_s"], asked["wait_s"], asked["insecure"]) == ([3], 300, 600, True)
    assert "hush" not in result.out + result.err


def test_an_option_goes_before_its_variable_the_variable_before_the_file(file: str) -> None:
    """And the file before the default."""
    budget = "--time-budget"
    assert planned("sweep", file)["time_budget_s"] == 300
    assert planned("sweep", file, LOADGEN_TIME_BUDGET="6m")["time_budget_s"] == 360
    assert planned("sweep", file, budget, "7m", LOADGEN_TIME_BUDGET="6m")["time_budget_s"] == 420
    changed = planned(
        *("sweep", file, "-c", "1,2", "--no-drift-check", "--check-output", "full", "--coresident"),
        *("--allow-different", "build", "--allow-different", "kv", "--body", "top_k=1", "--seed", "9"),
        LOADGEN_INSECURE="0",
        LOADGEN_RESTART_PER_LEVEL="1",
    )
    assert (changed["levels"], changed["drift_check"], changed["check_output"]) == ([1, 2], False, "full")
    assert (changed["coresident"], changed["restart_per_level"], changed["insecure"]) == (True, True, False)
    assert (changed["allow_different"], changed["body"], changed["seed"]) == (["build", "kv"], {"top_k": 1}, 9)


def test_the_shown_defaults_are_those_of_the_experiment() -> None:
    """What --help says is what happens."""
    fields = Experiment.model_fields
    assert parse_duration_s(FALLBACKS["time_budget"]) == fields["time_budget_s"].default == DEFAULTS["time_budget_s"]
    assert parse_duration_s(FALLBACKS["warmup"]) == fields["warmup_s"].default == WARMUP_S
    assert (int(FALLBACKS["seed"]), float(FALLBACKS["min_effect"])) == (fields["seed"].default, 0.05)
    assert [field.value for field in Field] == list(get_args(Difference))
    for command, wait, levels in (("ab", "10m", DEFAULTS["levels"]), ("sweep", "2m; 10m", FILE_DEFAULTS["levels"])):
        shown = " ".join(invoked(command, "--help").out.replace("│", " ").split())
        assert f"[default: ({wait}" in shown
        text = re.search(r"such as 1,2,4 or 1\.\.8\. \[default: \((.*?)\)\]", shown)
        assert text is not None
        assert parse_levels(text[1]) == levels


def test_candidates_share_one_baseline() -> None:
    """`off` is the first command without its speculation; every command is compared with it."""
    asked = planned(
        *("ab", "--candidate", "llama-server -m 'a b' --spec-type ngram-mod", "--candidate", "embedded --spec-default"),
        *("--", "llama-server", "-m", "x", "--spec-type", "draft-mtp"),
    )
    assert asked["baseline"] == "off"
    assert [(one["name"], one["program"], one["args"]) for one in asked["variants"]] == [
        ("off", "llama-server", ["-m", "x"]),
        ("mtp", "llama-server", ["-m", "x", "--spec-type", "draft-mtp"]),
        ("ngram-mod", "llama-server", ["-m", "a b", "--spec-type", "ngram-mod"]),
        ("ngram-mod-2", "embedded", ["--spec-default"]),
    ]


def test_aa_compares_a_command_with_itself() -> None:
    """Without speculation as well."""
    asked = planned("ab", "--aa", "--", "llama-server", "-m", "x")
    assert asked["aa"] is True
    assert [one["name"] for one in asked["variants"]] == ["off", "off-again"]
    assert asked["variants"][0] == {**asked["variants"][1], "name": "off"}


def test_init_writes_a_file_that_runs_and_replaces_none(tmp_path: Path) -> None:
    """A second time it refuses, unless it is told to."""
    path = tmp_path / "experiment.yaml"
    assert invoked("init", str(path)).code == 0
    assert [one["name"] for one in planned("sweep", str(path))["variants"]] == ["off", "mtp-n1", "mtp-n3"]
    path.write_text("mine")
    again = invoked("init", str(path))
    assert (again.code, path.read_text()) == (2, "mine")
    assert "exists already; --force replaces it" in again.err
    assert invoked("init", "--force", str(path)).code == 0
    assert path.read_text() != "mine"


def test_schema_prints_the_schema() -> None:
    """One JSON document."""
    result = invoked("schema")
    assert result.code == 0
    assert json.loads(result.out)["$schema"].endswith("/2020-12/schema")


def test_a_target_is_a_file_or_an_address(tmp_path: Path) -> None:
    """By its ending, or because it is there; an address never."""
    (tmp_path / "there").touch()
    assert is_file("x.yaml")
    assert is_file("x.yml")
    assert is_file(str(tmp_path / "there"))
    assert not is_file("http://h/x.yaml")
    assert not is_file("h:8080")


MTP = ("--", "llama-server", "-m", "x", "--spec-type", "draft-mtp")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("sweep", "nowhere.yaml"), "nowhere.yaml: No such file or directory; loadgen init writes one"),
        (("sweep", "FOLDER"), "to go on with the run in it: loadgen sweep --resume"),
        (("sweep", "FILE", "--variant", "a=http://h"), "--variant and --model go with addresses"),
        (("sweep", "FILE", "--model", "m"), "--variant and --model go with addresses"),
        (("sweep", "FILE", "--allow-different", "sloots"), "sloots"),
        (("sweep", "FILE", "--resume", "FOLDER", "--out", "x"), "--out beside --resume"),
        (("sweep", "--resume", "FOLDER", "-c", "3"), "--concurrency beside --resume"),
        (("sweep", "--resume", "FOLDER", "--dry-run"), "--dry-run beside --resume"),
        (("sweep", "--resume", "FOLDER"), "is not a run folder"),
        (("sweep", "--variant", "a=http://h", "--variant", "b=http://h"), "b is the same as the baseline a"),
        (("ab", "--resume", "FOLDER", "--seed", "3"), "--seed beside --resume"),
        (("ab", "--resume", "FOLDER"), "is not a run folder"),
        (("ab",), "name a command: loadgen ab -- llama-server"),
        (("ab", "--aa", "--candidate", "x", *MTP), "--aa compares one command with itself"),
        (("ab", "--candidate", "a 'b", *MTP), "--candidate: No closing quotation"),
        (("ab", "--candidate", "llama-server -m x --spec-type draft-mtp", *MTP), "two commands are the same"),
        (("ab", "--check-output", "maybe", *MTP), "maybe"),
        (("init", "FOLDER/none/x.yaml"), "can't write"),
    ],
)
def test_what_cannot_be_meant_is_refused(args: tuple[str, ...], message: str, tmp_path: Path, file: str) -> None:
    """Exit 2, a sentence, no traceback."""
    (tmp_path / "folder").mkdir()
    words = [word.replace("FILE", file).replace("FOLDER", str(tmp_path / "folder")) for word in args]
    result = invoked(*words)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_wrong_candidate_does_not_show_its_key() -> None:
    """The text of a command may hold a key."""
    result = invoked("ab", "--candidate", "llama-server --api-key hush 'x", *MTP)
    assert result.code == 2
    assert "hush" not in result.out + result.err
