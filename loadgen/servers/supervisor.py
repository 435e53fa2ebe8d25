"""`python -m loadgen.servers.supervisor --log FILE --log-cap BYTES --grace SECONDS -- COMMAND`: runs one server.

It stands between loadgen and a server so that no server outlives the run, however the run ends. Its stdin is a pipe
that nobody writes to: when the other end is gone, or on SIGTERM, it ends the server and everything that the server
started (SIGTERM, a bounded wait, SIGKILL). When it is killed itself, the kernel kills the server.

It prints `started PID` or `failed REASON` on stdout, and exits as the server did: with its code, or by its signal.
"""

import argparse
import contextlib
import ctypes
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

TAIL_BYTES = 64 << 10
"""What is kept of the end of a log above its cap: some 600 lines."""

_CHUNK = 64 << 10
_PIPE_BYTES = 1 << 20
"""The most that an unprivileged process may ask for: the server can print that much while we wait for the disk."""
_POLL_S = 0.05
UNKILLABLE_S = 10.0
"""How long after SIGKILL a process may stay (it waits for a device) before it is left to the kernel."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NOT_STARTED = 127

_LIBC = ctypes.CDLL(None)
_PID = os.getpid()


class CappedLog:
    """A file with the first `cap` bytes written to it and, after `close`, the last `TAIL_BYTES`.

    Between them stands how many bytes were left out. A disk that fills up loses the rest of the log, never the server.
    """

    def __init__(self, path: Path, cap: int) -> None:
        self._file = path.open("wb", buffering=0)
        self._room = cap
        self._beyond = 0
        self._tail = b""

    def write(self, data: bytes) -> None:
        """Add what was printed."""
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        self._put(head)
        if rest:
            self._beyond += len(rest)
            self._tail = (self._tail + rest)[-TAIL_BYTES:]

    def close(self) -> None:
        """Write the end of what was printed."""
        left_out = self._beyond - len(self._tail)
        if left_out:
            self._put(f"\n[loadgen: {left_out} bytes left out]\n".encode())
        self._put(self._tail)
        self._file.close()

    def _put(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            while data:
                data = data[self._file.write(data) :]


class Supervisor:
    """One command, from its start until nothing of it is left."""

    def __init__(self, command: Sequence[str], log: CappedLog, grace_s: float) -> None:
        self._log = log
        self._grace_s = grace_s
        self._status: int | None = None
        self._ending_since: float | None = None
        self._selector = selectors.DefaultSelector()
        self._signals = self._wake_on_signals()
        # Descendants whose parent ends become our children, so that all of them stay in sight.
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            process_group=0,
            pipesize=_PIPE_BYTES,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
        )
        assert self._child.stdout is not None  # noqa: S101 - for the type checker: it was asked for
        self._output = self._child.stdout.fileno()
        os.set_blocking(self._output, False)
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(sys.stdin.fileno(), selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        """Of the command."""
        return self._child.pid

    def run(self) -> int:
        """Supervise until the end; the exit code of the command, or minus the signal that ended it."""
        while not self._over():
            for key, _ in self._selector.select(None if self._ending_since is None else _POLL_S):
                if key.fd == self._output:
                    self._read_output()
                elif key.fd == self._signals:
                    self._read_signals()
                elif not os.read(key.fd, _CHUNK):
                    self._selector.unregister(key.fd)
                    self._end()
            self._reap()
        self._read_output()
        return -signal.SIGKILL if self._status is None else self._status

    def _wake_on_signals(self) -> int:
        reader, writer = os.pipe()
        for end in (reader, writer):
            os.set_blocking(end, False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda _number, _frame: None)
        signal.set_wakeup_fd(writer)
        self._selector.register(reader, selectors.EVENT_READ)
        return reader

    def _read_signals(self) -> None:
        if set(os.read(self._signals, _CHUNK)) - {signal.SIGCHLD}:
            self._end()

    def _read_output(self) -> None:
        """What can be read now, up to twice what the pipe holds, so that a flood can't keep signals waiting."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(2 * _PIPE_BYTES // _CHUNK):
                data = os.read(self._output, _CHUNK)
                if not data:
                    break
                self._log.write(data)
            else:
                return
            if self._output in self._selector.get_map():
                self._selector.unregister(self._output)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                if found[0] == self._child.pid:
                    self._status = self._child.returncode = os.waitstatus_to_exitcode(found[1])
                    self._end()

    def _end(self) -> None:
        if self._ending_since is None:
            self._ending_since = time.monotonic()
            self._signal(signal.SIGTERM)

    def _over(self) -> bool:
        """Whether nothing is left; kills what is left when its time is up."""
        if self._ending_since is None:
            return False
        if self._status is not None and not _descendants():
            return True
        overtime_s = time.monotonic() - self._ending_since - self._grace_s
        if overtime_s >= 0:
            self._signal(signal.SIGKILL)
        return overtime_s > UNKILLABLE_S

    def _signal(self, number: signal.Signals) -> None:
        """Once to each: a second SIGTERM makes llama-server exit without cleaning up."""
        outside = [process for process in _descendants() if _group(process.pid) != self._child.pid]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, number)
        for process in outside:
            with contextlib.suppress(psutil.Error):
                process.send_signal(number)


def _descendants() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _die_with_parent() -> None:
    """Before the command is run, in its process."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != _PID:  # it died before the line above
        os.kill(os.getpid(), signal.SIGKILL)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), f"{line}\n".encode())


def _exit_as(status: int) -> int:
    """End by the same signal as the command, or return its code."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command's own core, not one of ours
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def main(arguments: Sequence[str]) -> int:
    """Run the command of the command line; its exit code, or 127 when it can't be started."""
    parser = argparse.ArgumentParser(prog="python -m loadgen.servers.supervisor")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--log-cap", type=int, required=True)
    parser.add_argument("--grace", type=float, required=True)
    parser.add_argument("--cpus", type=lambda text: {int(cpu) for cpu in text.split(",")})
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    if options.cpus is not None:
        os.sched_setaffinity(0, options.cpus)  # ours too: what we start inherits it
    log = CappedLog(options.log, options.log_cap)
    try:
        supervisor = Supervisor(options.command, log, options.grace)
    except OSError as error:
        _say(f"failed {error.strerror}")
        return _NOT_STARTED
    _say(f"started {supervisor.pid}")
    try:
        status = supervisor.run()
    finally:
        log.close()
    return _exit_as(status)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
