"""`loadgen memory`: a pasted command, its memory, and one sentence for whatever is wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loadgen.cli.app import app
from loadgen.errors import UsageError
from loadgen.gguf.tiny import write_tiny_model
from tests.cli.conftest import loadgen
from tests.gguf.make import gemma3

MIB = 1 << 20

LOG = """
0.00.120.005 I common_memory_breakdown_print: |   - Host               |        112 =    69 +      30 +      12     |
0.00.170.504 I load_tensors:   CPU_Mapped model buffer size =    69.08 MiB
0.00.030.400 I llama_context: constructing llama_context
0.00.030.541 I llama_context:        CPU  output buffer size =     0.02 MiB
0.00.181.991 I llama_kv_cache:        CPU KV buffer size =     4.00 MiB
0.00.228.859 I llama_memory_recurrent:        CPU RS buffer size =    26.25 MiB
0.00.228.919 I llama_memory_recurrent: size =   26.25 MiB (     4 cells,   8 layers,  4 seqs  7 rs_seq)
0.00.040.224 I sched_reserve:        CPU compute buffer size =    12.77 MiB
0.00.055.900 I srv    load_model: creating MTP draft context against the target model
0.00.055.960 I llama_context: constructing llama_context
0.00.055.987 I llama_context:        CPU  output buffer size =     0.02 MiB
0.00.056.125 I llama_kv_cache:        CPU KV buffer size =     2.00 MiB
0.00.061.692 I sched_reserve:        CPU compute buffer size =     7.77 MiB
"""
"""Of a real server (b11549) with the command below."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's model."""
    return write_tiny_model(tmp_path_factory.mktemp("model") / "demo.gguf", "demo")


def _command(model: Path) -> list[str]:
    speculation = ["--spec-type", "draft-mtp", "--spec-draft-n-max", "7"]
    return ["--", "llama-server", "-m", str(model), "-np", "4", "-c", "4096", *speculation]


def test_a_command_as_json_beside_its_log(demo: Path, tmp_path: Path) -> None:
    """One object like an entry of a summary's memory; every component that is no estimate equals the log."""
    log = tmp_path / "server.log"
    log.write_text(LOG)
    options = ["--json", "--budget", "24GiB", "--slots", "1,4", "--n-max", "0,7", "--compare-log", str(log)]
    result = loadgen("memory", *options, *_command(demo))
    assert (result.code, result.err) == (0, "")
    said = json.loads(result.out)
    assert (said["variant"], said["source"], said["safety"], said["peak_bytes"]) == ("mtp-7", "predicted", "safe", None)
    assert said["budget_bytes"] == 24 << 30
    assert said["margin_bytes"] == said["budget_bytes"] - said["predicted_bytes"]
    assert {one["component"]: one["equal"] for one in said["log"]} == {
        "model": True,
        "output": True,
        "kv": True,
        "recurrent_state": True,
        "compute": None,
        "mtp_output": True,
        "mtp_kv": True,
        "mtp_compute": None,
    }
    sources = {one["component"]: one["source"] for one in said["ledger"]}
    assert (sources["kv"], sources["compute"], sources["prompt_cache"]) == ("gguf", "fitted", "arguments")
    held = {(cell["slots"], cell["n_max"]): cell["held_bytes"] for cell in said["grid"]["cells"]}
    assert held[4, 7] == said["predicted_bytes"]
    # As the log adds up, to the digits that it prints.
    assert abs(held[4, 7] / MIB - (69.08 + 0.02 + 4 + 26.25 + 12.77 + 0.02 + 2 + 7.77)) < 0.03
    assert sorted(held) == [(1, 0), (1, 7), (4, 0), (4, 7)]


def test_a_command_as_text(demo: Path) -> None:
    """Components, what fits, the arithmetic, and what it means."""
    result = loadgen("memory", "--budget", "175MiB", "--memory-margin", "20MiB", "--explain", *_command(demo))
    assert result.code == 0, result.err
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert "recurrent state 26.25 gguf 8 rows a slot" in lines
    assert "checkpoints 172.00 gguf at most, in host memory" in lines
    assert "- recurrent state: 0.82 MiB a slot and row × 4 slots × 8 rows = 26.25 MiB" in lines
    assert any(line.startswith("4 79 fits +96 ") for line in lines)
    assert any(line.startswith("8 88 fits +87 ") and line.endswith("160 tight +15") for line in lines)
    assert "qwen35 rolls back" in result.out


def test_a_model_that_nobody_could_load_here_and_no_speculation(tmp_path: Path) -> None:
    """A header is enough; what is missing of the file is said, and the grid has one column."""
    result = loadgen("memory", "--context", "2048,8192", "--", "llama-server", "-m", str(gemma3(tmp_path / "g.gguf")))
    assert result.code == 0, result.err
    assert "with 2,048 tokens of context a slot" in result.out
    assert "with 8,192 tokens of context a slot" in result.out
    assert "the download is incomplete" in " ".join(result.out.split())


@pytest.mark.parametrize(
    ("options", "command", "message"),
    [
        ([], ["llama-server", "-hf", "a/b"], "name the file with -m"),
        ([], ["llama-server", "-m", "/nowhere/m.gguf"], "can't read /nowhere/m.gguf: No such file"),
        (["--budget", "lots"], ["llama-server", "-m", "DEMO"], "--budget: 'lots' is not a size"),
        (["--slots", "0"], ["llama-server", "-m", "DEMO"], "--slots 0: the least is 1"),
        (["--n-max", "x"], ["llama-server", "-m", "DEMO"], "--n-max x: write up to 64 whole numbers"),
        (["--n-max", "3"], ["llama-server", "-m", "DEMO"], "--n-max needs speculation in the command"),
        (["--compare-log", "/nowhere.log"], ["llama-server", "-m", "DEMO"], "can't read --compare-log /nowhere.log"),
        (["--compare-log", "DEMO"], ["llama-server", "-m", "DEMO"], "says nothing of memory"),
        ([], ["llama-server", "-m", "DEMO", "-md", "x.gguf"], "never used"),
        ([], ["llama-server", "-m", "DEMO", "-np", "x"], "-np x in the command is no whole number"),
    ],
)
def test_what_is_wrong_is_one_sentence(demo: Path, options: list[str], command: list[str], message: str) -> None:
    """A `UsageError`, which `main` turns into its sentence and exit 2."""
    named = [word.replace("DEMO", str(demo)) for word in (*options, "--", *command)]
    error = CliRunner().invoke(app, ["memory", *named]).exception
    assert isinstance(error, UsageError)
    assert message in str(error)
