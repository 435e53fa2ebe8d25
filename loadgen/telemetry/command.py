"""A command of the user's that prints how much memory is used."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from loadgen.telemetry.source import Reading, SourceError
from loadgen.units import parse_size

MOST_CHARACTERS = 1000
"""A number or a size is shorter; what prints more is another command."""


class CommandMemory:
    """Runs the command at every reading, without a shell.

    It prints a number of bytes, or a size such as `7325 MiB`. Its output is never repeated: nobody knows what it holds.

    Args:
        words: the command and its arguments.
        environment: its variables.
        timeout_s: after which it is killed with all that it started.
    """

    name = "command"
    period_s = 1.0

    def __init__(self, words: Sequence[str], *, environment: Mapping[str, str], timeout_s: float = 5.0) -> None:
        self._words = list(words)
        self._environment = dict(environment)
        self._timeout_s = timeout_s

    def open(self) -> Sequence[str]:
        """Says which program is run."""
        return [f"used memory by the command {self._words[0]}"]

    def read(self) -> Sequence[Reading]:
        """One run of the command."""
        text = self._run()
        try:
            return [Reading("used_bytes", parse_size(text))]
        except ValueError:
            raise SourceError("the command printed no number of bytes, nor a size such as 7325 MiB") from None

    def _run(self) -> str:
        try:
            process = subprocess.Popen(
                self._words,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise SourceError(f"the command can't be run: {error.strerror or 'it is no program'}") from None
        late = threading.Event()

        def give_up() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(self._timeout_s, give_up)
        timer.start()
        try:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            said = process.stdout.read(MOST_CHARACTERS + 1)
            if len(said) > MOST_CHARACTERS:
                _kill(process)
            code = process.wait()
        finally:
            timer.cancel()
            process.stdout.close()  # type: ignore[union-attr] # as above
        if late.is_set():
            raise SourceError(f"the command did not end within {self._timeout_s:g} s")
        if len(said) > MOST_CHARACTERS:
            raise SourceError("the command printed far more than a number")
        if code:
            raise SourceError(f"the command ended with exit code {code}")
        return said.decode("utf-8", errors="replace")

    def close(self) -> None:
        """Nothing stays open."""


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
