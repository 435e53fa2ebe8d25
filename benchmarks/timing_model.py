"""A model of a server with slots, in simulated time: what it takes to tell an estimate from the truth.

Requests take a free slot in the order of their arrival. The prefill of what is not cached shares the device equally
among those that prefill. All decoding requests then advance together, one step each in

    (base + per_sequence * b) * (slowdown while anything prefills)

seconds, b being the number of decoding requests. A step gives `tokens_per_step` tokens on average. Speculation is a
larger `per_sequence` with more tokens a step: it pays at small concurrency and costs at large. Everything is scaled by
one factor for a trial (the noise of the machine). Events are discrete and nothing sleeps.
"""

import heapq
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Speed:
    """The timing of one variant, in seconds."""

    base_s: float = 0.020
    per_sequence_s: float = 0.002
    tokens_per_step: float = 1.0
    prefill_s_per_token: float = 0.0005
    prefill_slowdown: float = 1.3


OFF = Speed()
ON = Speed(base_s=0.024, per_sequence_s=0.010, tokens_per_step=2.4)
"""About 1.5 times as fast as `OFF` for one agent and slower for eight."""


@dataclass(slots=True)
class Call:
    """One request to the model. Times are seconds since the start of the trial; the last three are filled in."""

    agent: int
    session: int
    play: int
    turn: int
    phase: str
    ready: float
    due: float
    wait_kind: str | None
    uncached: int
    tokens: int
    fails_after: float | None
    """Share of its tokens after which it fails; null for one that succeeds."""
    taken: float = 0.0
    first: float = 0.0
    end: float = 0.0


Agent: TypeAlias = Generator[Call, Call, None]


class Server:
    """Slots, their queue, and the two clocks of virtual work: steps decoded and seconds prefilled."""

    def __init__(self, speed: Speed, slots: int, factor: float) -> None:
        self._speed = speed
        self._free = slots
        self._factor = factor
        self._queue: deque[Call] = deque()
        self._prefilling: list[tuple[float, int, Call]] = []
        self._decoding: list[tuple[float, int, Call]] = []
        self._prefilled = 0.0
        self._stepped = 0.0
        self._now = 0.0
        self._count = 0

    def arrive(self, now: float, call: Call) -> None:
        """Take a request: into a free slot, else to the end of the queue."""
        self._advance(now)
        if self._free:
            self._take(call)
        else:
            self._queue.append(call)

    def next_at(self) -> float:
        """When the next prefill or answer ends, if nothing arrives before; infinity when idle."""
        at = float("inf")
        if self._prefilling:
            at = self._now + (self._prefilling[0][0] - self._prefilled) * len(self._prefilling)
        if self._decoding:
            at = min(at, self._now + (self._decoding[0][0] - self._stepped) * self._step_s())
        return at

    def step(self, now: float) -> Call | None:
        """Go to the next end; the request that ended there, or None where only a prefill did."""
        first_decodes = bool(self._decoding) and (
            not self._prefilling
            or (self._decoding[0][0] - self._stepped) * self._step_s()
            <= (self._prefilling[0][0] - self._prefilled) * len(self._prefilling)
        )
        self._advance(now)
        if not first_decodes:
            self._prefilled, _, call = heapq.heappop(self._prefilling)
            share = 1.0 if call.fails_after is None else call.fails_after
            steps = max(1.0, call.tokens * share / self._speed.tokens_per_step)
            call.first = now
            self._count += 1
            heapq.heappush(self._decoding, (self._stepped + steps, self._count, call))
            return None
        self._stepped, _, call = heapq.heappop(self._decoding)
        call.end = now
        self._free += 1
        if self._queue:
            self._take(self._queue.popleft())
        return call

    def _take(self, call: Call) -> None:
        self._free -= 1
        self._count += 1
        call.taken = self._now
        work = call.uncached * self._speed.prefill_s_per_token * self._factor
        heapq.heappush(self._prefilling, (self._prefilled + work, self._count, call))

    def _step_s(self) -> float:
        slowdown = self._speed.prefill_slowdown if self._prefilling else 1.0
        return (self._speed.base_s + self._speed.per_sequence_s * len(self._decoding)) * slowdown * self._factor

    def _advance(self, now: float) -> None:
        passed = now - self._now
        if self._decoding:
            self._stepped += passed / self._step_s()
        if self._prefilling:
            self._prefilled += passed / len(self._prefilling)
        self._now = now


def play(
    agents: Sequence[Agent], server: Server, *, stop: Callable[[], bool], observe: Callable[[Call], None] | None = None
) -> float:
    """Let agents work on a server until `stop` holds (asked after every answer); the time at which it did.

    An agent is a generator: it yields a `Call`, is sent the same call when it has ended, and yields its next.
    """
    arrivals: list[tuple[float, int, Call]] = []
    for agent in agents:
        call = next(agent)
        arrivals.append((call.due, call.agent, call))
    heapq.heapify(arrivals)
    while True:
        arrival = arrivals[0][0] if arrivals else float("inf")
        at = server.next_at()
        if arrival <= at:
            due, _, call = heapq.heappop(arrivals)
            server.arrive(due, call)
            continue
        ended = server.step(at)
        if ended is None:
            continue
        if observe is not None:
            observe(ended)
        call = agents[ended.agent].send(ended)
        if stop():
            return at
        heapq.heappush(arrivals, (call.due, call.agent, call))
