"""Whole runs against a real llama.cpp server, as users start them."""

import json
import os
import select
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadgen.analysis.measured.trial import trials_of
from loadgen.records.model import Outcome, Phase
from loadgen.records.run_folder import read_run
from loadgen.workload.library import load
from tests.cli.conftest import API_KEY, Result, Running, loadgen

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, command: list[str]) -> tuple[Path, Result]:
    """A short `ab --json` run over two levels: its folder and what it printed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    options = [
        "--workload",
        "demo",
        "-c",
        "1,2",
        "--rounds",
        "1",
        "--time-budget",
        "1s",
        "--warmup",
        "0.3s",
        "--json",
        "--out",
        str(folder),
    ]
    return folder, loadgen("ab", *options, *command)


def strict(text: str) -> Any:
    """JSON as a strict parser reads it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_one_strict_document_equal_to_the_summary(finished: tuple[Path, Result]) -> None:
    """Stdout holds the document alone, progress is on stderr, and summary.json says the same."""
    folder, result = finished
    document = strict(result.out)
    assert document["schema"] == "loadgen-summary/1"
    assert document["run"]["complete"] is True
    assert document == strict((folder / "summary.json").read_text())
    assert "plan: up to 1 rounds" in result.err


def test_report_recomputes_the_summary_from_the_folder(finished: tuple[Path, Result]) -> None:
    """With summary.json deleted, `report --json` gives the run's own document again."""
    folder, result = finished
    (folder / "summary.json").unlink()
    again = loadgen("report", str(folder), "--json")
    assert again.code == 0
    assert strict(again.out) == strict(result.out)
    assert strict((folder / "summary.json").read_text()) == strict(result.out)


def test_the_text_report_shows_every_cell(finished: tuple[Path, Result]) -> None:
    """One row a level and variant, what it says, and what it does not answer."""
    result = loadgen("report", str(finished[0]))
    assert result.code == 0
    for text in ("tasks/h", "speed-up [95 %]", "What it does not answer", "recurrent state"):
        assert text in result.out
    table = result.out.partition("agents variant")[2].partition("\n\n")[0].splitlines()[1:5]
    assert [line[6:].split()[0] for line in table] == ["off", "mtp-3", "off", "mtp-3"]
    assert [line[:6].strip() for line in table] == ["1", "", "2", ""]


def test_every_request_is_recorded_with_one_outcome(finished: tuple[Path, Result]) -> None:
    """Started equals the sum of outcomes, in every cell and in the file."""
    folder, result = finished
    run = read_run(folder)
    for cell in strict(result.out)["cells"]:
        assert cell["started"] == sum(cell["outcomes"].values())
        measured = [
            request
            for request in run.requests
            if request.phase is Phase.SEGMENT
            and (request.variant, request.level) == (cell["variant"], cell["concurrency"])
            and request.round > 0
        ]
        assert Counter(str(request.outcome) for request in measured) == Counter(cell["outcomes"])


def test_only_the_variant_with_speculation_drafts(finished: tuple[Path, Result]) -> None:
    """The server reports drafts in the answers of `mtp-3` and none, not 0, in those of `off`."""
    drafted: dict[str, list[Any]] = {"off": [], "mtp-3": []}
    for request in read_run(finished[0]).requests:
        if request.timings is not None:
            drafted[request.variant].append(request.timings.get("draft_n"))
    assert set(drafted["off"]) == {None}
    assert sum(drafted["mtp-3"]) > 0


def test_all_variants_do_the_same_work(finished: tuple[Path, Result]) -> None:
    """Measured turns of a level are the same sessions and turns for both variants, of exactly 96 tokens."""
    run = read_run(finished[0])
    work: dict[tuple[str, int], list[tuple[int, str, int, int | None]]] = {}
    for request in run.requests:
        if request.phase is Phase.SEGMENT and request.round > 0:
            key = (request.agent, request.session, request.turn, request.completion_tokens)
            work.setdefault((request.variant, request.level), []).append(key)
    for level in (1, 2):
        assert sorted(work["off", level]) == sorted(work["mtp-3", level])
        assert {tokens for *_, tokens in work["off", level]} == {96}
    assert all(len(trial.segments) == trial.level for trial in run.trials)


def test_no_trial_reads_anothers_cache(finished: tuple[Path, Result]) -> None:
    """With salts the first turns of all trials find nothing of their prompt cached."""
    found = [trial.first_turns for trial in trials_of(read_run(finished[0]))]
    assert sum(cached for cached, _ in found) == 0
    assert sum(prompt for _, prompt in found) > 0


def test_the_key_is_used_and_written_nowhere(finished: tuple[Path, Result]) -> None:
    """The pasted --api-key opens the server to us, and no file, log or message of the run holds it."""
    folder, result = finished
    assert {one.status for one in read_run(folder).requests if one.outcome is Outcome.OK} == {200}
    assert not any(one.outcome.failed for one in read_run(folder).requests)
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert len(written) > 8
    assert [path.name for path in written if API_KEY.encode() in path.read_bytes()] == []
    assert API_KEY not in result.out + result.err


def test_prompts_and_answers_are_written_nowhere(finished: tuple[Path, Result]) -> None:
    """No file of the run folder holds a prompt of the workload."""
    folder, _ = finished
    texts = [str(m["content"]).encode() for s in load("demo", seed=1).sessions for m in s.turns[0].messages]
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert not any(text in data for text in texts), path.name


def test_the_memory_ledger_shows_the_rollback_rows(finished: tuple[Path, Result]) -> None:
    """Recurrent state is 1 + 3 times that of `off`, as the load logs say."""
    state = {
        entry["variant"]: next(line for line in entry["ledger"] if line["component"] == "recurrent_state")
        for entry in strict(finished[1].out)["memory"]
    }
    assert state["mtp-3"]["rows"] == 4
    assert state["off"]["rows"] == 1
    assert 3.9 < state["mtp-3"]["bytes"] / state["off"]["bytes"] < 4.1


def long_run(folder: Path, command: list[str]) -> list[str]:
    """Arguments of a run that is far from its end after its first trial."""
    return [
        "ab",
        "--workload",
        "demo",
        "-c",
        "1,2",
        "--rounds",
        "20",
        "--time-budget",
        "1s",
        "--out",
        str(folder),
        *command,
    ]


def wait_for_a_request_of_the_next_trial(folder: Path) -> None:
    """Until the trial behind the last one on record has begun: its first request is written down."""
    while True:
        run = read_run(folder)
        if run.requests and run.trials and run.requests[-1].trial not in {one.trial for one in run.trials}:
            return


def test_a_server_that_dies_once_is_started_again(
    tmp_path: Path, command: list[str], running: Callable[..., Running]
) -> None:
    """The trial is lost with every request on record, the server comes up again, and the run goes on."""
    options = ["--workload", "demo", "-c", "1,2", "--rounds", "2", "--time-budget", "1s"]
    run = running("ab", *options, "--out", str(tmp_path / "run"), *command)
    run.until("1/9")
    wait_for_a_request_of_the_next_trial(tmp_path / "run")
    run.server().send_signal(signal.SIGKILL)
    run.until("died during")
    run.until("3/9")
    result = run.finish()
    assert "Traceback" not in result.err
    summary = strict((tmp_path / "run" / "summary.json").read_text())
    assert summary["run"]["complete"] is True
    assert summary["given_up"] == []
    (dead,) = [one for one in summary["invalid"] if "server_died" in one["reasons"]]
    assert (dead["variant"], dead["round"]) == ("off", 1)
    back = read_run(tmp_path / "run")
    requests = [one for one in back.requests if one.trial == dead["trial"]]
    assert Counter(str(one.outcome) for one in requests) == Counter(dead["outcomes"])
    assert sum(one.outcome.failed for one in requests) >= 1
    assert len([one for one in back.trials if one.round > 0]) == 8


def test_a_variant_whose_server_keeps_dying_is_given_up(
    tmp_path: Path, command: list[str], running: Callable[..., Running]
) -> None:
    """After the second death of the baseline's server nothing can be compared: exit 4, and why."""
    run = running(*long_run(tmp_path / "run", command))
    run.until("1/81")
    run.server().send_signal(signal.SIGKILL)
    run.until("the server of off died")
    run.until("round 1: mtp")
    while not (found := [one for one in read_run(tmp_path / "run").starts if one.variant == "off" and one.round > 1]):
        run.until("round")
    assert found
    run.server().send_signal(signal.SIGKILL)
    result = run.finish()
    assert result.code == 4
    assert "off: its server died more than once" in result.err
    summary = strict((tmp_path / "run" / "summary.json").read_text())
    assert summary["run"]["complete"] is False
    assert [one["variant"] for one in summary["given_up"]] == ["off"]


def test_loadgen_killed_in_mid_trial_leaves_no_server_and_loses_no_request(
    tmp_path: Path, command: list[str], running: Callable[..., Running]
) -> None:
    """After kill -9 of loadgen no process of ours is left, and the finished requests are all readable."""
    run = running(*long_run(tmp_path / "run", command))
    run.until("1/81")
    descriptors = [os.pidfd_open(process.pid) for process in run.servers()]
    assert len(descriptors) == 2
    run.process.kill()
    run.process.wait()
    for descriptor in descriptors:
        ended, _, _ = select.select([descriptor], [], [], 30)
        assert ended
        os.close(descriptor)
    back = read_run(tmp_path / "run")
    (first,) = [trial for trial in back.trials if trial.round > 0]
    done = [one for one in back.requests if one.trial == first.trial and one.phase is Phase.SEGMENT]
    assert len(done) == sum(segment.turns for segment in first.segments)
    report = loadgen("report", str(tmp_path / "run"))
    assert report.code == 0
    assert "incomplete, its process was killed" in report.out


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path, command: list[str], running: Callable[..., Running]) -> None:
    """The first Ctrl-C ends the run with exit 130, a report and no server left."""
    run = running(*long_run(tmp_path / "run", command))
    run.until("1/81")
    descriptors = [os.pidfd_open(process.pid) for process in run.servers()]
    run.process.send_signal(signal.SIGINT)
    result = run.finish()
    assert result.code == 130
    assert "incomplete, interrupted" in result.out
    assert "Traceback" not in result.err
    assert len(read_run(tmp_path / "run").trials) >= 3
    for descriptor in descriptors:
        assert select.select([descriptor], [], [], 0)[0]
        os.close(descriptor)


def test_a_server_that_fails_every_request_has_no_latency(tmp_path: Path, failing_server: str) -> None:
    """Exit 4, no latency printed as a number, every failure counted."""
    result = loadgen("sweep", failing_server, "-c", "1,2", "--time-budget", "60s", "--out", str(tmp_path / "run"))
    assert result.code == 4
    summary = strict((tmp_path / "run" / "summary.json").read_text())
    for cell in summary["cells"]:
        assert cell["ttft_s"]["p50"]["value"] is None
        assert cell["tasks_per_hour"]["value"] is None
        assert cell["valid_trials"] == 0
    assert " ms" not in result.out.split("What it says")[0].split("tasks/h")[1]
    assert "http_error" in result.out
    assert "Traceback" not in result.err
