"""`loadgen ab --tune` as its users start it."""

import json
import os
from pathlib import Path

import pytest

from loadgen.gguf.tiny import write_tiny_model
from tests.cli.conftest import API_KEY, loadgen

MTP = ["--", "llama-server", "-m", "m.gguf", "-np", "4", "-c", "8192", "--spec-type", "draft-mtp"]
TUNE = ["ab", "--tune", "--agents", "3"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["ab", "--tune", *MTP], "add --agents N"),
        ([*TUNE, "--", "llama-server", "-m", "m.gguf"], "no speculation to compare"),
        ([*TUNE, "--tune-n-max", "3,3", *MTP], "one candidate beside off, mtp-n3, so nothing to choose from"),
        ([*TUNE, "--tune-n-max", "0,3", *MTP], "--tune-n-max 0,3: write whole numbers from 1 on"),
        ([*TUNE, "--tune-slots", "4,", *MTP], "--tune-slots 4,: write up to 16 values"),
        ([*TUNE, "--tune-p-min", "0.5,2", *MTP], "--tune-p-min 0.5,2: write probabilities from 0 to 1"),
        ([*TUNE, "--tune-p-min", "nan", *MTP], "--tune-p-min nan: write probabilities from 0 to 1"),
        ([*TUNE, "--tune-type", "draft-simple", *MTP], "without a draft model"),
        ([*TUNE, "-c", "1,2", *MTP], "leave --concurrency out"),
        ([*TUNE, "--aa", *MTP], "leave --aa and --candidate out"),
        (["ab", "--tune-slots", "4,8", *MTP], "--tune-slots belongs to --tune"),
        (["ab", "--tune", "--agents", "3"], "name a command"),
    ],
)
def test_what_can_not_be_tuned(args: list[str], message: str) -> None:
    """Exit 2 and one sentence, before anything starts."""
    result = loadgen(*args)
    assert result.code == 2
    assert message in " ".join(result.err.split())
    assert "Traceback" not in result.err


def test_every_candidate_may_be_too_large(tiny_model: Path) -> None:
    """A budget that only the baseline could take: exit 2, and what to do."""
    command = ["--", "embedded", "-m", str(tiny_model), "-np", "4", "-c", "4096", "--spec-type", "draft-mtp"]
    result = loadgen(*TUNE, "--memory-budget", "1MiB", "--memory-margin", "0B", *command)
    assert result.code == 2
    assert "every candidate is predicted to leave less of --memory-budget" in result.err


def test_a_dry_run_says_how_the_rounds_are_used() -> None:
    """Looks, fresh rounds, the trials to expect, and that memory kept nothing out."""
    result = loadgen(*TUNE, "--dry-run", "--tune-slots", "4,8", "--tune-n-max", "1,2,3,5", *MTP)
    assert result.code == 0
    assert "tuning at 3 agents: 10 candidates, off-np4 among them as the baseline" in result.out
    assert "race: at most 7 rounds; after round 3, 5 and 7 those clearly behind the leader are dropped" in result.out
    assert "then 6 fresh rounds of the winner against off-np4" in result.out
    assert "trials: 82 at most" in result.out
    assert "memory: nothing is kept out for what it is predicted to take:" in result.out
    assert "variant mtp-n5-np8: llama-server -m m.gguf -np 8 -c 16384 --spec-type draft-mtp" in result.out


def test_predicted_memory_keeps_candidates_out(tiny_model: Path) -> None:
    """What doesn't fit the budget is not raced, and both stand in the facts."""
    command = ["--", "embedded", "-m", str(tiny_model), "-np", "2", "-c", "2048", "--spec-type", "draft-mtp"]
    options = ["--tune-n-max", "1,2,64", "--tune-slots", "2,64", "--memory-margin", "0B", "--dry-run", "--json"]
    full = json.loads(loadgen(*TUNE, *options, *command).out)
    sizes = {one["variant"]: one["predicted_bytes"] for one in full["tune"]["candidates"]}
    assert full["tune"]["not_pruned"] == "no --memory-budget was given"
    assert sizes["mtp-n1-np2"] < sizes["mtp-n2-np2"] < sizes["mtp-n64-np64"]
    budget = sizes["mtp-n2-np2"]
    cut = json.loads(loadgen(*TUNE, "--memory-budget", f"{budget}B", *options, *command).out)
    raced = [one["variant"] for one in cut["tune"]["candidates"]]
    assert raced[0] == "off-np2"
    assert "mtp-n2-np2" in raced
    assert "mtp-n64-np64" not in raced
    assert {one["variant"]: one["predicted_bytes"] for one in cut["tune"]["pruned"]}["mtp-n64-np64"] > budget
    assert [one["name"] for one in cut["variants"]] == raced
    assert (cut["tune"]["budget_bytes"], cut["tune"]["margin_bytes"]) == (budget, 0)
    assert (full["levels"], full["under_test"]) == ([3], ["slots", "context_per_slot"])
    assert cut["under_test"] == []


@pytest.mark.live
def test_a_race_ends_with_a_command_line(tmp_path: Path) -> None:
    """Two draft lengths on a real server: a look, a fresh round of the winner alone, and a line to paste.

    Four agents on the larger model: its steps are long against what keeps a busy machine's client waiting.
    """
    model = write_tiny_model(tmp_path / "demo.gguf", size="demo")
    command = [
        *("--", "embedded", "-m", str(model), "-np", "4", "-c", "4096", "-t", "1", "--poll", "0"),
        *("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3.5", "--api-key", API_KEY),
    ]
    options = [
        *("--agents", "4", "--tune-n-max", "1,3", "--workload", "demo", "--max-tokens", "8", "--rounds", "2"),
        *("--time-budget", "1s", "--warmup", "0.2s", "--check-output", "off", "--no-drift-check"),
        *("--memory-source", "none", "--coresident", "--server-cpus", str(min(os.sched_getaffinity(0)))),
    ]
    folder = tmp_path / "run"
    result = loadgen("ab", "--tune", *options, "--json", "--out", str(folder), *command)
    assert result.code in (0, 4), result.err
    entry = json.loads(result.out)["tuning"]
    assert [one["variant"] for one in entry["candidates"]] == ["off", "mtp-n1", "mtp-n3"]
    assert (entry["looks"], entry["race_ended_after"]) == ([1], 1)
    assert entry["finalist"] in ("mtp-n1", "mtp-n3")
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    assert {one["variant"] for one in trials if one["round"] == 1} == {"off", "mtp-n1", "mtp-n3"}
    assert {one["variant"] for one in trials if one["round"] == 2} == {"off", entry["finalist"]}
    commands = {one["variant"]: one["command"] for one in entry["candidates"]}
    assert "--spec-draft-n-max 1 --spec-synth-len 1." in commands["mtp-n1"]
    # Other tests beside this one may keep the client waiting: a fresh round that doesn't count advises nothing.
    assert entry["command"] == (commands[entry["keep"]] if entry["confirmed_rounds"] else None)
    assert all(line.startswith(f"embedded -m {model} -np 4 -c 4096") for line in commands.values())
    assert API_KEY not in (folder / "manifest.json").read_text()
    again = json.loads(loadgen("report", str(folder), "--json").out)
    assert again["tuning"] == entry
