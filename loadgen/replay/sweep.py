"""A whole run: servers, pilot, plan, rounds of trials, and the journal of how it went."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import TypeVar

from loadgen import __version__
from loadgen.client.chat import ChatClient
from loadgen.errors import RunInterruptedError, WorkloadError
from loadgen.experiment.build import published
from loadgen.experiment.model import Experiment, LaunchVariant
from loadgen.records.manifest import JournalEntry, Manifest, Plan, PlannedTrial
from loadgen.records.model import RequestRecord, TokenEvent, TrialRecord
from loadgen.records.run_folder import SCHEMA, RunWriter
from loadgen.replay.agent import Script
from loadgen.replay.board import Bench
from loadgen.replay.budget import Budget
from loadgen.replay.observer import Observer
from loadgen.replay.pacing import Ceiling
from loadgen.replay.pilot import pilot_levels, pilot_trial, plan_run, turn_seconds
from loadgen.replay.trial import Trial
from loadgen.servers.target import Target, open_target
from loadgen.telemetry.host import describe
from loadgen.telemetry.sampler import MemorySampler
from loadgen.workload.draws import start_turns
from loadgen.workload.library import check_fits, largest_fitting, load
from loadgen.workload.session import Workload, sample_text

FALLBACK_WORKLOAD = "batch-agents-4k"
"""Played when the server doesn't say how much context a slot has: small enough for most."""
GIVE_UP_AFTER = 2
"""So many trials of one variant in a row without a single answer end the run: more would only repeat it."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Ending:
    """How a run ended: `complete`, `interrupted`, `server_died` or `gave_up`, with a sentence."""

    what: str
    detail: str | None


class Sweep:
    """Runs one experiment into one run folder.

    Args:
        experiment: what to run.
        writer: the open run folder; its folder's name is the run's id.
        observer: told what happens, as it happens.
        interrupted: set it to end the run early; what was measured is kept.
        random_weights: the model's text is noise (the demo).
        salted: give every trial its own prompts. False lets trials read each other's prompt cache: only to test that
            the report notices.
    """

    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        observer: Observer,
        interrupted: asyncio.Event,
        *,
        random_weights: bool = False,
        salted: bool = True,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._interrupted = interrupted
        self._random_weights = random_weights
        self._salted = salted
        self._run = writer.path.name
        self._budget = Budget(experiment.time_budget_s, fixed_rounds=experiment.rounds is not None)
        self._starts: dict[str, int] = {}
        self._running: dict[str, Target] = {}
        self._script: Script | None = None
        self._silent: dict[str, int] = {}

    async def run(self) -> Ending:
        """Run everything. Raises `LoadgenError`s of setting up; whatever happens later is in the returned ending."""
        self._say("started")
        try:
            ending = await self._all()
        except RunInterruptedError:
            ending = Ending("interrupted", None)
        finally:
            for target in self._running.values():
                await target.close()
        self._say(ending.what, ending.detail)
        return ending

    async def _all(self) -> Ending:
        await self._look_at_variants()
        plan = await self._pilot()
        self._writer.plan(plan)
        self._observer.planned(plan)
        return await self._rounds(plan)

    async def _look_at_variants(self) -> None:
        """Start every other launched variant once before anything is measured: one that can't run says so now."""
        for variant in self._experiment.variants:
            if variant.name != self._experiment.baseline and isinstance(variant, LaunchVariant):
                await self._release(await self._open(variant.name, round_=0))

    async def _pilot(self) -> Plan:
        """Find out how long a turn takes with the baseline, and fit rounds and trials to the time left."""
        target = await self._open(self._experiment.baseline, round_=0)
        try:
            await self._prepare(target)
            trials = [
                await self._trial(target, pilot_trial(level, self._experiment.baseline, order))
                for order, level in enumerate(pilot_levels(self._experiment.levels))
            ]
        finally:
            await self._release(target)
        return plan_run(
            self._experiment,
            turn_seconds(trials, self._experiment.levels),
            left_s=self._budget.left_s(),
            block_s=target.server.ready_s if target.server is not None else 0.0,
        )

    async def _prepare(self, target: Target) -> None:
        workload = await self._choose_workload(target)
        slots = target.facts.slots if target.facts is not None else None
        if slots is not None and max(self._experiment.levels) > slots:
            self._observer.note(f"more agents than the {slots} slots of the server: the excess will queue")
        self._script = Script(
            workload,
            self._experiment.seed,
            body=self._experiment.body,
            ceiling=Ceiling(self._experiment.max_request_rate),
            salted=self._salted,
        )
        self._writer.manifest(
            Manifest(
                schema=SCHEMA,
                run=self._run,
                tool_version=__version__,
                started_at=datetime.now(UTC).isoformat(timespec="seconds"),
                started_ns=time.monotonic_ns(),
                experiment=published(self._experiment),
                workload=workload.facts,
                host=describe(),
                random_weights=self._random_weights,
            )
        )

    async def _choose_workload(self, target: Target) -> Workload:
        facts = target.facts
        if facts is None:
            raise RuntimeError("a target is open only after its facts were read")
        context = facts.context_per_slot
        name = self._experiment.workload
        if name is None:
            name = FALLBACK_WORKLOAD if context is None else largest_fitting(context)
            self._observer.note(f"workload: {name}, " + _why(context))
        workload = self._load(name, None)
        tokens = await target.control.tokenize(sample := sample_text(workload))
        if tokens:
            workload = self._load(name, len(sample) / tokens)
        if workload.exact_length and facts.kind != "llama-server":
            raise WorkloadError(
                f"workload {name} needs answers of an exact length (ignore_eos), which only llama-server can give; "
                "choose another with --workload"
            )
        if context is not None:
            check_fits(workload, context)
        return workload

    def _load(self, name: str, chars_per_token: float | None) -> Workload:
        return load(
            name,
            seed=self._experiment.seed,
            chars_per_token=chars_per_token,
            max_tokens=self._experiment.max_tokens,
        )

    async def _rounds(self, plan: Plan) -> Ending:
        done = 0
        for (round_, variant), block in groupby(plan.trials, key=lambda one: (one.round, one.variant)):
            if round_ > done:
                if not self._budget.holds_another_round(round_):
                    return Ending("complete", f"the time budget ended after {done} of {plan.rounds} rounds")
                self._budget.round_started()
                done = round_
            ending = await self._block(variant, round_, list(block), plan.rounds)
            if ending is not None:
                return ending
        return Ending("complete", None)

    async def _block(self, variant: str, round_: int, trials: list[PlannedTrial], rounds: int) -> Ending | None:
        target = await self._open(variant, round_=round_)
        try:
            for planned in trials:
                ending = self._ends_run(await self._trial(target, planned, rounds), target)
                if ending is not None:
                    return ending
        finally:
            await self._release(target)
        return None

    def _ends_run(self, record: TrialRecord, target: Target) -> Ending | None:
        if self._interrupted.is_set():
            return Ending("interrupted", f"during {record.trial}")
        if record.server_alive is False:
            tail = target.log_tail(8)
            said = f"; its log ends with:\n{tail}" if tail else ""
            return Ending("server_died", f"the server of {record.variant} died during {record.trial}{said}")
        answered = record.aborted is None or bool(record.segments)
        self._silent[record.variant] = 0 if answered else self._silent.get(record.variant, 0) + 1
        if self._silent[record.variant] >= GIVE_UP_AFTER:
            return Ending("gave_up", f"{record.variant}: {record.aborted}")
        return None

    async def _trial(self, target: Target, planned: PlannedTrial, rounds: int = 1) -> TrialRecord:
        if self._script is None:
            raise RuntimeError("trials run after the workload is chosen")
        self._observer.trial_started(planned)
        variant = target.variant
        sampler = (
            MemorySampler(target.pid, run=self._run, variant=variant.name, sink=self._writer.sample)
            if target.pid is not None
            else None
        )
        trial = Trial(
            run_id=self._run,
            planned=planned,
            script=self._script,
            starts=start_turns(
                self._script.workload.depths, seed=self._experiment.seed, level=planned.level, rounds=rounds
            )[max(planned.round, 1) - 1],
            bench=Bench(
                chat=ChatClient(target.transport, self._experiment.deadlines, self._request_ended),
                control=target.control,
                model=target.model,
                alive=target.alive,
                stamps=target.transport.stamps,
                take_lags_ns=target.transport.take_lags_ns,
            ),
            interrupted=self._interrupted,
        )
        if sampler is not None:
            sampler.start(planned.trial)
        try:
            record = await trial.run()
        finally:
            if sampler is not None:
                await sampler.stop()
        self._writer.trial(record)
        self._observer.trial_ended(record)
        return record

    def _request_ended(self, record: RequestRecord, events: list[TokenEvent]) -> None:
        self._observer.request(self._writer.request(record, events))

    async def _open(self, name: str, *, round_: int) -> Target:
        """The server of a variant, ready. One that ran already is opened once and kept."""
        if name in self._running:
            return self._running[name]
        variant = next(variant for variant in self._experiment.variants if variant.name == name)
        number = self._starts.get(name, 0)
        self._starts[name] = number + 1
        target = await self._unless_interrupted(
            open_target(
                variant,
                self._experiment,
                log_path=self._writer.log_path(f"{name}-{number}"),
                on_wait=self._observer.waiting,
                probe=number == 0,
            )
        )
        if not isinstance(variant, LaunchVariant):
            self._running[name] = target
        start = target.describe(run=self._run, round_=round_)
        self._writer.start(start)
        self._observer.server(start)
        return target

    async def _release(self, target: Target) -> None:
        if target.variant.name not in self._running:
            await target.close()

    async def _unless_interrupted(self, awaitable: Awaitable[_T]) -> _T:
        """Await, but stop at Ctrl-C."""
        task = asyncio.ensure_future(awaitable)
        stop = asyncio.create_task(self._interrupted.wait())
        try:
            await asyncio.wait([task, stop], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise RunInterruptedError("interrupted while a server was starting")
            return task.result()
        finally:
            stop.cancel()

    def _say(self, what: str, detail: str | None = None) -> None:
        self._writer.journal(JournalEntry(at_ns=time.monotonic_ns(), what=what, detail=detail))


def _why(context: int | None) -> str:
    if context is None:
        return "because the server doesn't say how much context a slot has"
    return f"the largest built-in one for agents that fits {context} tokens of context a slot"
