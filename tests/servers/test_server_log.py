"""The last load of a log, wherever it lies, and one sentence where it can't be had."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.server_log import ServerLog
from loadgen.servers.server_log import KEPT_BYTES, LogError, read_last_load

MIB = 1 << 20
FIRST = (
    "0.00.001.000 I srv    load_model: loading model '/m/first.gguf'\nload_tensors: CPU model buffer size = 1.00 MiB\n"
)
LAST = "main: loading model\nload_tensors: CPU model buffer size = 2.00 MiB\nmain: model loaded\n"
WORK = "slot update_slots: id  0 | task 1 | loading model tensors is not how a load begins\n"


def program(folder: Path, name: str, script: str) -> str:
    """A stand-in for a program; returns the folder to look for it in."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(folder)


async def of_file(path: Path, port: int | None = None) -> str:
    """The last load in a file."""
    return await read_last_load(ServerLog("file", str(path)), port=port)


@pytest.mark.parametrize("between", [0, 1, 12_000, 13_000, 40_000])
@pytest.mark.parametrize("behind", [0, 12_900, 40_000])
async def test_the_last_load_of_a_file_is_found_however_much_came_after_it(
    tmp_path: Path, between: int, behind: int
) -> None:
    """Across the blocks in which the file is read backwards; what follows is bounded."""
    log = tmp_path / "server.log"
    log.write_text(FIRST + WORK * between + LAST + WORK * behind)
    found = await of_file(log)
    assert found.startswith(LAST)
    assert len(found.encode()) == min(KEPT_BYTES, len((LAST + WORK * behind).encode()))


@given(st.integers(0, 300), st.integers(0, 300))
async def test_a_load_at_any_place_of_a_block_is_found(
    tmp_path_factory: pytest.TempPathFactory, before: int, after: int
) -> None:
    """Its line may begin right before, at or right behind the border of a block."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    tail = "x" * (MIB - len(LAST) - 150 + after) + "\n"
    log.write_text("y" * before + "\n" + FIRST + LAST + tail)
    assert (await of_file(log)).startswith(LAST)


async def test_a_log_without_a_load_is_its_beginning(tmp_path: Path) -> None:
    """The line was never printed, or lies in an older file; an empty log is empty."""
    log = tmp_path / "server.log"
    log.write_text(WORK * 30_000)
    assert await of_file(log) == WORK * 30_000
    log.write_text("")
    assert await of_file(log) == ""


async def test_of_a_routers_log_the_load_of_one_server_is_found(tmp_path: Path) -> None:
    """By its port, which a router pads to five places."""
    lines = [f"[{port:5d}] {line}" for port in (8081, 40123) for line in FIRST.splitlines()]
    log = tmp_path / "router.log"
    log.write_text("\n".join(lines))
    assert await of_file(log, port=8081) == "\n".join(lines)
    assert await of_file(log, port=40123) == "\n".join(lines[2:])


@pytest.mark.parametrize(("kind", "name"), [("journal", "journalctl"), ("docker", "docker")])
async def test_programs_are_asked_with_a_list_of_words(tmp_path: Path, kind: str, name: str) -> None:
    """No shell reads them; both of their channels count."""
    text = FIRST + LAST
    path = program(tmp_path, name, f'printf "%s|" "$@" >{tmp_path}/words\nprintf "{text}" >&2\nprintf "{WORK}"')
    source = ServerLog("journal" if kind == "journal" else "docker", "llama")
    assert await read_last_load(source, path=path) == LAST + WORK
    asked = (tmp_path / "words").read_text()
    assert asked == ("-u|llama|-o|cat|--no-pager|" if kind == "journal" else "logs|llama|")


async def test_what_a_program_prints_is_kept_within_bounds(tmp_path: Path) -> None:
    """A flood behind the load is read to its end and not kept; the last load counts here too."""
    path = program(
        tmp_path, "docker", f"echo '{FIRST.replace(chr(39), '')}'\nyes '{'z' * 80}' | head -c {3 * KEPT_BYTES}"
    )
    found = await read_last_load(ServerLog("docker", "llama"), path=path)
    assert found.startswith("0.00.001.000 I srv    load_model: loading model")
    assert len(found) == KEPT_BYTES


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 'Error response from daemon: No such container: llama' >&2\nexit 1",
            "1: Error response from daemon: No",
        ),
        ("echo 'permission denied while trying to connect' >&2\nexit 1", "permission denied while trying to connect"),
        ("exit 3", "docker ended with 3: it said nothing"),
        (f"echo {'a' * 3000}\nexit 1", "docker ended with 1: a{200}$"),
        ("exec sleep 60", "docker takes longer than 0.2 s"),
    ],
)
async def test_a_program_that_fails_is_one_sentence(tmp_path: Path, script: str, message: str) -> None:
    """With its last words, cut; one that does not end is ended."""
    path = program(tmp_path, "docker", script)
    within_s = 0.2 if "sleep" in script else 60.0
    path = f"{path}:{os.environ['PATH']}"
    with pytest.raises(LogError, match=message):
        await read_last_load(ServerLog("docker", "llama"), path=path, within_s=within_s)


async def test_a_program_that_is_missing_is_told(tmp_path: Path) -> None:
    """As is a journal without entries."""
    with pytest.raises(LogError, match="the program journalctl is not found"):
        await read_last_load(ServerLog("journal", "llama"), path=str(tmp_path))
    path = program(tmp_path, "journalctl", "echo '-- No entries --'")
    with pytest.raises(LogError, match="the journal has no entries of the unit llama that may be read here"):
        await read_last_load(ServerLog("journal", "llama"), path=path)


async def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    """A missing file, a folder, and a pipe that would never end."""
    with pytest.raises(LogError, match="can't be read: No such file or directory"):
        await of_file(tmp_path / "none.log")
    with pytest.raises(LogError, match="is no file"):
        await of_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LogError, match="is no file"):
        await of_file(tmp_path / "pipe")
