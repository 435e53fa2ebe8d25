"""What a real Pushgateway makes of final values."""

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from loadgen.metrics.gateway import Gateway
from loadgen.metrics.store import Store
from tests.metrics.programs import Server, needs

PROGRAM = "prometheus-pushgateway"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """A gateway on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = Server(PROGRAM, f"--web.listen-address=127.0.0.1:{port}", ready="istening on")
    yield Gateway(f"http://127.0.0.1:{port}")
    server.close()


def held(gateway: Gateway) -> list[str]:
    """The lines of our metrics that it serves."""
    with urllib.request.urlopen(f"{gateway.url}/metrics") as reply:  # noqa: S310 - loopback
        return [line for line in reply.read().decode().splitlines() if line.startswith("loadgen_trials{")]


def store(series: str, variant: str) -> Store:
    """One value of one run."""
    found = Store()
    found.set("loadgen_trials", (series, "w", variant, "1"), 3)
    return found


@needs(PROGRAM)
def test_the_next_run_of_a_series_takes_the_place_of_the_last(gateway: Gateway) -> None:
    """Values are grouped by series, also one with a slash in its name: nothing piles up, and others stay."""
    gateway.push(store("nightly", "mtp-3"), "nightly")
    gateway.push(store("a/b", "off"), "a/b")
    gateway.push(store("nightly", "mtp-5"), "nightly")
    lines = held(gateway)
    assert len(lines) == 2
    assert any('series="a/b"' in line and 'variant="off"' in line for line in lines)
    assert any('series="nightly"' in line and 'variant="mtp-5"' in line for line in lines)
    assert all('job="loadgen"' in line for line in lines)
