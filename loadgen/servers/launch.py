"""Starts a llama-server for a variant, waits until it is ready, and ends it with everything that it started."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from loadgen.errors import LaunchError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.model import EMBEDDED, LaunchVariant
from loadgen.experiment.pasted import prepared
from loadgen.servers import embedded
from loadgen.servers.load_failure import TAIL_LINES, ending, hint
from loadgen.servers.supervisor import TAIL_BYTES, UNKILLABLE_S

HOST = "127.0.0.1"

LOG_CAP_BYTES = 8 << 20
"""A load log takes some 30 KB and a request some 2 KB at `-lv 4`: room for thousands of requests, and a bound."""

GRACE_S = 5.0
"""Between SIGTERM and SIGKILL. Without open streams llama-server ends in well under a second; with some it would wait
for its next ping, up to 30 s."""

TELL_EVERY_S = 5
"""A load that takes longer is told of again, with its time: a large model takes a minute."""

_POLL_S = 0.05
_MODEL = ("-m", "--model")
_API_KEY = ("--api-key",)
_API_KEY_FILE = ("--api-key-file",)

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
        return _tail(self.log_path, lines)

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

    Args:
        variant: `program` is looked up on the path; `embedded` is the server of the package xllamacpp.
        log_path: Where its output goes, up to `LOG_CAP_BYTES` and then the end.
        wait_s: How long it may take.
        readiness: Asks whether it is ready; called every 50 ms, one call at a time.
        on_wait: Told what is waited for: when that changes, and every 5 s.
        grace_s: Seconds between SIGTERM and SIGKILL when it is stopped.

    Raises:
        UsageError: `embedded` without xllamacpp.
        LaunchError: The program or the model is missing, it ends while loading, or it is not ready in time.
    """
    env = {name: value for name, value in {**os.environ, **variant.env}.items() if value is not None}
    begin = flags.first_argument(variant.program, variant.args)
    own = variant.args[begin:]
    program = _program(variant.program, env)
    if begin == 0:  # behind a wrapper, paths may mean something else
        _check_model(variant, env)
    port = _free_port()
    args = prepared(variant.args, host=HOST, port=port, program=variant.program)
    start = time.monotonic()
    try:
        supervisor, pid = await _start(variant, [*program, *args], env, log_path=log_path, grace_s=grace_s)
    except OSError as error:
        raise LaunchError(f"{variant.name}: the server can't be started: {error.strerror}.") from error
    url = _url(own, port)
    try:
        polling = _poll(readiness, url, on_wait)
        await _wait_ready(variant, supervisor, polling, log_path=log_path, wait_s=wait_s)
    except BaseException:
        await asyncio.shield(_end(supervisor, pid, grace_s))
        raise
    return LaunchedServer(
        url=url,
        pid=_listener(pid, port),
        command=flags.masked((variant.program, *args)),
        ready_s=time.monotonic() - start,
        log_path=log_path,
        api_key=_api_key(own, env),
        _supervisor=supervisor,
        _group=pid,
        _grace_s=grace_s,
    )


def _program(name: str, env: Mapping[str, str]) -> list[str]:
    if name == EMBEDDED:
        embedded.require()
        return [sys.executable, "-m", "loadgen.servers.embedded"]
    found = shutil.which(name, path=env.get("PATH"))
    if found is not None:
        return [found]
    if Path(name).is_file():
        raise LaunchError(f"{name} is not executable: chmod +x it, or name the llama-server program itself.")
    raise LaunchError(f"the program {name} is not found: give its full path, or add its folder to PATH.")


def _check_model(variant: LaunchVariant, env: Mapping[str, str]) -> None:
    model = flags.value_of(variant.args, *_MODEL) or env.get("LLAMA_ARG_MODEL")
    if model is not None and not Path(model).is_file():
        raise LaunchError(f"{variant.name}: the model file {model} is not there.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _url(args: tuple[str, ...], port: int) -> str:
    scheme = "https" if flags.has(args, "--ssl-cert-file") else "http"
    return f"{scheme}://{HOST}:{port}{flags.value_of(args, '--api-prefix') or ''}"


def _api_key(args: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    """The first key that the server accepts."""
    keys = (flags.value_of(args, *_API_KEY) or env.get("LLAMA_API_KEY") or "").split(",")
    path = flags.value_of(args, *_API_KEY_FILE) or env.get("LLAMA_ARG_API_KEY_FILE")
    if path is not None:
        with contextlib.suppress(OSError):
            keys += [line for line in Path(path).read_text().splitlines() if not line.startswith("#")]
    return next((key.strip() for key in keys if key.strip()), None)


async def _start(
    variant: LaunchVariant, command: list[str], env: Mapping[str, str], *, log_path: Path, grace_s: float
) -> tuple[asyncio.subprocess.Process, int]:
    """The supervisor and the process id of the command."""
    own = [sys.executable, "-m", "loadgen.servers.supervisor", "--log", str(log_path)]
    own += ["--log-cap", str(LOG_CAP_BYTES), "--grace", str(grace_s), "--"]
    supervisor = await asyncio.create_subprocess_exec(
        *own,
        *command,
        env=env,
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


def _listener(pid: int, port: int) -> int:
    """The process that listens on the port: the command's own, or a descendant where a wrapper stays in between."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return pid
    for process in family:
        with contextlib.suppress(psutil.Error):
            for connection in process.net_connections(kind="tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return process.pid
    return pid


def _tail(path: Path, lines: int) -> list[str]:
    try:
        with path.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL_BYTES))
            text = log.read().decode(errors="replace")
    except OSError:
        return []
    return text.splitlines()[-lines:] if lines > 0 else []


def _death(variant: LaunchVariant, log_path: Path, exit_code: int) -> str:
    return _message(f"{variant.name}: the server {ending(exit_code)} while loading.", log_path, exit_code)


def _late(variant: LaunchVariant, log_path: Path, wait_s: float) -> str:
    return _message(f"{variant.name}: the server is not ready after {wait_s:g} s (--wait).", log_path, None)


def _message(what: str, log_path: Path, exit_code: int | None) -> str:
    """What happened, what to do where the log tells, where the log is, and its last lines."""
    advice = hint("\n".join(_tail(log_path, 200)), exit_code)
    lines = "\n".join(f"    {line}" for line in _tail(log_path, TAIL_LINES))
    return "\n".join(part for part in (f"{what} {advice or ''}".strip() + f" Its log: {log_path}", lines) if part)
