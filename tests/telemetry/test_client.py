"""How our own process does, and what machine it runs on."""

import asyncio
import time

from loadgen.telemetry.client_lag import LagProbe
from loadgen.telemetry.host import describe

BLOCKED_S = 0.3


async def test_a_blocked_loop_shows_as_lag() -> None:
    """A callback that holds the loop for 300 ms makes a timer at least 250 ms late, and it is the maximum."""
    probe = LagProbe()
    probe.start()
    await asyncio.sleep(0)
    time.sleep(BLOCKED_S)  # noqa: ASYNC251 - blocking the loop is what this test is about
    for _ in range(3):  # turns of the loop, in which the overdue timer fires
        await asyncio.sleep(0)
    reading = probe.stop(stamps="user", receive_lags_ns=[])
    assert reading.lag_max_ns is not None
    assert reading.lag_max_ns >= 250_000_000
    assert reading.lag_samples >= 1
    assert reading.receive_lag_p99_ns is None


async def test_receive_lags_are_ranked() -> None:
    """p50, p99 and the maximum by rank ⌈q·n⌉ of the lags that the connections saw."""
    probe = LagProbe()
    probe.start()
    reading = probe.stop(stamps="kernel", receive_lags_ns=range(1, 201))
    assert (reading.receive_lag_p50_ns, reading.receive_lag_p99_ns, reading.receive_lag_max_ns) == (100, 198, 200)
    assert (reading.receive_lag_samples, reading.stamps) == (200, "kernel")


async def test_a_probe_that_saw_nothing_says_nothing() -> None:
    """No timer fired: null, not 0."""
    probe = LagProbe()
    probe.start()
    reading = probe.stop(stamps="user", receive_lags_ns=[])
    assert (reading.lag_samples, reading.lag_p50_ns, reading.lag_max_ns) == (0, None, None)


def test_the_host_is_described_without_zeros() -> None:
    """Cores and memory of this machine are known."""
    host = describe()
    assert host["cores"] >= 1
    assert host["memory_bytes"] > 1 << 28
    assert host["system"].startswith("Linux")
