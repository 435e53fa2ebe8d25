"""Is a running server fit to be measured?"""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.client.transport import HttpTransport
from loadgen.records.model import ServerFacts
from loadgen.servers.checkup import Finding, check_up, connecting, room, sleeping, speculation
from loadgen.servers.connection import Connection, measure
from loadgen.servers.descriptors import Descriptors, make_room

if TYPE_CHECKING:
    from tests.servers.conftest import Served

FACTS = ServerFacts(
    kind="llama-server",
    model="m",
    model_path=None,
    build=None,
    slots=4,
    context_per_slot=1024,
    metrics=True,
    speculative=None,
    drafted=None,
    sampling=None,
)


def test_a_slow_connection_is_said_with_the_address_tried_first() -> None:
    """A name that resolves to ::1 first costs seconds at every connection where only 127.0.0.1 answers."""
    found = connecting(Connection(2.04, ("::1", "127.0.0.1")), Endpoint.parse("localhost:8080"))
    assert found == Finding(
        "problem",
        "a connection takes 2.04 s, ::1 tried first and 127.0.0.1 in the end",
        "give an address instead of the name: http://127.0.0.1:PORT",
    )
    remote = connecting(Connection(0.26, ("10.0.0.1",)), Endpoint.parse("host:8080"))
    assert remote == Finding("problem", "a connection takes 0.26 s", "give an address instead of the name")


@pytest.mark.parametrize("connection", [None, Connection(0.25, ("127.0.0.1",))])
def test_a_quick_connection_is_no_finding(connection: Connection | None) -> None:
    """Nor is one that could not be measured."""
    assert connecting(connection, Endpoint.parse("localhost:8080")) is None


async def test_a_connection_is_measured() -> None:
    """The addresses that were tried, the last of which answered; null where none does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint.parse(f"localhost:{server.getsockname()[1]}")
        found = await measure(endpoint)
    assert found is not None
    assert found.tried[-1] == "127.0.0.1"
    assert found.seconds > 0
    assert await measure(endpoint) is None


@pytest.mark.parametrize(
    ("speculative", "drafted", "level", "text"),
    [
        (True, 9, "ok", "speculation is on: a probe request drafted 9 tokens"),
        (True, 0, "problem", "speculation is loaded (/slots says so) but a probe request drafted nothing"),
        (True, None, "problem", "speculation is loaded (/slots says so) but a probe request got no answer that tells"),
        (False, 0, "ok", "speculation is off: /slots says so, and a probe request drafted nothing"),
        (None, 0, "note", "speculation: unknown; /slots doesn't say, and a probe request drafted nothing"),
        (None, 9, "ok", "speculation is on"),
    ],
)
def test_speculation_is_slots_and_probe_together(
    speculative: bool | None, drafted: int | None, level: str, text: str
) -> None:
    """Nothing drafted and no answer are told apart."""
    found = speculation(msgspec.structs.replace(FACTS, speculative=speculative, drafted=drafted))
    assert found is not None
    assert (found.level, found.text[: len(text)]) == (level, text)


@pytest.mark.parametrize(
    ("props", "settings", "sleeps"),
    [
        ({"is_sleeping": True}, None, True),
        ({"is_sleeping": False}, {"sleep_idle_s": 600}, True),
        ({"is_sleeping": False}, {"sleep_idle_s": "not given"}, False),
        (None, {"sleep_idle_s": -1}, False),
        ({}, None, False),
    ],
)
def test_a_server_that_sleeps_is_found(
    props: dict[str, Any] | None, settings: dict[str, Any] | None, sleeps: bool
) -> None:
    """By /props while it sleeps, by its command while it is awake."""
    assert (sleeping(props, msgspec.structs.replace(FACTS, settings=settings)) is not None) is sleeps


@pytest.mark.parametrize(
    ("now", "level", "text"),
    [
        (Descriptors(10, 1024, 1024), "ok", "descriptor limit 1024: enough for 950 agents"),
        (
            Descriptors(10, 1024, 4096),
            "ok",
            "descriptor limit 1024, raised up to 4096 where needed: enough for 4022 agents",
        ),
        (Descriptors(10, 64, 64), "problem", "descriptor limit 64: enough for 0 agents"),
        (Descriptors(10, None, None), "ok", "descriptors without limit: enough for any number of agents"),
    ],
)
def test_descriptors_for_all_slots(now: Descriptors, level: str, text: str) -> None:
    """What counts is the limit that we may raise ours to."""
    found = room(now, 4)
    assert (found.level, found.text) == (level, text)


LIMITED = """
import resource, sys
from loadgen.servers.descriptors import make_room
soft, hard = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
make_room(128)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def limited(soft: int, hard: int) -> "subprocess.CompletedProcess[str]":
    """Room for 128 agents, made in a child process with these limits."""
    command = [sys.executable, "-c", LIMITED, str(soft), str(hard)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_our_limit_is_raised_as_far_as_needed() -> None:
    """Above 128 agents and what we need besides, and no further than allowed; an ample limit stays."""
    assert 192 < int(limited(64, 1000).stdout) < 300
    assert limited(900, 1000).stdout == "900\n"


def test_a_limit_that_can_not_be_raised_is_said_before() -> None:
    """With 64 descriptors, 128 agents can't work: how many they need, and what to do."""
    error = limited(64, 64).stderr.splitlines()[-1]
    assert "128 agents need about" in error
    assert "file descriptors, and the limit is 64: raise it" in error
    make_room(1)


@pytest.mark.live
async def test_a_real_server_is_looked_at(serve: Callable[..., "Served"], tiny_model: Path) -> None:
    """Model file, slots, what its command sets, template, metrics and speculation of a server that runs."""
    served = serve("-m", str(tiny_model), "-np", "2", "-c", "2048", "-ctk", "q8_0", "--spec-type", "draft-mtp")
    async with HttpTransport(Endpoint.parse(served.url)) as transport:
        facts, findings = await check_up(transport)
    assert facts.drafted is not None
    texts = iter(finding.text for finding in findings)
    for start in (
        f"llama-server at {served.url} serves ",
        "model file of 1.",
        "2 slots, 1024 tokens of context each",
        "set by its command: cache_type_k q8_0, threads 1",
        "/tokenize answers; chat template ",
        "/metrics is off",
        f"speculation is on: a probe request drafted {facts.drafted} tokens",
        "sampling defaults, used unless --body says otherwise: temperature 0.8",
        "descriptor",
    ):
        assert next(texts).startswith(start)
    assert list(texts) == []
