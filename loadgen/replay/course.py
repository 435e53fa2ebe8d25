"""One session from turn to turn, with the sub-agents that it spawns and waits for."""

import asyncio
from collections.abc import Callable

from loadgen.records.model import Outcome, Phase, RequestRecord
from loadgen.replay.caller import Caller
from loadgen.replay.script import Play
from loadgen.units import s_to_ns
from loadgen.workload.session import Session, Turn


class Course:
    """The course of one session.

    `phase` tells what the agent's requests count as at the moment: sub-agents run on while it goes from one phase into
    the next.
    """

    def __init__(self, caller: Caller, play: Play, phase: Callable[[], Phase], *, ready_ns: int) -> None:
        self.play = play
        self.ready_ns = ready_ns
        """When the session is free for its next turn."""
        self._caller = caller
        self._phase = phase
        self._sub_agents: dict[str, asyncio.Task[int]] = {}
        """Each gives the time of its end."""

    async def turn(self, *, backoff_s: float | None = None) -> Outcome:
        """Plays the next turn, after `backoff_s` in place of its own wait where given; returns how it ended.

        An answer that was broken off to be asked for again has the outcome of the second call.
        """
        turn = self.play.session.turns[self.play.turn]
        free_ns = max([self.ready_ns, *[await self._end_of(name) for name in turn.join]])
        wait_kind: str | None = "subagent" if free_ns > self.ready_ns else turn.wait_kind
        due_ns = free_ns + s_to_ns(turn.wait_s)
        if backoff_s is not None:
            wait_kind, due_ns = "backoff", self.ready_ns + s_to_ns(backoff_s)
        record = await self._caller.send(
            self.play, self._phase(), ready_ns=self.ready_ns, due_ns=due_ns, wait_kind=wait_kind, cancel=turn.cancel
        )
        if record.outcome is Outcome.CANCELLED and turn.cancel is not None and turn.cancel.then == "resume":
            record = await self._again(record)
        self.ready_ns = record.end_ns
        if not record.outcome.failed:
            self._spawn(turn)
            self.play.turn += 1
        return record.outcome

    @property
    def is_over(self) -> bool:
        """Whether every turn has been played."""
        return self.play.turn >= len(self.play.session.turns)

    async def finish(self) -> None:
        """Waits for the sub-agents that still run: the job isn't done before."""
        for name in list(self._sub_agents):
            self.ready_ns = max(self.ready_ns, await self._end_of(name))

    async def abandon(self) -> None:
        """Breaks off the sub-agents that still run. Raises the first error of one of them that is none of a server."""
        tasks = list(self._sub_agents.values())
        self._sub_agents.clear()
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception):
                raise result

    async def _again(self, record: RequestRecord) -> RequestRecord:
        """The same turn once more, at once and to its end."""
        return await self._caller.send(
            self.play, self._phase(), ready_ns=record.end_ns, due_ns=record.end_ns, wait_kind=None, attempt=2
        )

    def _spawn(self, turn: Turn) -> None:
        for session in turn.spawn:
            self._sub_agents[session.id] = asyncio.create_task(self._sub_agent(session))

    async def _sub_agent(self, session: Session) -> int:
        """A sub-agent from its first turn to its end, well or not; returns when that was."""
        name = self.play.name.replace(self.play.session.id, session.id, 1)
        play = Play(session, name, 0, root=self.play.root)
        course = Course(self._caller, play, self._phase, ready_ns=self.ready_ns)
        try:
            while not course.is_over:
                if (await course.turn()).failed:
                    return course.ready_ns
            await course.finish()
        finally:
            await course.abandon()
        return course.ready_ns

    async def _end_of(self, name: str) -> int:
        """When a sub-agent ended, once it has; 0 where none runs, because the session began behind its spawn."""
        task = self._sub_agents.get(name)
        if task is None:
            return 0
        end_ns = await task
        self._sub_agents.pop(name, None)
        return end_ns
