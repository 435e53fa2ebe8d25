"""The deadlines of one request: first token, stall and total, watched by one timer."""

import asyncio
from types import TracebackType
from typing import Self

from loadgen.experiment.model import Deadlines
from loadgen.records.model import Outcome


class DeadlineWatch:
    """Ends the block it encloses with `TimeoutError` when a deadline passes; `cause` says which one.

    Moving a deadline is one assignment: the timer looks at it only when it fires, and then sleeps again until the
    moment that holds by then. So a token costs no timer of its own. Deadlines count from entering the block.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        self.cause: Outcome | None = None
        self._deadlines = deadlines
        self._loop = asyncio.get_running_loop()
        self._total_at = self._phase_at = float("inf")
        self._phase_cause = Outcome.TIMEOUT_TOTAL
        self._limit = asyncio.timeout(None)
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        self._total_at = self._phase_at = self._loop.time() + self._deadlines.total_s
        self._arm(self._total_at)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._limit.__aexit__(kind, error, trace)

    def sent(self) -> None:
        """The request is being written: from now on the first token is waited for."""
        self._phase_at = self._loop.time() + self._deadlines.first_token_s
        self._phase_cause = Outcome.TIMEOUT_FIRST_TOKEN
        self._arm(min(self._phase_at, self._total_at))

    def token(self) -> None:
        """A token event came: from now on the next one is waited for."""
        self._phase_at = self._loop.time() + self._deadlines.stall_s
        if self._phase_cause is not Outcome.TIMEOUT_STALL:
            self._phase_cause = Outcome.TIMEOUT_STALL
            self._arm(min(self._phase_at, self._total_at))

    def _arm(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._fire)

    def _fire(self) -> None:
        now = self._loop.time()
        if now >= self._total_at:
            self.cause = Outcome.TIMEOUT_TOTAL
        elif now >= self._phase_at:
            self.cause = self._phase_cause
        else:
            self._arm(min(self._phase_at, self._total_at))
            return
        self._limit.reschedule(now)
