"""The trials of a run, played one after another and written down as they end."""

import asyncio

from loadgen.experiment.model import Experiment
from loadgen.experiment.request_fields import request_fields
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import RequestRecord, TokenEvent, TrialRecord
from loadgen.records.run_folder import RunWriter
from loadgen.replay.bench import bench_of
from loadgen.replay.board import Board
from loadgen.replay.casting import companies
from loadgen.replay.meter import Meter, listening
from loadgen.replay.observer import Observer
from loadgen.replay.pacing import Ceiling
from loadgen.replay.script import Script
from loadgen.replay.trial import Trial
from loadgen.replay.watched import server_pid, watched
from loadgen.servers.target import Target
from loadgen.telemetry.watch import MemoryWatch
from loadgen.workload.draws import start_turns
from loadgen.workload.session import Workload


class Trials:
    """Plays trials of an experiment, each on a server that is up.

    Args:
        experiment: what is run.
        writer: the open run folder.
        observer: told of trials and requests.
        interrupted: set it to end the trial that runs.
        watch: watches memory while a trial runs.
        salted: give every trial its own prompts.
        meter: wants to know what a trial does at any time, and the tokens of requests.
    """

    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        observer: Observer,
        interrupted: asyncio.Event,
        watch: MemoryWatch,
        *,
        salted: bool,
        meter: Meter | None = None,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._interrupted = interrupted
        self._watch = watch
        self._salted = salted
        self._meter = meter
        self._script: Script | None = None

    def take_up(self, workload: Workload) -> None:
        """The workload that all trials play: known before the first one."""
        self._script = Script(
            workload,
            self._experiment.seed,
            body=request_fields(self._experiment),
            ceiling=Ceiling(self._experiment.max_request_rate),
            salted=self._salted,
        )

    async def play(self, target: Target, planned: PlannedTrial, plan: Plan | None = None) -> TrialRecord:
        """Play a trial and write it down. Pilots have no plan yet."""
        if self._script is None:
            raise RuntimeError("trials run after the workload is chosen")
        self._observer.trial_started(planned)
        server, pid = watched(target.variant), server_pid(target)
        trial = Trial(
            run_id=self._writer.path.name,
            planned=planned,
            script=self._script,
            starts=_starts(self._script, planned, plan),
            bench=bench_of(target, self._experiment, self.request_ended),
            interrupted=self._interrupted,
            on_load=self._meter.load if self._meter is not None else _unwatched,
        )
        self._watch.begin(planned.trial, server, pid)
        try:
            async with listening(self._meter, target.control):
                record = await trial.run()
        finally:
            await self._watch.pause()
        self._writer.trial(record)
        self._observer.trial_ended(record)
        return record

    def request_ended(self, record: RequestRecord, events: list[TokenEvent]) -> None:
        """Write a request down, of a trial or of an output check."""
        written = self._writer.request(record, events)
        self._observer.request(written)
        if self._meter is not None:
            self._meter.answered(written, events)


def _unwatched(_board: Board) -> None:
    """Nobody wants to know."""


def _starts(script: Script, planned: PlannedTrial, plan: Plan | None) -> list[tuple[int, int]]:
    """Session and turn with which each agent of a trial begins; pilots take those of the first round."""
    round_ = max(planned.work_round, 1)
    drawn = (plan.drawn_rounds or plan.rounds) if plan is not None else 1
    starts: list[tuple[int, int]] = []
    for own, agents in companies(script, planned.level):
        starts += start_turns(
            own.workload.depths,
            seed=own.seed,
            level=agents,
            rounds=drawn,
            upto=max(round_, drawn),
            depth=planned.depth,
            turns=planned.turns_per_agent,
        )[round_ - 1]
    return starts
