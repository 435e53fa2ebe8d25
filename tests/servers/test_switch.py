"""A command of the user's brings a running server into a variant's state."""

import asyncio
import sys
from pathlib import Path

import psutil
import pytest

from loadgen.client.control import Control
from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.errors import LaunchError, UnreachableError
from loadgen.experiment.variant import SwitchVariant
from loadgen.servers.lease import Lease
from loadgen.servers.switch import check_switchable, run_switch
from tests.servers.standins.llama import FakeLlama

NOBODY = "http://127.0.0.1:1"

BACKGROUND = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; print('child', flush=True); signal.pause()"])
print("left", child.pid, flush=True)
"""
"""Ends, and leaves a child behind that holds its output."""

FOREGROUND = "import signal; print('serving', flush=True); signal.pause()"


def _python(code: str, *args: str, url: str = NOBODY, **fields: object) -> SwitchVariant:
    return SwitchVariant.model_validate(
        {"name": "mtp", "url": url, "command": (sys.executable, "-c", code, *args), **fields}
    )


async def _run(variant: SwitchVariant, log_path: Path, *, wait_s: float = 30) -> Lease:
    async with HttpTransport(Endpoint.parse(variant.url)) as transport:
        return await run_switch(
            variant, Control(transport), log_path=log_path, wait_s=wait_s, on_wait=lambda _what: None
        )


async def test_the_command_runs_to_its_end_in_its_folder_and_environment(tmp_path: Path) -> None:
    """Variables are added and removed, its output is kept, and the server that answers then is the variant's."""
    code = "import os; print(os.getcwd(), os.environ['MODE'], os.environ.get('HOME'))"
    with FakeLlama() as llama:
        variant = _python(code, url=llama.address, env={"MODE": "mtp", "HOME": None}, cwd=str(tmp_path))
        lease = await _run(variant, tmp_path / "log")
    assert (tmp_path / "log").read_text() == f"{tmp_path} mtp None\n"
    assert lease.log_path == tmp_path / "log"
    assert lease.ready_s is not None


async def test_what_stays_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    """A child that holds the command's output open doesn't keep us, and lives on: it is the server."""
    with FakeLlama() as llama:
        await _run(_python(BACKGROUND, url=llama.address), tmp_path / "log")
    words = (tmp_path / "log").read_text().split()
    child = psutil.Process(int(words[words.index("left") + 1]))
    assert child.is_running()
    child.kill()


async def test_a_command_in_the_foreground_is_ended_and_explained(tmp_path: Path) -> None:
    """The commonest mistake: it is a server itself."""
    with pytest.raises(LaunchError) as caught:
        await _run(_python(FOREGROUND), tmp_path / "log", wait_s=1)
    assert str(caught.value) == (
        "mtp: its command had not ended after 1 s (--wait) and was stopped. It must end; use kind: launch for a server "
        f"that stays in the foreground. Its output: {tmp_path / 'log'}\n    serving"
    )
    assert psutil.Process().children(recursive=True) == []


async def test_giving_up_ends_the_command(tmp_path: Path) -> None:
    """Ctrl-C while it runs ends it and what it started in its group."""
    log = tmp_path / "log"
    running = asyncio.Event()
    variant = _python(FOREGROUND)
    async with HttpTransport(Endpoint.parse(variant.url)) as transport:
        task = asyncio.create_task(
            run_switch(variant, Control(transport), log_path=log, wait_s=60, on_wait=lambda _what: running.set())
        )
        await running.wait()
        (process,) = psutil.Process().children()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not process.is_running()


async def test_a_command_that_fails_is_told_with_its_last_lines(tmp_path: Path) -> None:
    """The exit code, where its output is, and its end."""
    with pytest.raises(LaunchError) as caught:
        await _run(_python("print('no such unit'); raise SystemExit(3)"), tmp_path / "log")
    assert (
        str(caught.value)
        == f"mtp: its command ended with exit code 3. Its output: {tmp_path / 'log'}\n    no such unit"
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("no-such-program", "the program no-such-program is not found: give its full path"),
        ("./plain", "./plain is not executable: chmod \\+x it, or name the program itself"),
    ],
)
async def test_a_command_that_is_not_there_is_said_beforehand(tmp_path: Path, command: str, expected: str) -> None:
    """Relative paths count from the command's folder; nothing is started."""
    (tmp_path / "plain").write_text("")
    variant = SwitchVariant(name="mtp", url=NOBODY, command=(command,), cwd=str(tmp_path))
    with pytest.raises(LaunchError, match=expected):
        check_switchable(variant)
    with pytest.raises(LaunchError, match=expected):
        await _run(variant, tmp_path / "log")


async def test_a_server_that_does_not_come_back_is_unreachable(tmp_path: Path) -> None:
    """The wait is one for command and server."""
    with pytest.raises(UnreachableError, match="nobody answers at http:"):
        await _run(_python("pass"), tmp_path / "log", wait_s=1)
