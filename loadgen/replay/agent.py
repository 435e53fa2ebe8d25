"""One agent: works through sessions, turn by turn, waiting for its tools in between."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loadgen.client.chat import ChatCall, build_body
from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import Outcome, Phase, Place
from loadgen.replay.bench import Bench
from loadgen.replay.board import Board
from loadgen.replay.pacing import Alarm, Ceiling, backoff_s
from loadgen.units import s_to_ns
from loadgen.workload.draws import session_index
from loadgen.workload.salt import salt
from loadgen.workload.session import Session, Workload, prompt


@dataclass(frozen=True)
class Script:
    """What all agents of a run play, and how requests are made of it."""

    workload: Workload
    seed: int
    body: Mapping[str, Any] = field(default_factory=dict)
    ceiling: Ceiling = field(default_factory=lambda: Ceiling(None))
    alarm: Alarm = field(default_factory=Alarm)
    salted: bool = True
    """Unique prompt prefixes. Without them trials read each other's prompt cache: for tests of that detector only."""


@dataclass
class Play:
    """One session under way: which instance, the next turn, and the answers so far."""

    session: Session
    name: str
    """The instance: two agents that play the same session of the pool are two sessions."""
    turn: int
    answers: dict[int, str] = field(default_factory=dict)


class Agent:
    """Agent `number` of a trial, from 0."""

    def __init__(
        self,
        number: int,
        *,
        start: tuple[int, int],
        script: Script,
        board: Board,
        bench: Bench,
        run_id: str,
        planned: PlannedTrial,
    ) -> None:
        self.number = number
        self._start = start
        self._script = script
        self._board = board
        self._bench = bench
        self._run_id = run_id
        self._planned = planned
        self._sessions_begun = 0
        self._failures = 0
        self._ready_ns = time.monotonic_ns()

    async def work(self) -> None:
        """Warm up, play k measured turns, then keep working. Ends only by being cancelled."""
        play = await self._warm_up()
        self._board.segment_started(self.number, self._ready_ns)
        for _ in range(self._planned.turns_per_agent):
            play = await self._turn(play, Phase.SEGMENT)
        self._board.segment_ended(self.number, self._ready_ns)
        while True:
            play = await self._turn(play, Phase.DRAIN)

    async def _warm_up(self) -> Play:
        """Repeat the turn before the start turn, so that the segment begins with the prompt so far in the cache.

        A segment that begins with turn 0 finds no such turn: another session warms up then, and the first measured
        prompt is new to the server, as every first turn is.
        """
        index, turn = self._start
        play = self._begin(index, turn)
        if turn == 0:
            other = self._draw(0)
            warm = Play(self._sessions()[other], f"{self._sessions()[other].id}@a{self.number}.w", 0)
        else:
            warm = Play(play.session, play.name, turn - 1, play.answers)
        while True:
            await self._send(warm, Phase.WARMUP)
            if self._board.warm():
                return play

    async def _turn(self, play: Play, phase: Phase) -> Play:
        """Play the next turn; returns the session to go on with (a new one after the last turn or a failed one)."""
        ok = await self._send(play, phase)
        play.turn += 1
        if ok and play.turn < len(play.session.turns):
            return play
        return self._begin(self._draw(self._sessions_begun), 0)

    async def _send(self, play: Play, phase: Phase) -> bool:
        turn = play.session.turns[play.turn]
        wait_s: float = backoff_s(self._failures) if self._failures else turn.wait_s
        wait_kind = "backoff" if self._failures else turn.wait_kind
        scheduled_ns = self._ready_ns + s_to_ns(wait_s)
        call = self._bench.chat.prepare(self._call(play))
        await self._script.alarm.wait_until(scheduled_ns)
        await self._script.ceiling.admit()
        self._board.in_flight += 1
        try:
            result = await self._bench.chat.send(call, self._place(play, phase, scheduled_ns, wait_kind))
        finally:
            self._board.in_flight -= 1
        record = result.record
        self._ready_ns = record.end_ns
        self._failures = self._failures + 1 if record.outcome.failed else 0
        self._board.turn_ended(self.number, record)
        if self._script.workload.history == "live" and record.outcome is Outcome.OK:
            play.answers[play.turn] = result.text or ""
        return record.outcome is Outcome.OK

    def _call(self, play: Play) -> ChatCall:
        workload, turn = self._script.workload, play.session.turns[play.turn]
        prefix = salt(self._run_id, self._planned.trial, play.name) if self._script.salted else ""
        body = build_body(
            prompt(play.session, play.turn, salt=prefix, answers=play.answers),
            model=self._bench.model,
            max_tokens=turn.output_tokens,
            exact_length=workload.exact_length,
            extra={**self._script.body, **self._bench.body},
        )
        return ChatCall(
            body=body,
            max_tokens=turn.output_tokens,
            exact_length=workload.exact_length,
            keep_text=workload.history == "live",
        )

    def _place(self, play: Play, phase: Phase, scheduled_ns: int, wait_kind: str | None) -> Place:
        planned = self._planned
        return Place(
            run=self._run_id,
            trial=planned.trial,
            round=planned.round,
            variant=planned.variant,
            level=planned.level,
            agent=self.number,
            session=play.name,
            root=play.name,
            turn=play.turn,
            turns=len(play.session.turns),
            turn_kind=play.session.turns[play.turn].kind,
            attempt=1,
            phase=phase,
            ready_ns=self._ready_ns,
            scheduled_ns=scheduled_ns,
            wait_kind=wait_kind,
            in_flight=self._board.in_flight,
            active_agents=self._board.agents,
        )

    def _sessions(self) -> tuple[Session, ...]:
        return self._script.workload.sessions

    def _draw(self, kth: int) -> int:
        planned = self._planned
        return session_index(
            self._script.seed, planned.work_round, planned.level, self.number, kth, len(self._sessions())
        )

    def _begin(self, index: int, turn: int) -> Play:
        session = self._sessions()[index]
        play = Play(session, f"{session.id}@a{self.number}.{self._sessions_begun}", turn)
        self._sessions_begun += 1
        return play
