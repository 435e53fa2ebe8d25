"""What can go wrong before a run: one clear sentence, the right exit code, no traceback."""

import os
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import loadgen


@pytest.fixture
def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@pytest.mark.parametrize("command", ["sweep", "doctor"])
def test_nobody_at_the_address(closed_port: int, command: str, tmp_path: Path) -> None:
    """No server: exit 3 and what to check."""
    out = ["--out", str(tmp_path / "run")] if command == "sweep" else []
    result = loadgen(command, f"http://127.0.0.1:{closed_port}", *out)
    assert result.code == 3
    assert f"nobody answers at http://127.0.0.1:{closed_port}" in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sweep", "http://127.0.0.1:1", "-c", "0"], "starts at 1"),
        (["sweep", "http://127.0.0.1:1", "-c", "abc"], "is no number"),
        (["sweep"], "name a server"),
        (["sweep", "http://127.0.0.1:1", "--body", "stream=false"], "would break the measurement"),
        (["sweep", "http://127.0.0.1:1", "--api-key-env", "LOADGEN_NO_SUCH_KEY"], "LOADGEN_NO_SUCH_KEY"),
        (["sweep", "--variant", "a=http://h", "--variant", "a=http://h"], "two variants share a name"),
        (["sweep", "--variant", "a/b=http://h"], "variants.0.url.name"),
        (["ab", "--", "llama-server", "-m", "m.gguf"], "--spec-type"),
        (["ab", "--", "llama-server", "-m", "m.gguf", "--draft-max", "4"], "--draft-max"),
        (["ab", "--time-budget", "soon", "--", "llama-server", "--spec-type", "ngram-mod"], "--time-budget"),
        (["sweep", "http://127.0.0.1:1", "--memory-budget", "much"], "--memory-budget: 'much' is not a size"),
        (["sweep", "http://127.0.0.1:1", "--memory-source", "gpu"], "a memory source is auto, none"),
        (["report", "/nowhere"], "is not a run folder"),
    ],
)
def test_usage_errors(args: list[str], message: str, tmp_path: Path) -> None:
    """Exit 2 and a sentence that names the option."""
    if args[0] in ("sweep", "ab"):
        args = [args[0], "--out", str(tmp_path / "run"), *args[1:]]
    result = loadgen(*args)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err


def test_a_missing_program(tmp_path: Path) -> None:
    """A binary that isn't there: exit 3 and where it was looked for."""
    result = loadgen(
        "ab", "--out", str(tmp_path / "run"), "--", "no-such-llama-server", "-m", "m.gguf", "--spec-type", "ngram-mod"
    )
    assert result.code == 3
    assert "no-such-llama-server is not found" in result.err


@pytest.mark.live
def test_a_command_that_dies_at_load_shows_its_last_lines(tmp_path: Path) -> None:
    """The server's own reason is in the message: exit 3."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but nothing else")
    result = loadgen(
        "ab", "--out", str(tmp_path / "run"), "--", "embedded", "-m", str(broken), "--spec-type", "ngram-simple"
    )
    assert result.code == 3
    assert "while loading" in result.err
    assert "failed to load model" in result.err
    assert "Traceback" not in result.err


@pytest.mark.live
def test_an_unknown_workload_lists_the_known_ones(tmp_path: Path, command: list[str]) -> None:
    """Exit 2 with the names."""
    result = loadgen("ab", "--workload", "nope", "--out", str(tmp_path / "run"), *command)
    assert result.code == 2
    assert "No workload is called 'nope'" in result.err
    assert "batch-agents-4k" in result.err


def test_an_unwritable_out(tmp_path: Path) -> None:
    """A folder below a file can't be made: exit 2."""
    (tmp_path / "file").write_text("")
    result = loadgen("sweep", "http://127.0.0.1:1", "--out", str(tmp_path / "file" / "run"))
    assert result.code == 2
    assert "can't write to" in result.err


def test_an_existing_run_folder(tmp_path: Path) -> None:
    """An old run is never written into: exit 2."""
    result = loadgen("sweep", "http://127.0.0.1:1", "--out", str(tmp_path))
    assert result.code == 2
    assert "exists already" in result.err


def test_a_dry_run_shows_both_commands(tmp_path: Path) -> None:
    """`--dry-run` prints the derived variants with keys masked, and starts nothing."""
    result = loadgen(
        *("ab", "-c", "1,2", "--dry-run", "--out", str(tmp_path / "run")),
        *("--", "llama-server", "-m", "m.gguf", "--api-key", "hush", "--spec-type", "draft-mtp"),
    )
    assert result.code == 0
    assert "variant off (baseline): llama-server -m m.gguf" in result.out
    assert "variant mtp: llama-server -m m.gguf" in result.out
    assert "hush" not in result.out
    assert not (tmp_path / "run").exists()


def test_help_imports_nothing_heavy() -> None:
    """`loadgen --help` needs neither numpy nor scipy nor httpx nor pydantic."""
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    result = loadgen("--help", env=env)
    assert result.code == 0
    imported = {line.split("|")[-1].strip().split(".")[0] for line in result.err.splitlines() if "|" in line}
    assert "typer" in imported
    assert not imported & {"numpy", "scipy", "httpx", "pydantic", "msgspec", "psutil", "yaml"}
