"""loadgen as its users start it, the embedded server's command, and a server that fails on purpose."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadgen.gguf.tiny import write_tiny_model

API_KEY = "hush-hush-4711"
"""The key of the servers under test: needed for every request, and to be found nowhere afterwards."""


@dataclass
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


def loadgen(*args: str, env: dict[str, str] | None = None) -> Result:
    """Run loadgen to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "loadgen", *args], capture_output=True, text=True, check=False, env=env
    )
    return Result(done.returncode, done.stdout, done.stderr)


class Running:
    """loadgen in a child process, followed by its progress lines."""

    def __init__(self, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "loadgen", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said: list[str] = []

    def until(self, text: str) -> None:
        """Read progress until a line holds `text`."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if text in line:
                return
        raise AssertionError(f"it ended without saying {text!r}:\n{''.join(self.said)}")

    def servers(self) -> list[psutil.Process]:
        """The supervisors and servers that it has started."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def server(self) -> psutil.Process:
        """The one llama.cpp server that runs."""
        (found,) = [
            process
            for process in self.servers()
            if "loadgen.servers.embedded" in process.cmdline() and "loadgen.servers.supervisor" not in process.cmdline()
        ]
        return found

    def finish(self) -> Result:
        """Read everything else and wait."""
        out, err = self.process.communicate()
        return Result(self.process.returncode, out, "".join(self.said) + err)


@pytest.fixture
def running() -> Iterator[Callable[..., Running]]:
    """Starts loadgen; whatever still runs at the end of the test is killed."""
    started: list[Running] = []

    def start(*args: str) -> Running:
        started.append(Running(*args))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small model's path."""
    return write_tiny_model(tmp_path_factory.mktemp("model") / "small.gguf")


@pytest.fixture(scope="session")
def command(tiny_model: Path) -> list[str]:
    """A pasted command: the embedded server with MTP drafts at a set acceptance."""
    return [
        *("--", "embedded", "-m", str(tiny_model), "-np", "2", "-c", "2048", "-t", "1", "--poll", "0"),
        *("--spec-type", "draft-mtp", "--spec-draft-n-max", "3", "--spec-synth-len", "3.5"),
        *("--api-key", API_KEY),
    ]


class FailingHandler(BaseHTTPRequestHandler):
    """llama-server's control routes, and a chat route that answers 500."""

    answers: dict[str, Any] = {  # noqa: RUF012 - never changed
        "/health": {"status": "ok"},
        "/v1/models": {"data": [{"id": "m"}]},
        "/props": {"total_slots": 4, "default_generation_settings": {"n_ctx": 8192}},
        "/slots": [{"id": 0, "n_ctx": 8192, "speculative": False, "is_processing": False}],
    }

    def do_GET(self) -> None:
        """Control routes."""
        value = self.answers.get(self.path)
        self._answer(404 if value is None else 200, value if value is not None else {"error": {"message": "none"}})

    def do_POST(self) -> None:
        """Everything else fails."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(500, {"error": {"code": 500, "message": "out of order", "type": "server_error"}})

    def _answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server with this handler."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def failing_server() -> Iterator[str]:
    """The address of a server whose every answer is HTTP 500."""
    with serving(FailingHandler) as address:
        yield address
