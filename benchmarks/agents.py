"""Agents on the timing model: those of a trial, which follow loadgen's procedure, and those that work without end."""

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from benchmarks.timing_model import Agent, Call, Speed
from benchmarks.work import Work
from loadgen.records.model import Phase
from loadgen.workload.draws import rng, session_index

_WARMUP_S = 3.0
_REPEAT_TOKENS = 4
"""What a server evaluates again of a prompt that it has whole in its cache."""


@dataclass
class Setting:
    """One trial to be played."""

    work: Work
    speed: Speed
    seed: int
    variant: str
    round: int
    level: int
    slots: int
    turns: int
    starts: Sequence[tuple[int, int]]
    failing: float = 0.0
    """Share of turns that fail."""
    factor: float = 1.0
    """Scales every time on the server: the noise of this trial."""
    warmed: int = 0
    segments: dict[int, tuple[float, float]] = field(default_factory=dict)


@dataclass
class _Hand:
    """What one agent needs to make its calls."""

    work: Work
    speed: Speed
    chance: random.Random
    agent: int
    failing: float
    failures: int = 0
    """Failed turns in a row, up to the last one."""

    def call(self, place: tuple[int, int, int], phase: Phase, now: float, cached: int) -> Call:
        """The turn at `place` (session, play, turn), due after its wait or, after failures, after 0.5·2ⁱ s (10 s)."""
        session, play, turn = place
        backoff = min(0.5 * 2 ** (self.failures - 1), 10.0) if self.failures else 0.0
        wait = backoff or self.work.waits[session][turn]
        tokens = self.work.draw_tokens(session, turn, self.chance)
        steps = self.speed.steps(tokens, self.chance)
        failed = self.failing > 0 and phase is not Phase.WARMUP and self.chance.random() < self.failing
        return Call(
            agent=self.agent,
            session=session,
            play=play,
            turn=turn,
            phase=phase,
            ready=now,
            due=now + wait,
            wait_kind="backoff" if backoff else ("tool" if wait else None),
            uncached=self.work.depths[session][turn] - cached,
            tokens=tokens,
            steps=self.chance.randint(1, steps) if failed else steps,
            failed=failed,
        )

    def ended(self, call: Call) -> bool:
        """Take note of how a turn went; whether its session is over."""
        self.failures = self.failures + 1 if call.failed else 0
        return call.failed or call.turn == len(self.work.depths[call.session]) - 1


def trial_agent(setting: Setting, index: int) -> Agent:
    """Warm up, work for a segment of k turns, and go on; the segment's times go into the setting."""
    work = setting.work
    seeds = (setting.seed, "agent", setting.round, setting.level, index, setting.variant)
    chance = random.Random(int(rng(*seeds).integers(1 << 62)))  # noqa: S311 - a model, no secret
    hand = _Hand(work, setting.speed, chance, index, setting.failing)
    session, turn = setting.starts[index]
    now = yield from _warm_up(setting, hand)
    begun, done, plays = now, 0, 0
    cached = work.depths[session][turn - 1] if turn else 0
    while True:
        over = False
        while not over:
            phase = Phase.SEGMENT if done < setting.turns else Phase.DRAIN
            call = yield hand.call((session, plays, turn), phase, now, cached)
            now = call.end
            done += 1
            if done == setting.turns:
                setting.segments[index] = (begun, now)
            cached, turn, over = work.depths[session][turn], turn + 1, hand.ended(call)
        plays += 1
        session = session_index(setting.seed, setting.round, setting.level, index, plays, len(work.depths))
        turn = cached = 0


def _warm_up(setting: Setting, hand: _Hand) -> Generator[Call, Call, float]:
    """Repeat one turn until everyone has done one and 3 s have passed; the time of its end."""
    work = setting.work
    session, turn = setting.starts[hand.agent]
    if turn == 0:
        session = (session + 1) % len(work.depths)
        turn = hand.chance.randrange(len(work.depths[session]))
    else:
        turn -= 1
    now, cached, first = 0.0, 0, True
    while first or setting.warmed < setting.level or now < _WARMUP_S:
        call = yield hand.call((session, -1, turn), Phase.WARMUP, now, cached)
        now = call.end
        setting.warmed += first
        first, cached = False, work.depths[session][turn] - _REPEAT_TOKENS
    return now


@dataclass
class Passages:
    """When one endless agent stood between two passages through the pool, and how many whole sessions it had then."""

    at: list[float] = field(default_factory=list)
    completed: list[int] = field(default_factory=list)


def endless_agent(
    work: Work, speed: Speed, chance: random.Random, index: int, *, failing: float, passages: Passages
) -> Agent:
    """Passage after passage through the pool, each in an order of its own, with every session from its first turn on.

    Before the first passage stands a part of some session, so that agents are not all in their first turns at once.
    """
    hand = _Hand(work, speed, chance, index, failing)
    session = chance.randrange(len(work.depths))
    turn = chance.randrange(len(work.depths[session]))
    now, plays, completed = 0.0, 0, 0
    order: list[int] = []
    while True:
        cached = 0
        over = False
        while not over:
            call = yield hand.call((session, plays, turn), Phase.SEGMENT, now, cached)
            now, cached, turn, over = call.end, work.depths[session][turn], turn + 1, hand.ended(call)
        completed += not call.failed
        if not order:
            passages.at.append(now)
            passages.completed.append(completed)
            order = list(range(len(work.depths)))
            chance.shuffle(order)
        plays += 1
        session, turn = order.pop(), 0
