"""Rules of the benchmark of the analysis, and of the run folder that it reads."""

from pathlib import Path

import pytest

from benchmarks.analysis import main
from benchmarks.big_run import LEVELS, ROUNDS, VARIANTS, write_big_run
from loadgen.analysis.summary import summarise
from loadgen.records.run import Run
from loadgen.records.run_folder import read_run

_REQUESTS = 4800
"""30 a trial: no agent of 16 is without a segment."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A small one of the big runs, read back."""
    folder = tmp_path_factory.mktemp("big") / "run"
    write_big_run(folder, requests=_REQUESTS, seed=1)
    return read_run(folder)


def test_a_big_run_holds_as_many_requests_as_asked_for_and_all_their_events(run: Run) -> None:
    """One event a token; a fifth of the requests have about 100, the others about a dozen."""
    requests = list(run.requests)
    assert len(requests) == _REQUESTS
    assert all(len(list(run.events(request))) == request.completion_tokens for request in requests[:200])
    long = [request.token_events for request in requests if request.token_events >= 80]
    assert len(long) / _REQUESTS == pytest.approx(0.2, abs=0.03)
    assert sum(long) / len(long) == pytest.approx(100, abs=3)


def test_a_big_run_is_a_valid_one(run: Run) -> None:
    """The real analysis finds nothing wrong with any of its trials, and everything measured."""
    found = summarise(run)
    assert found["invalid"] == []
    assert len(found["cells"]) == len(VARIANTS) * len(LEVELS)
    assert all(cell["valid_trials"] == ROUNDS for cell in found["cells"])
    assert len(found["comparisons"]) == (len(VARIANTS) - 1) * len(LEVELS)
    assert all(cell["step_gap_s"]["p50"]["value"] > 0.01 for cell in found["cells"])
    drafting = [cell["acceptance_rate"]["value"] for cell in found["cells"] if cell["variant"] != "off"]
    assert all(0.3 < rate < 0.9 for rate in drafting)


def test_equal_seeds_write_equal_folders(tmp_path: Path) -> None:
    """To the byte."""
    for name in ("a", "b"):
        write_big_run(tmp_path / name, requests=160, seed=3)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) > ROUNDS * len(VARIANTS) * len(LEVELS)
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)


def test_the_benchmark_says_what_the_analysis_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Time, its ratio to plain decoding, and peak memory, each in a process of its own; whether it is too much."""
    status = main(["--requests", "800", "--repeats", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("800 requests: ")
    assert "times as long" in lines[2]
    assert lines[3].startswith("most memory held:")
    assert lines[4] == ("OUT" if status else "ok")
