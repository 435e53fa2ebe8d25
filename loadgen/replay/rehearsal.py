"""The rehearsal: sessions are played once on one server, live and without waits, and the answers are kept."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import Outcome, Phase, RequestRecord
from loadgen.replay.bench import Bench
from loadgen.replay.board import Board
from loadgen.replay.caller import Caller
from loadgen.replay.course import Course
from loadgen.replay.pacing import backoff_s
from loadgen.replay.script import Play, Script
from loadgen.workload.frozen import Heard, HeardTurns
from loadgen.workload.recorded import Cancel
from loadgen.workload.session import Session

IDLE_S = 30.0
"""How long answers that were broken off at the end may keep the server busy before the run goes on."""


class Rehearsal:
    """Plays the pool of a script in its order, several sessions at once.

    Args:
        script: what is played; its workload has live history.
        bench: the server.
        run_id: the run.
        planned: what the requests are filed under, and how many sessions are played at once (its level).
        interrupted: set it to stop.
        progress: told how many turns have been answered.
    """

    def __init__(
        self,
        script: Script,
        bench: Bench,
        *,
        run_id: str,
        planned: PlannedTrial,
        interrupted: asyncio.Event,
        progress: Callable[[int], None],
    ) -> None:
        self._script = script
        self._bench = bench
        self._run_id = run_id
        self._planned = planned
        self._interrupted = interrupted
        self._progress = progress
        self._board = Board(planned.level, warmup_s=0.0, alive=bench.alive)
        self._waiting: Iterator[Session] = iter(script.workload.sessions)
        self._heard: dict[str, dict[str, dict[int, Heard]]] = {}
        """By instance of the root session, session and turn."""
        self.turns = 0
        """Turns that were answered, those of sub-agents included."""
        self.failures = 0
        """Turns that failed: each ended its session."""

    @property
    def aborted(self) -> str | None:
        """Why it stopped before its time; null where it didn't."""
        return self._board.aborted

    def of(self, session: Session) -> HeardTurns:
        """What was heard of a root session and its sub-agents."""
        return self._heard.get(_instance(session), {})

    async def play(self, seconds: float) -> None:
        """Plays until every session has been played, or for so many seconds; what then is under way is broken off."""
        agents = [asyncio.create_task(self._work(number)) for number in range(self._planned.level)]
        done: asyncio.Future[Any] = asyncio.gather(*agents)
        stops: list[asyncio.Future[Any]] = [
            asyncio.create_task(event.wait()) for event in (self._board.stopped, self._interrupted)
        ]
        try:
            await asyncio.wait([done, *stops], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*agents, *stops):
                task.cancel()
            results = await asyncio.gather(*agents, return_exceptions=True)
            await asyncio.gather(done, *stops, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result
        await self._bench.control.wait_idle(IDLE_S)

    async def _work(self, number: int) -> None:
        """One agent: takes the next session of the pool until there is none."""
        caller = _Listener(
            number,
            script=self._script,
            board=self._board,
            bench=self._bench,
            run_id=self._run_id,
            planned=self._planned,
            on_answer=self._answered,
        )
        failures = 0
        for session in self._waiting:
            failures = 0 if await self._session(caller, session) else failures + 1
            if failures:
                await asyncio.sleep(backoff_s(failures))

    async def _session(self, caller: Caller, session: Session) -> bool:
        """Plays one session; whether it came to its end."""
        name = _instance(session)
        play = Play(session, name, 0, root=name)
        course = Course(caller, play, lambda: Phase.WARMUP, ready_ns=time.monotonic_ns())
        try:
            while not course.is_over:
                if (await course.turn()).failed:
                    self.failures += 1
                    return False
            await course.finish()
        finally:
            await course.abandon()
        return True

    def _answered(self, play: Play, turn: int, record: RequestRecord) -> None:
        heard = Heard(
            message=play.answers.get(turn),
            input_tokens=record.prompt_tokens,
            output_tokens=record.completion_tokens,
            cached_tokens=record.cached_tokens,
            finish_reason=record.finish_reason,
        )
        self._heard.setdefault(play.root, {}).setdefault(play.session.id, {})[turn] = heard
        self.turns += 1
        self._progress(self.turns)


class _Listener(Caller):
    """A caller that tells of every answer that its session goes on from."""

    def __init__(
        self,
        number: int,
        *,
        script: Script,
        board: Board,
        bench: Bench,
        run_id: str,
        planned: PlannedTrial,
        on_answer: Callable[[Play, int, RequestRecord], None],
    ) -> None:
        super().__init__(number, script=script, board=board, bench=bench, run_id=run_id, planned=planned)
        self._on_answer = on_answer

    async def send(
        self,
        play: Play,
        phase: Phase,
        *,
        ready_ns: int,
        due_ns: int,
        wait_kind: str | None,
        attempt: int = 1,
        cancel: Cancel | None = None,
    ) -> RequestRecord:
        turn = play.turn
        record = await super().send(
            play, phase, ready_ns=ready_ns, due_ns=due_ns, wait_kind=wait_kind, attempt=attempt, cancel=cancel
        )
        dropped = record.outcome is Outcome.CANCELLED and cancel is not None and cancel.then == "drop"
        if record.outcome is Outcome.OK or dropped:
            self._on_answer(play, turn, record)
        return record


def _instance(session: Session) -> str:
    """The name under which a root session of the pool is played."""
    return f"{session.id}@rehearsal"
