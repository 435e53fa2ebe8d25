"""When the next request may start: on time, after a failure later, and never above a safety ceiling."""

import asyncio
import time

from asyncio_throttle.throttler import Throttler

from loadgen.units import NS_PER_MS, NS_PER_S

BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 10.0
_DOUBLINGS = 5
"""After so many the back-off has reached its maximum; 2.0 ** 5000 would overflow."""

LEAST_MARGIN_NS = 3 * NS_PER_MS // 2
"""What epoll's whole milliseconds and an ordinary wake-up cost."""
MOST_MARGIN_NS = 6 * NS_PER_MS
"""Turning the event loop costs a core while it lasts: at tens of agents more of this would be most of the time."""

_RETRY_S = 0.001
"""How often a waiting agent looks again. The throttler polls; its default of 10 ms would cost 10 % of the rate."""


def backoff_s(failures: int) -> float:
    """Seconds that an agent waits after its `failures`-th failed turn in a row (from 1): 0.5·2ⁱ, at most 10."""
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** min(failures - 1, _DOUBLINGS))


class Ceiling:
    """At most `rate` requests a second over all agents, or no limit at all.

    A safety net against a client that runs wild, not a clock: asyncio-throttle admits in bursts, out of order. Time
    spent here is no declared wait, so a ceiling that bites shows up as lost time and makes the trial invalid.
    """

    def __init__(self, rate: float | None) -> None:
        self._throttler = (
            Throttler(rate_limit=1, period=1 / rate, retry_interval=_RETRY_S) if rate is not None else None
        )

    async def admit(self) -> None:
        """Return when the next request may start."""
        if self._throttler is not None:
            await self._throttler.acquire()


class Alarm:
    """Wakes agents on time, although the machine's timers are late.

    epoll waits whole milliseconds, rounded up, and a virtual machine that has gone idle wakes up milliseconds later
    still. So a wait sleeps until shortly before its time, then lets the event loop turn until the time has come. How
    long before is learned from how late sleeps have ended.
    """

    def __init__(self) -> None:
        self._margin_ns = LEAST_MARGIN_NS

    async def wait_until(self, at_ns: int) -> None:
        """Returns at a time of the monotonic clock, at once where it has passed."""
        due_ns = at_ns - self._margin_ns
        remaining_ns = due_ns - time.monotonic_ns()
        if remaining_ns > 0:
            await asyncio.sleep(remaining_ns / NS_PER_S)
            self.learn(time.monotonic_ns() - due_ns)
        while time.monotonic_ns() < at_ns:  # noqa: ASYNC110 - a time comes by itself
            await asyncio.sleep(0)

    def learn(self, late_ns: int) -> None:
        """A sleep ended so late: the margin follows at once upwards, and slowly down again."""
        margin_ns = max(late_ns, round(0.95 * self._margin_ns))
        self._margin_ns = min(max(margin_ns, LEAST_MARGIN_NS), MOST_MARGIN_NS)

    @property
    def margin_ns(self) -> int:
        """How long before its time a wait stops sleeping."""
        return self._margin_ns
