"""Sends the turns of one agent and of its sub-agents: builds the request, waits until it is due, places its record."""

from functools import partial

from loadgen.client.chat import ChatCall, build_body
from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import Outcome, Phase, Place, RequestRecord
from loadgen.replay.bench import Bench
from loadgen.replay.board import Board
from loadgen.replay.script import Play, Script
from loadgen.workload.put_back import compared, put_back
from loadgen.workload.recorded import Cancel
from loadgen.workload.salt import salt
from loadgen.workload.session import prompt


class Caller:
    """The calls of agent `number` of a trial, from 0."""

    def __init__(
        self, number: int, *, script: Script, board: Board, bench: Bench, run_id: str, planned: PlannedTrial
    ) -> None:
        self.number = number
        self._script = script
        self._board = board
        self._bench = bench
        self._run_id = run_id
        self._planned = planned
        self._is_live = script.workload.history == "live"

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
        """Sends the turn that `play` is at when it is due; returns its record.

        With live history what of the answer goes back is kept in `play`. With `cancel` the answer is broken off.
        """
        call = self._bench.chat.prepare(self._call(play, cancel))
        await self._script.alarm.wait_until(due_ns)
        await self._script.ceiling.admit()
        self._board.in_flight += 1
        try:
            result = await self._bench.chat.send(
                call,
                self._place(play, phase, ready_ns=ready_ns, due_ns=due_ns, wait_kind=wait_kind, attempt=attempt),
            )
        finally:
            self._board.in_flight -= 1
        record = result.record
        self._board.turn_ended(self.number, record)
        if self._is_live and record.outcome is Outcome.OK and result.message is not None:
            back = put_back(play.session.turns[play.turn], result.message)
            if back is not None:
                play.answers[play.turn] = back
        return record

    def _call(self, play: Play, cancel: Cancel | None) -> ChatCall:
        workload, turn = self._script.workload, play.session.turns[play.turn]
        # One salt a tree: what sub-agents share with their parent they share in life.
        prefix = salt(self._run_id, self._planned.trial, play.root) if self._script.salted else ""
        tools = {"tools": play.session.tools} if play.session.tools else {}
        body = build_body(
            prompt(play.session, play.turn, salt=prefix, answers=play.answers),
            model=self._bench.model,
            max_tokens=turn.output_tokens,
            exact_length=workload.exact_length,
            extra={**tools, **self._script.body, **self._bench.body},
        )
        return ChatCall(
            body=body,
            max_tokens=turn.output_tokens,
            exact_length=workload.exact_length,
            keep_text=self._is_live,
            cancel_after_tokens=cancel.after_tokens if cancel is not None else None,
            cancel_after_s=cancel.after_s if cancel is not None else None,
            compare=partial(compared, turn, live=self._is_live),
        )

    def _place(
        self, play: Play, phase: Phase, *, ready_ns: int, due_ns: int, wait_kind: str | None, attempt: int
    ) -> Place:
        planned, turn = self._planned, play.session.turns[play.turn]
        return Place(
            run=self._run_id,
            trial=planned.trial,
            round=planned.round,
            variant=planned.variant,
            level=planned.level,
            agent=self.number,
            session=play.name,
            root=play.root,
            turn=play.turn,
            turns=len(play.session.turns),
            turn_kind=turn.kind,
            attempt=attempt,
            phase=phase,
            ready_ns=ready_ns,
            scheduled_ns=due_ns,
            wait_kind=wait_kind,
            in_flight=self._board.in_flight,
            active_agents=self._board.agents,
            begins_anew=turn.begins_anew,
            work_class=self._script.work_class,
        )
