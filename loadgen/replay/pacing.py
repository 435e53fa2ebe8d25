"""When the next request may start: the back-off after a failure, and a safety ceiling on requests per second."""

from asyncio_throttle.throttler import Throttler

BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 10.0
_DOUBLINGS = 5
"""After so many the back-off has reached its maximum; 2.0 ** 5000 would overflow."""

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
