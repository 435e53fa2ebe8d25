"""Variants that a command of the user's brings up: once it has ended, the server at the address is the variant's.

The command must return only after the old server has stopped: one that still answers would be taken for the new one.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from loadgen.client.control import Control
from loadgen.errors import LaunchError
from loadgen.experiment.variant import SwitchVariant
from loadgen.servers.lease import Lease
from loadgen.servers.load_failure import TAIL_LINES, ending
from loadgen.servers.log_tail import tail
from loadgen.servers.program import environment, find_program, folder

GRACE_S = 5.0
"""Between SIGTERM and SIGKILL for a command that must be ended."""

TELL_EVERY_S = 5.0
"""A command that takes longer is told of again, with its time."""


async def run_switch(
    variant: SwitchVariant, control: Control, *, log_path: Path, wait_s: float, on_wait: Callable[[str], None]
) -> Lease:
    """Run the variant's command to its end and wait until the server behind `control` is ready: `wait_s` for both.

    The command's output goes to `log_path`. What it leaves running in the background is not waited for and not ended.

    Raises:
        LaunchError: The command can't be started, fails, or doesn't end in time (then it is ended).
        TargetError: The server doesn't become ready.
    """
    check_switchable(variant)
    start = time.monotonic()
    with log_path.open("wb") as log:
        process = await _start(variant, log.fileno())
    code = await _finish(variant, process, log_path=log_path, wait_s=wait_s, on_wait=on_wait)
    if code != 0:
        raise LaunchError(_message(f"{variant.name}: its command {ending(code)}.", log_path))
    left_s = max(0.0, wait_s - (time.monotonic() - start))
    await control.wait_ready(left_s, on_wait, patient=True)
    return Lease(control=control, ready_s=time.monotonic() - start, log_path=log_path)


def check_switchable(variant: SwitchVariant) -> None:
    """Raises `LaunchError` where the variant's program or folder isn't there, without starting anything."""
    _program(variant)


def _program(variant: SwitchVariant) -> str:
    cwd = folder(variant.name, variant.cwd)
    return find_program(variant.command[0], environment(variant.env), cwd, called="the program")


async def _start(variant: SwitchVariant, output: int) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            _program(variant),
            *variant.command[1:],
            env=environment(variant.env),
            cwd=variant.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,  # a file: a pipe would stay open as long as anything that the command left running
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise LaunchError(f"{variant.name}: its command can't be started: {error.strerror}.") from error


async def _finish(
    variant: SwitchVariant,
    process: asyncio.subprocess.Process,
    *,
    log_path: Path,
    wait_s: float,
    on_wait: Callable[[str], None],
) -> int:
    """The exit code. A command that doesn't end in time, or that we give up, is ended with its process group."""
    telling = asyncio.create_task(_tell(variant.name, on_wait))
    try:
        return await asyncio.wait_for(process.wait(), wait_s)
    except TimeoutError:
        await _end(process)
        what = (
            f"{variant.name}: its command had not ended after {wait_s:g} s (--wait) and was stopped. It must end; use "
            "kind: launch for a server that stays in the foreground."
        )
        raise LaunchError(_message(what, log_path)) from None
    except BaseException:
        await asyncio.shield(_end(process))
        raise
    finally:
        telling.cancel()


async def _tell(name: str, on_wait: Callable[[str], None]) -> None:
    start = time.monotonic()
    while True:
        on_wait(f"{name}: waiting for its command ({int(time.monotonic() - start)} s)")
        await asyncio.sleep(TELL_EVERY_S)


async def _end(process: asyncio.subprocess.Process) -> None:
    """SIGTERM to its process group, and SIGKILL to what is left of it when its time is up."""
    for number, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), seconds)


def _message(what: str, log_path: Path) -> str:
    lines = "\n".join(f"    {line}" for line in tail(log_path, TAIL_LINES))
    return f"{what} Its output: {log_path}" + (f"\n{lines}" if lines else "")
