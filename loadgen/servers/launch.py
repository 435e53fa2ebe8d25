"""Starts a llama-server for a variant, waits until it is ready, and ends it with everything that it started."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from loadgen.errors import LaunchError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.cpus import cpu_set
from loadgen.experiment.pasted import prepared
from loadgen.experiment.variant import EMBEDDED, LaunchVariant
from loadgen.servers import embedded
from loadgen.servers.address import HOST, free_port, key_of, listener, url_of
from loadgen.servers.load_failure import TAIL_LINES, ending, hint, port_taken
from loadgen.servers.log_tail import tail
from loadgen.servers.program import environment, find_program, folder, telling
from loadgen.servers.supervisor import UNKILLABLE_S

LOG_CAP_BYTES = 8 << 20
"""A load log takes some 30 KB and a request some 2 KB at `-lv 4`: room for thousands of requests, and a bound."""

GRACE_S = 5.0
"""Between SIGTERM and SIGKILL. Without open streams llama-server ends in well under a second; with some it would wait
for its next ping, up to 30 s."""

TELL_EVERY_S = 5
"""A load that takes longer is told of again, with its time: a large model takes a minute."""

_POLL_S = 0.05
_TOLD_LINES = 200
"""How much of the end of a log is searched for the reason of a failure."""
_MODEL = ("-m", "--model")

Readiness = Callable[[str], Awaitable[bool | None]]
"""Asks the server at a URL: true when it is ready, false while it loads, null while nobody answers."""


@dataclass
class LaunchedServer:
    """A server that is ready, until `stop`.

    `command` is what was run, keys masked. `pid` is the server's own process, for its memory. `api_key` is the key
    that its arguments name, for our own requests.
    """

    url: str
    pid: int
    command: tuple[str, ...]
    ready_s: float
    log_path: Path
    environment: dict[str, str]
    api_key: str | None = field(repr=False)
    _supervisor: asyncio.subprocess.Process = field(repr=False)
    _group: int = field(repr=False)
    _grace_s: float = field(repr=False)

    def alive(self) -> bool:
        """Whether the server's process runs."""
        try:
            return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def log_tail(self, lines: int) -> list[str]:
        """The last lines of its log. While it runs and printed more than the cap, the last before the cap."""
        return tail(self.log_path, lines)

    async def stop(self) -> None:
        """End the server and all it started: SIGTERM, and SIGKILL after a bounded wait. Does nothing when it ended."""
        await _end(self._supervisor, self._group, self._grace_s)


async def launch(
    variant: LaunchVariant,
    *,
    log_path: Path,
    wait_s: float,
    readiness: Readiness,
    on_wait: Callable[[str], None],
    grace_s: float = GRACE_S,
) -> LaunchedServer:
    """Start the variant's server on a free port of 127.0.0.1 and wait until it is ready.

    Where another program takes the port before the server does, it is started once more on another.

    Args:
        variant: `program` is looked up on the path; `embedded` is the server of the package xllamacpp.
        log_path: Where its output goes, up to `LOG_CAP_BYTES` and then the end.
        wait_s: How long it may take.
        readiness: Asks whether it is ready; called every 50 ms, one call at a time.
        on_wait: Told what is waited for: when that changes, and every 5 s.
        grace_s: Seconds between SIGTERM and SIGKILL when it is stopped.

    Raises:
        UsageError: `embedded` without xllamacpp.
        LaunchError: The program, the folder or the model is missing, it ends while loading, or it is not ready in time.
    """
    attempt = partial(
        _launch,
        variant,
        _resolved(variant),
        log_path=log_path,
        wait_s=wait_s,
        readiness=readiness,
        on_wait=on_wait,
        grace_s=grace_s,
    )
    try:
        return await attempt()
    except LaunchError:
        if not port_taken("\n".join(tail(log_path, _TOLD_LINES))):
            raise
    on_wait("the server to start on another port")
    return await attempt()


def check_launchable(variant: LaunchVariant) -> None:
    """Raises what `launch` would raise before it starts anything: no program, no model file, no xllamacpp."""
    _resolved(variant)


@dataclass(frozen=True)
class _Resolved:
    """What is run, with which environment and in which folder."""

    program: list[str]
    env: dict[str, str] = field(repr=False)
    cwd: Path
    cpus: list[int] | None


def _resolved(variant: LaunchVariant) -> _Resolved:
    env = environment(variant.env)
    cwd = folder(variant.name, variant.cwd)
    if variant.program == EMBEDDED:
        embedded.require()
        program = [sys.executable, "-m", "loadgen.servers.embedded"]
    else:
        program = [find_program(variant.program, env, cwd, called="the llama-server program")]
    if flags.first_argument(variant.program, variant.args) == 0:  # behind a wrapper, paths may mean something else
        _check_file(variant, "model file", cwd, flags.value_of(variant.args, *_MODEL) or env.get("LLAMA_ARG_MODEL"))
        draft = flags.value_of(variant.args, *flags.DRAFT_MODEL) or env.get("LLAMA_ARG_SPEC_DRAFT_MODEL")
        _check_file(variant, "draft model file", cwd, draft)
    return _Resolved(program, env, cwd, _cpus(variant))


def _cpus(variant: LaunchVariant) -> list[int] | None:
    if variant.cpus is None:
        return None
    ours = os.sched_getaffinity(0)
    chosen = sorted(cpu_set(variant.cpus) & ours)
    if not chosen:
        listed = ",".join(map(str, sorted(ours)))
        raise LaunchError(f"{variant.name}: none of the CPUs {variant.cpus} is there; loadgen may use {listed}.")
    return chosen


def _check_file(variant: LaunchVariant, what: str, cwd: Path, path: str | None) -> None:
    if path is not None and not (cwd / path).is_file():
        raise LaunchError(f"{variant.name}: the {what} {path} is not there.")


async def _launch(
    variant: LaunchVariant,
    resolved: _Resolved,
    *,
    log_path: Path,
    wait_s: float,
    readiness: Readiness,
    on_wait: Callable[[str], None],
    grace_s: float,
) -> LaunchedServer:
    """One attempt, on one port."""
    own = variant.args[flags.first_argument(variant.program, variant.args) :]
    port = free_port()
    args = prepared(variant.args, host=HOST, port=port, program=variant.program)
    start = time.monotonic()
    try:
        supervisor, pid = await _start(variant, resolved, args, log_path=log_path, grace_s=grace_s)
    except OSError as error:
        raise LaunchError(f"{variant.name}: the server can't be started: {error.strerror}.") from error
    url = url_of(own, port)
    try:
        polling = _poll(readiness, url, on_wait)
        await _wait_ready(variant, supervisor, polling, log_path=log_path, wait_s=wait_s)
    except BaseException:
        await asyncio.shield(_end(supervisor, pid, grace_s))
        raise
    return LaunchedServer(
        url=url,
        pid=listener(pid, port),
        command=flags.masked((variant.program, *args)),
        ready_s=time.monotonic() - start,
        log_path=log_path,
        environment=telling(resolved.env),
        api_key=key_of(own, resolved.env, resolved.cwd),
        _supervisor=supervisor,
        _group=pid,
        _grace_s=grace_s,
    )


async def _start(
    variant: LaunchVariant, resolved: _Resolved, args: tuple[str, ...], *, log_path: Path, grace_s: float
) -> tuple[asyncio.subprocess.Process, int]:
    """The supervisor and the process id of the command."""
    supervisor = await asyncio.create_subprocess_exec(
        *_supervision(log_path, grace_s, resolved.cpus),
        *resolved.program,
        *args,
        env=resolved.env,
        cwd=resolved.cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C is ours: servers are ended after the run has been written
    )
    assert supervisor.stdout is not None  # noqa: S101 - for the type checker: it was asked for
    try:
        said = (await supervisor.stdout.readline()).decode(errors="replace").strip()
        word, _, rest = said.partition(" ")
        if word != "started":
            raise LaunchError(f"{variant.name}: the server can't be started: {rest or said or 'no reason given'}.")
        return supervisor, int(rest)
    except BaseException:
        await asyncio.shield(_end(supervisor, None, grace_s))
        raise


def _supervision(log_path: Path, grace_s: float, cpus: list[int] | None) -> list[str]:
    """The supervisor's own part of the command line. -P: modules in the server's folder are none of ours."""
    own = [sys.executable, "-P", "-m", "loadgen.servers.supervisor", "--log", str(log_path.absolute())]
    own += ["--log-cap", str(LOG_CAP_BYTES), "--grace", str(grace_s)]
    return [*own, *(["--cpus", ",".join(map(str, cpus))] if cpus is not None else []), "--"]


async def _wait_ready(
    variant: LaunchVariant,
    supervisor: asyncio.subprocess.Process,
    polling: Coroutine[Any, Any, None],
    *,
    log_path: Path,
    wait_s: float,
) -> None:
    ready = asyncio.create_task(polling)
    ended = asyncio.create_task(supervisor.wait())
    try:
        await asyncio.wait({ready, ended}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            raise LaunchError(_death(variant, log_path, ended.result()))
        if not ready.done():
            raise LaunchError(_late(variant, log_path, wait_s))
        await ready  # for what it raised
    finally:
        ready.cancel()
        ended.cancel()
        await asyncio.gather(ready, ended, return_exceptions=True)


async def _poll(readiness: Readiness, url: str, on_wait: Callable[[str], None]) -> None:
    """Returns when the server is ready."""
    start = time.monotonic()
    told = None
    while not (state := await readiness(url)):
        waiting = "the server to start" if state is None else "the model to load"
        slow = int((time.monotonic() - start) / TELL_EVERY_S)
        if (waiting, slow) != told:
            on_wait(waiting if not slow else f"{waiting} ({slow * TELL_EVERY_S} s)")
            told = (waiting, slow)
        await asyncio.sleep(_POLL_S)


async def _end(supervisor: asyncio.subprocess.Process, group: int | None, grace_s: float) -> None:
    """End the supervisor, which ends the server; where it doesn't answer, end both."""
    if supervisor.stdin is not None:
        supervisor.stdin.close()  # its lifeline
    if supervisor.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            supervisor.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(supervisor.wait(), grace_s + UNKILLABLE_S + GRACE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                supervisor.kill()
            await supervisor.wait()
    if group is not None and supervisor.returncode == -signal.SIGKILL:
        # Killed itself, it could not end what the server started; the kernel ended the server only.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def _death(variant: LaunchVariant, log_path: Path, exit_code: int) -> str:
    return _message(f"{variant.name}: the server {ending(exit_code)} while loading.", log_path, exit_code)


def _late(variant: LaunchVariant, log_path: Path, wait_s: float) -> str:
    return _message(f"{variant.name}: the server is not ready after {wait_s:g} s (--wait).", log_path, None)


def _message(what: str, log_path: Path, exit_code: int | None) -> str:
    """What happened, what to do where the log tells, where the log is, and its last lines."""
    advice = hint("\n".join(tail(log_path, _TOLD_LINES)), exit_code)
    lines = "\n".join(f"    {line}" for line in tail(log_path, TAIL_LINES))
    return "\n".join(part for part in (f"{what} {advice or ''}".strip() + f" Its log: {log_path}", lines) if part)
