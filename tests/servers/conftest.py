"""A tiny model and real servers in child processes."""

import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from loadgen.gguf.tiny import write_tiny_model

_LISTENING = "listening on "


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model's path."""
    return write_tiny_model(tmp_path_factory.mktemp("model") / "small.gguf")


@pytest.fixture(scope="session")
def demo_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model's path: its recurrent state is large enough to be exact in the log's two decimals."""
    return write_tiny_model(tmp_path_factory.mktemp("model") / "demo.gguf", "demo")


class Watched:
    """A process of whatever parent, watched from now on."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def ends(self) -> bool:
        """Whether it has ended or ends within 30 s, be it waited for by its parent or not."""
        ended, _, _ = select.select([self._descriptor], [], [], 30)
        os.close(self._descriptor)
        return bool(ended)


@pytest.fixture
def watch() -> Callable[[int], Watched]:
    """Watches a process from now on."""
    return Watched


@dataclass
class Served:
    """A server that is ready: its address, its process and what it printed until then."""

    url: str
    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list)


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Starts the embedded server on a free port and waits for its `listening on` line."""
    started: list[tuple[subprocess.Popen[str], threading.Thread]] = []

    def start(*args: str) -> Served:
        process = subprocess.Popen(
            [sys.executable, "-m", "loadgen.servers.embedded", "--port", "0", "-t", "1", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if _LISTENING in line:
                # Read on, so that the server never waits for us.
                reader = threading.Thread(target=process.stdout.read)
                reader.start()
                started.append((process, reader))
                return Served(line.partition(_LISTENING)[2].strip(), process, lines)
        with process:
            raise AssertionError(f"the server ended with {process.wait()}:\n{''.join(lines)}")

    yield start
    for process, reader in started:
        process.kill()
        reader.join()
        with process:
            process.wait()
