"""A model of a server with slots, in simulated time: what it takes to tell an estimate from the truth.

* **Slots, first come first served.** A request takes a free slot, else it waits behind those that came before.
* **Prefill.** What is not cached is evaluated first, at `prefill_s_per_token`; those that prefill at the same time
  share the device equally. Steps that begin meanwhile take `prefill_slowdown` times as long.
* **Lockstep.** All requests that decode take each step together. A request whose prefill has ended joins at the end of
  the step that is under way, and an answer ends with a whole step, so that several can end at the same instant.
* **Step time.** A step for b requests evaluates b · (drafted + 1) tokens, its *width*, and takes

      base_s + draft_s + per_token_s · width + every cliff whose width is passed

  seconds. A cliff is what a kernel for wider batches costs more: real ones switch at widths of 8, 16 and 32.
* **Speculation.** A step gives 1 + accepted tokens: each drafted token is accepted with probability `acceptance` if all
  before it were. Drafting takes `draft_s` a step. It pays at small concurrency and costs at large.
* **Noise.** One factor scales everything on the server for the length of a trial (see `benchmarks.noise`).

Events are discrete and nothing sleeps.
"""

import dataclasses
import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_ROUNDING = 1e-6
"""Share of a step below which a moment is the end of that step: floating-point time is no finer after days."""


@dataclass(frozen=True)
class Speed:
    """The timing of one variant, in seconds; `cliffs` holds (width that is passed, seconds more a step)."""

    base_s: float = 0.020
    per_token_s: float = 0.002
    drafted: int = 0
    acceptance: float = 0.0
    draft_s: float = 0.0
    cliffs: tuple[tuple[int, float], ...] = ()
    prefill_s_per_token: float = 0.0005
    prefill_slowdown: float = 1.3

    def step_s(self, requests: int) -> float:
        """Seconds of a step that serves so many requests, while nothing prefills."""
        width = requests * (self.drafted + 1)
        cliffs = sum(seconds for passed, seconds in self.cliffs if width > passed)
        return self.base_s + self.draft_s + self.per_token_s * width + cliffs

    def steps(self, tokens: int, chance: random.Random) -> int:
        """How many steps an answer of so many tokens takes, drawn."""
        if not self.drafted:
            return tokens
        steps = gained = 0
        while gained < tokens:
            accepted = 0
            while accepted < self.drafted and chance.random() < self.acceptance:
                accepted += 1
            gained += 1 + accepted
            steps += 1
        return steps

    def slowed(self, factor: float) -> "Speed":
        """The same server on a device that takes `factor` times as long for everything."""
        return dataclasses.replace(
            self,
            base_s=self.base_s * factor,
            per_token_s=self.per_token_s * factor,
            draft_s=self.draft_s * factor,
            cliffs=tuple((width, seconds * factor) for width, seconds in self.cliffs),
            prefill_s_per_token=self.prefill_s_per_token * factor,
        )


KERNELS = ((8, 0.004), (16, 0.004), (32, 0.008))
"""Where kernels switch, and what a step costs more from there on."""
OFF = Speed(cliffs=KERNELS)
ON = Speed(drafted=3, acceptance=0.6, draft_s=0.004, cliffs=KERNELS)
"""About 1.5 times as fast as `OFF` for one agent and slower for eight, with cliffs at 3 and 5 requests."""


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
    steps: int
    """Steps that its tokens take, or those until it fails."""
    failed: bool
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
        self._joining: list[Call] = []
        self._decoding: list[tuple[int, int, Call]] = []
        self._prefilled = 0.0
        self._stepped = 0
        # When the step under way ends; None between two steps.
        self._step_end: float | None = None
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
        return min(self._prefill_at(), self._answer_at())

    def step(self, now: float) -> Call | None:
        """Go to the next end; the request that ended there, or None where only a prefill did."""
        answered = self._answer_at() <= self._prefill_at()
        self._advance(now)
        if not answered:
            self._prefilled, _, call = heapq.heappop(self._prefilling)
            call.first = now
            self._joining.append(call)
            return None
        _, _, call = heapq.heappop(self._decoding)
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

    def _prefill_at(self) -> float:
        if not self._prefilling:
            return math.inf
        return self._now + (self._prefilling[0][0] - self._prefilled) * len(self._prefilling)

    def _answer_at(self) -> float:
        if self._decoding and self._decoding[0][0] <= self._stepped:
            return self._now
        self._begin_step()
        if self._step_end is None:
            return math.inf
        first = [self._decoding[0][0]] if self._decoding else []
        first += [self._stepped + 1 + call.steps for call in self._joining]
        further = min(first) - self._stepped - 1
        return self._step_end + further * self._step_s() if further else self._step_end

    def _begin_step(self) -> None:
        """Begin a step now, unless one is under way or nobody wants one; who becomes ready at this instant is in it."""
        if self._step_end is None and (self._decoding or self._joining) and self._prefill_at() > self._now:
            self._join()
            self._step_end = self._now + self._step_s()

    def _join(self) -> None:
        for call in self._joining:
            self._count += 1
            heapq.heappush(self._decoding, (self._stepped + call.steps, self._count, call))
        self._joining.clear()

    def _step_s(self) -> float:
        """Seconds of a step that begins with the present company."""
        slowdown = self._speed.prefill_slowdown if self._prefilling else 1.0
        return self._speed.step_s(len(self._decoding) + len(self._joining)) * slowdown * self._factor

    def _advance(self, now: float) -> None:
        """Let time pass in which nothing ends but steps."""
        if self._prefilling:
            self._prefilled += (now - self._now) / len(self._prefilling)
        if now > self._now and not (self._decoding and self._decoding[0][0] <= self._stepped):
            self._begin_step()
        if self._step_end is not None:
            self._pass_steps(now, self._step_end)
        self._now = now

    def _pass_steps(self, now: float, end: float) -> None:
        """The step that ends at `end` and as many more as there are until `now`."""
        step_s = self._step_s()
        left = now - end
        if left < -_ROUNDING * step_s:
            return
        self._stepped += 1
        more = int(left / step_s + _ROUNDING)
        over = left - more * step_s
        if more or over > _ROUNDING * step_s:
            self._join()
            self._stepped += more
        self._step_end = None if over <= _ROUNDING * step_s else now - over + step_s


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
        arrival = arrivals[0][0] if arrivals else math.inf
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
