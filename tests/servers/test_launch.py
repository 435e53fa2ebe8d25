"""A launched server is ready or says why not, and never outlives the one who launched it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from loadgen.errors import LaunchError
from loadgen.experiment.variant import LaunchVariant
from loadgen.servers.launch import LaunchedServer, check_launchable, launch

if TYPE_CHECKING:
    from tests.servers.conftest import Watched

NEVER_READY = ("-c", "import signal; print('here I am', flush=True); signal.pause()")

PARENT = """
import asyncio, sys
from pathlib import Path
from loadgen.experiment.variant import LaunchVariant
from loadgen.servers.launch import launch

async def readiness(url):
    try:
        _, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
    except OSError:
        return None
    writer.close()
    return True

async def main():
    variant = LaunchVariant(name="off", program="embedded", args=("-m", sys.argv[1], "-t", "1", "-c", "512"))
    server = await launch(
        variant, log_path=Path(sys.argv[2]), wait_s=60, readiness=readiness, on_wait=lambda what: None
    )
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _unknown(model: Path, copy: Path) -> Path:
    """A copy of a model with an architecture that no build knows."""
    copy.write_bytes(model.read_bytes().replace(b"qwen35", b"qwen99"))
    return copy


async def _health(url: str) -> bool | None:
    async with httpx.AsyncClient() as client:
        try:
            answer = await client.get(f"{url}/health")
        except httpx.TransportError:
            return None
    return answer.status_code == 200


def _embedded(model: Path, *args: str, name: str = "off") -> LaunchVariant:
    return LaunchVariant(name=name, program="embedded", args=("-m", str(model), "-t", "1", "-c", "512", *args))


async def _launch(variant: LaunchVariant, folder: Path, *, wait_s: float = 60, grace_s: float = 5) -> LaunchedServer:
    return await launch(
        variant,
        log_path=folder / "server.log",
        wait_s=wait_s,
        readiness=_health,
        on_wait=lambda _what: None,
        grace_s=grace_s,
    )


async def _failure(variant: LaunchVariant, folder: Path, *, wait_s: float = 60) -> str:
    with pytest.raises(LaunchError) as caught:
        await _launch(variant, folder, wait_s=wait_s)
    return str(caught.value)


@pytest.mark.live
async def test_a_launched_server_answers_until_it_is_stopped(tiny_model: Path, tmp_path: Path) -> None:
    """It has metrics and a load log without being asked, and stops when told, more than once too."""
    server = await _launch(_embedded(tiny_model, "-np", "2"), tmp_path)
    try:
        assert await _health(server.url)
        async with httpx.AsyncClient() as client:
            assert (await client.get(f"{server.url}/metrics")).status_code == 200
        assert psutil.Process(server.pid).cmdline()[1:3] == ["-m", "loadgen.servers.embedded"]
        assert server.alive()
        assert server.ready_s > 0
        assert "llama_memory_recurrent: size =" in server.log_path.read_text()
        assert len(server.log_tail(3)) == 3
    finally:
        await server.stop()
    await server.stop()
    assert not server.alive()
    assert await _health(server.url) is None


@pytest.mark.live
async def test_a_server_keeps_to_its_cpus(tiny_model: Path, tmp_path: Path) -> None:
    """Every thread of it, so that the others are left to whoever measures; ours stay as they were."""
    ours = os.sched_getaffinity(0)
    first = min(ours)
    server = await _launch(_embedded(tiny_model).model_copy(update={"cpus": f"{first},9999"}), tmp_path)
    try:
        threads = psutil.Process(server.pid).threads()
        assert {frozenset(os.sched_getaffinity(thread.id)) for thread in threads} == {frozenset({first})}
        assert os.sched_getaffinity(0) == ours
    finally:
        await server.stop()


@pytest.mark.live
async def test_keys_are_used_and_never_shown(tiny_model: Path, tmp_path: Path) -> None:
    """The key of the arguments is there for our requests, but in no command and no repr."""
    server = await _launch(_embedded(tiny_model, "--api-key", "sesame,other"), tmp_path)
    try:
        assert server.api_key == "sesame"
        assert "sesame" not in repr(server)
        assert "sesame" not in " ".join(server.command)
        assert server.command[-9:-7] == ("--api-key", "***")
    finally:
        await server.stop()


@pytest.mark.live
@pytest.mark.parametrize(
    ("env", "args", "expected"),
    [
        ({"LLAMA_API_KEY": "a"}, (), "a"),
        ({"LLAMA_API_KEY": "a"}, ("--api-key", "b"), "b"),
        ({}, (), None),
    ],
)
async def test_the_key_comes_from_arguments_or_variables(
    tiny_model: Path, tmp_path: Path, env: dict[str, str | None], args: tuple[str, ...], expected: str | None
) -> None:
    """Variables of the variant reach the server; its arguments go first."""
    variant = _embedded(tiny_model, *args).model_copy(update={"env": env})
    server = await _launch(variant, tmp_path)
    await server.stop()
    assert server.api_key == expected


@pytest.mark.live
async def test_the_pid_is_the_servers_behind_a_wrapper(tiny_model: Path, tmp_path: Path) -> None:
    """A wrapper on the variant's own path, which stays in between, is not taken for the server; all of it ends."""
    (tmp_path / "llama-server").write_text(f'#!/bin/sh\n"{sys.executable}" -m loadgen.servers.embedded "$@"\nexit $?\n')
    (tmp_path / "llama-server").chmod(0o755)
    variant = _embedded(tiny_model).model_copy(
        update={"program": "llama-server", "env": {"PATH": f"{tmp_path}:/usr/bin:/bin"}}
    )
    server = await _launch(variant, tmp_path)
    family = [psutil.Process(server.pid), *psutil.Process(server.pid).parents()[:2]]
    await server.stop()
    assert [process.name() for process in family if process.is_running()] == []
    assert server.command[0] == "llama-server"


@pytest.mark.live
async def test_a_server_that_dies_is_seen(tiny_model: Path, tmp_path: Path, watch: "Callable[[int], Watched]") -> None:
    """`alive` tells it, and stopping it then is no error."""
    server = await _launch(_embedded(tiny_model), tmp_path)
    process = watch(server.pid)
    psutil.Process(server.pid).kill()
    assert process.ends()
    assert not server.alive()
    await server.stop()


@pytest.mark.live
def test_kill_9_of_the_parent_leaves_no_server(
    tiny_model: Path, tmp_path: Path, watch: "Callable[[int], Watched]"
) -> None:
    """When the process that launched is killed, its server and supervisor end."""
    command = [sys.executable, "-c", PARENT, str(tiny_model), str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        descendants = psutil.Process(parent.pid).children(recursive=True)
        watched = [watch(process.pid) for process in descendants]
        parent.kill()
    assert len(watched) == 2
    assert all(process.ends() for process in watched)


async def test_giving_up_leaves_no_server(tmp_path: Path) -> None:
    """A launch that is cancelled ends what it started."""
    waiting = asyncio.Event()
    variant = LaunchVariant(name="off", program=sys.executable, args=NEVER_READY)
    task = asyncio.create_task(
        launch(variant, log_path=tmp_path / "log", wait_s=60, readiness=_health, on_wait=lambda _what: waiting.set())
    )
    await waiting.wait()
    descendants = psutil.Process().children(recursive=True)
    assert len(descendants) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [process for process in descendants if process.is_running()] == []


async def test_a_server_deaf_to_sigterm_is_killed(tmp_path: Path) -> None:
    """llama-server waits for open streams; the wait is bounded."""
    code = """
import signal, socket, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1]))) as listener:
    while True:
        connection = listener.accept()[0]
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        connection.close()
"""
    server = await _launch(LaunchVariant(name="off", program=sys.executable, args=("-c", code)), tmp_path, grace_s=0.1)
    assert server.alive()
    await server.stop()
    assert not server.alive()


async def test_what_is_waited_for_is_told_once(tmp_path: Path) -> None:
    """First the start, then the model, each once; the server counts as ready when `readiness` says so."""
    answers = iter([None, None, False, False, True])
    told: list[str] = []

    async def readiness(_url: str) -> bool | None:
        return next(answers)

    variant = LaunchVariant(name="off", program=sys.executable, args=NEVER_READY)
    server = await launch(variant, log_path=tmp_path / "log", wait_s=60, readiness=readiness, on_wait=told.append)
    await server.stop()
    assert told == ["the server to start", "the model to load"]


async def test_an_error_of_readiness_goes_on(tmp_path: Path) -> None:
    """What the question raises reaches the caller, and the server is ended."""

    async def readiness(_url: str) -> bool | None:
        raise ArithmeticError

    variant = LaunchVariant(name="off", program=sys.executable, args=NEVER_READY)
    with pytest.raises(ArithmeticError):
        await launch(variant, log_path=tmp_path / "log", wait_s=60, readiness=readiness, on_wait=lambda _what: None)
    assert psutil.Process().children(recursive=True) == []


async def test_a_missing_program_is_said(tmp_path: Path) -> None:
    """A name that is nowhere on the path."""
    message = await _failure(LaunchVariant(name="off", program="no-such-llama-server"), tmp_path)
    assert message == ("the program no-such-llama-server is not found: give its full path, or add its folder to PATH.")


async def test_a_program_that_is_not_executable_is_said(tmp_path: Path) -> None:
    """A file without the permission."""
    (tmp_path / "llama-server").write_text("")
    message = await _failure(LaunchVariant(name="off", program=str(tmp_path / "llama-server")), tmp_path)
    assert message.endswith("is not executable: chmod +x it, or name the llama-server program itself.")


async def test_a_program_that_can_not_run_is_said(tmp_path: Path) -> None:
    """A file that the kernel refuses to run."""
    (tmp_path / "llama-server").write_bytes(b"\x7fELF")
    (tmp_path / "llama-server").chmod(0o755)
    message = await _failure(LaunchVariant(name="off", program=str(tmp_path / "llama-server")), tmp_path)
    assert message == "off: the server can't be started: Exec format error."


async def test_a_missing_model_is_said(tmp_path: Path) -> None:
    """A path without a file, before anything is started."""
    message = await _failure(_embedded(tmp_path / "m.gguf"), tmp_path)
    assert message == f"off: the model file {tmp_path / 'm.gguf'} is not there."
    assert _names(tmp_path) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"program": "no-such-llama-server"}, "the program no-such-llama-server is not found"),
        ({"program": "./llama-server"}, "the program ./llama-server is not found"),
        ({"args": ("-m", "no.gguf")}, "off: the model file no.gguf is not there."),
        ({"args": ("-m", "small.gguf", "-md", "no.gguf")}, "off: the draft model file no.gguf is not there."),
        ({"env": {"LLAMA_ARG_SPEC_DRAFT_MODEL": "no.gguf"}}, "off: the draft model file no.gguf is not there."),
        ({"cwd": "/no/such/folder"}, "off: the working directory /no/such/folder is not there."),
        ({"cpus": "9999"}, "off: none of the CPUs 9999 is there; loadgen may use "),
    ],
)
def test_what_is_missing_is_said_without_starting_anything(
    tiny_model: Path, fields: dict[str, object], expected: str
) -> None:
    """All variants of a run can be checked before the first starts; paths count from the variant's folder."""
    good = {"name": "off", "program": "embedded", "args": ("-m", "small.gguf"), "cwd": str(tiny_model.parent)}
    check_launchable(LaunchVariant.model_validate(good))
    with pytest.raises(LaunchError) as caught:
        check_launchable(LaunchVariant.model_validate(good | fields))
    assert str(caught.value).startswith(expected)


PORT_TAKEN_ONCE = """
import pathlib, signal, sys
with open("ports", "a+") as ports:
    ports.seek(0)
    first = not ports.read()
    print(sys.argv[sys.argv.index("--port") + 1], file=ports)
if first:
    sys.exit("srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1")
signal.pause()
"""


async def test_a_port_taken_meanwhile_is_no_failure(tmp_path: Path) -> None:
    """The server is started once more, on another port."""
    told: list[str] = []

    async def readiness(url: str) -> bool | None:
        return (tmp_path / "ports").read_text().split()[1:] == [url.rpartition(":")[2]]

    variant = LaunchVariant(name="off", program=sys.executable, args=("-c", PORT_TAKEN_ONCE), cwd=str(tmp_path))
    (tmp_path / "ports").touch()
    server = await launch(variant, log_path=tmp_path / "log", wait_s=60, readiness=readiness, on_wait=told.append)
    await server.stop()
    assert len(set((tmp_path / "ports").read_text().split())) == 2
    assert "the server to start on another port" in told


async def test_a_refused_argument_is_said(tiny_model: Path, tmp_path: Path) -> None:
    """The exit code, what to do, where the log is, and its end."""
    message = await _failure(_embedded(tiny_model, "--foo"), tmp_path)
    assert message == (
        "off: the server ended with exit code 1 while loading. This build refuses an argument: see `llama-server "
        f"--help`. Its log: {tmp_path / 'server.log'}\n    error: invalid argument: --foo"
    )


@pytest.mark.live
async def test_an_unknown_architecture_is_said(tiny_model: Path, tmp_path: Path) -> None:
    """A model that this build doesn't know."""
    message = await _failure(_embedded(_unknown(tiny_model, tmp_path / "m.gguf")), tmp_path)
    assert "This build is too old for the model." in message
    assert len(message.splitlines()) == 9


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "print('ggml_backend_cuda: cudaMalloc failed: out of memory'); raise SystemExit(1)",
            "ended with exit code 1 while loading. The memory does not hold it: fewer slots (-np)",
        ),
        ("import os; os.kill(os.getpid(), 9)", "was ended by SIGKILL while loading. It was killed from outside"),
        ("import os; os.kill(os.getpid(), 4)", "was ended by SIGILL while loading. It was built for another processor"),
        ("raise SystemExit(0)", "ended with exit code 0 while loading. Its log:"),
    ],
)
async def test_a_death_while_loading_comes_with_its_reason(tmp_path: Path, code: str, expected: str) -> None:
    """How it ended, and what to do where that is known."""
    variant = LaunchVariant(name="on", program=sys.executable, args=("-c", code))
    assert f"on: the server {expected}" in await _failure(variant, tmp_path)


async def test_a_server_that_is_never_ready_is_given_up(tmp_path: Path) -> None:
    """After the wait, with the end of its log, and nothing is left of it."""
    variant = LaunchVariant(name="off", program=sys.executable, args=NEVER_READY)
    message = await _failure(variant, tmp_path, wait_s=1)
    assert message.startswith("off: the server is not ready after 1 s (--wait). Its log: ")
    assert psutil.Process().children(recursive=True) == []
