"""`loadgen doctor`: what a run would see of the server's memory."""

from pathlib import Path

from tests.cli.conftest import loadgen
from tests.servers.standins.llama import FakeLlama
from tests.servers.test_loadlog import SWA


def test_memory_is_read_by_its_sources_and_attributed_by_the_log(tmp_path: Path) -> None:
    """The process that listens, and the ledger of the log that is named; a log that tells nothing is a note."""
    log = tmp_path / "server.log"
    log.write_text(f"{SWA}srv    load_model: initializing, n_slots = 2, n_ctx_slot = 4096, kv_unified = 'false'\n")
    with FakeLlama() as server:
        told = loadgen("doctor", server.address, "--memory-source", "process", "--server-log", str(log))
        untold = loadgen("doctor", server.address, "--memory-source", "none", "--server-log", "/none.log")
    assert told.code == 0, told.err
    assert "ok       memory by process; " in told.out
    assert "ok       its log tells what its memory is for: 356.75 MiB held from the start" in told.out
    assert "memory by" not in untold.out
    assert "note     what its memory is for can't be told: its log (/none.log): /none.log can't be read" in untold.out
    assert "name its log: --server-log FILE, journal:UNIT or docker:NAME" in untold.out


def test_what_is_no_log_is_a_usage_error() -> None:
    """Before the server is asked."""
    result = loadgen("doctor", "http://127.0.0.1:1", "--server-log", "docker:")
    assert result.code == 2
    assert "--server-log: '' is no name of a container" in result.err
