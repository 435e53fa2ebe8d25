"""One agent: works through sessions, turn by turn, waiting for its tools in between."""

import time

from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import Outcome, Phase
from loadgen.replay.bench import Bench
from loadgen.replay.board import Board
from loadgen.replay.caller import Caller
from loadgen.replay.casting import Part
from loadgen.replay.course import Course
from loadgen.replay.pacing import backoff_s
from loadgen.replay.script import Play
from loadgen.units import s_to_ns
from loadgen.workload.draws import session_index
from loadgen.workload.session import Session


class Agent:
    """Agent `number` of a trial, from 0."""

    def __init__(
        self,
        number: int,
        *,
        start: tuple[int, int],
        part: Part,
        board: Board,
        bench: Bench,
        run_id: str,
        planned: PlannedTrial,
    ) -> None:
        self.number = number
        self._start = start
        self._part = part
        self._script = part.script
        self._board = board
        self._planned = planned
        self._caller = Caller(number, script=part.script, board=board, bench=bench, run_id=run_id, planned=planned)
        self._phase = Phase.WARMUP
        self._sessions_begun = 0
        self._failures = 0
        self._ready_ns = time.monotonic_ns()

    async def work(self) -> None:
        """Warm up, play k measured turns, then keep working. Ends only by being cancelled."""
        course = self._course(await self._warm_up())
        try:
            self._phase = Phase.SEGMENT
            self._board.segment_started(self.number, self._ready_ns)
            turns, work_class = self._planned.turns_of(self._script.work_class), self._script.work_class
            for _ in range(turns):
                course = await self._turn(course)
            self._phase = Phase.DRAIN
            self._board.segment_ended(self.number, self._ready_ns, turns=turns, work_class=work_class)
            while True:
                course = await self._turn(course)
        finally:
            await course.abandon()

    async def _warm_up(self) -> Play:
        """Repeat the turn before the start turn, so that the segment begins with the prompt so far in the cache.

        A segment that begins with turn 0 finds no such turn: another session warms up then, and the first measured
        prompt is new to the server, as every first turn is.
        """
        index, turn = self._start
        play = self._begin(index, turn)
        if turn == 0:
            other = self._sessions()[self._draw(0)]
            name = f"{other.id}@a{self.number}.w"
            warm = Play(other, name, 0, root=name)
        else:
            warm = Play(play.session, play.name, turn - 1, root=play.root, answers=play.answers)
        while True:
            await self._repeat(warm)
            if self._board.warm():
                return play

    async def _repeat(self, warm: Play) -> None:
        """A turn of the warm-up, which stays at that turn, is never broken off and spawns nobody."""
        turn = warm.session.turns[warm.turn]
        wait_s, wait_kind = (backoff_s(self._failures), "backoff") if self._failures else (turn.wait_s, turn.wait_kind)
        due_ns = self._ready_ns + s_to_ns(wait_s)
        record = await self._caller.send(
            warm, Phase.WARMUP, ready_ns=self._ready_ns, due_ns=due_ns, wait_kind=wait_kind
        )
        self._ended(record.outcome, record.end_ns)

    async def _turn(self, course: Course) -> Course:
        """Play the next turn; returns the session to go on with (a new one after the last turn or a failed one)."""
        outcome = await course.turn(backoff_s=backoff_s(self._failures) if self._failures else None)
        self._ended(outcome, course.ready_ns)
        if outcome.failed:
            await course.abandon()
        elif course.is_over:
            await course.finish()
            self._ready_ns = course.ready_ns
        else:
            return course
        return self._course(self._begin(self._draw(self._sessions_begun), 0))

    def _ended(self, outcome: Outcome, end_ns: int) -> None:
        self._ready_ns = end_ns
        self._failures = self._failures + 1 if outcome.failed else 0

    def _course(self, play: Play) -> Course:
        return Course(self._caller, play, lambda: self._phase, ready_ns=self._ready_ns)

    def _sessions(self) -> tuple[Session, ...]:
        return self._script.workload.sessions

    def _draw(self, kth: int) -> int:
        return session_index(
            self._script.seed,
            self._planned.work_round,
            self._part.agents,
            self._part.place,
            kth,
            len(self._sessions()),
        )

    def _begin(self, index: int, turn: int) -> Play:
        session = self._sessions()[index]
        name = f"{session.id}@a{self.number}.{self._sessions_begun}"
        self._sessions_begun += 1
        return Play(session, name, turn, root=name)
