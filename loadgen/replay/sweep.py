"""A whole run: servers, checks, pilot, plan, rounds of trials, and the journal of how it went."""

import asyncio
import time
from datetime import UTC, datetime
from itertools import groupby

from loadgen import __version__
from loadgen.errors import RunInterruptedError, TargetError, VariantError
from loadgen.experiment.build import published
from loadgen.experiment.model import Experiment
from loadgen.records.manifest import JournalEntry, Manifest, Plan, PlannedTrial
from loadgen.records.model import RequestRecord, TokenEvent, TrialRecord
from loadgen.records.run import Run
from loadgen.records.run_folder import SCHEMA, RunWriter
from loadgen.replay.agent import Script
from loadgen.replay.bench import bench_of
from loadgen.replay.budget import Budget
from loadgen.replay.ending import Ending
from loadgen.replay.inspection import Inspection, Judge
from loadgen.replay.lineup import Lineup
from loadgen.replay.observer import Observer
from loadgen.replay.pacing import Ceiling
from loadgen.replay.pilot import pilot_levels, pilot_trial, turn_seconds
from loadgen.replay.plan import extended, measured_rounds, plan_run, remaining, unused
from loadgen.replay.repertoire import choose, recorded, unchanged
from loadgen.replay.roll import Roll
from loadgen.replay.trial import Trial
from loadgen.replay.watched import server_pid, watched
from loadgen.servers.descriptors import make_room
from loadgen.servers.target import Target
from loadgen.telemetry.host import describe
from loadgen.telemetry.watch import MemoryWatch
from loadgen.units import ns_to_s
from loadgen.workload.draws import start_turns
from loadgen.workload.session import Workload


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
        judge: why an output check fails, or null; without one, checks are recorded and end nothing.
        earlier: the facts of this very run so far, where it is resumed.
        repeats: the run whose plan is carried out again.
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
        judge: Judge | None = None,
        earlier: Run | None = None,
        repeats: Run | None = None,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._interrupted = interrupted
        self._random_weights = random_weights
        self._salted = salted
        self._earlier = earlier
        self._repeats = repeats
        self._run = writer.path.name
        spent_s = sum(ns_to_s(one.end_ns - one.start_ns) for one in earlier.trials) if earlier is not None else 0.0
        self._budget = Budget(experiment.time_budget_s, fixed_rounds=experiment.rounds is not None, spent_s=spent_s)
        self._lineup = Lineup(experiment, writer, observer, interrupted)
        self._inspection = Inspection(
            experiment, writer, observer, judge=judge, earlier=earlier, random_weights=random_weights
        )
        self._script: Script | None = None
        names = [variant.name for variant in experiment.variants]
        self._roll = Roll(names, experiment.baseline, say=self._say, note=observer.note)
        self._open_s = 0.0
        self._watch = MemoryWatch(
            experiment.memory_source,
            run=self._run,
            sink=writer.sample,
            note=observer.note,
            withheld=experiment.api_key_env,
        )

    async def run(self) -> Ending:
        """Run everything. Raises `LoadgenError`s of setting up; whatever happens later is in the returned ending."""
        self._say("started" if self._earlier is None else "resumed", datetime.now(UTC).isoformat(timespec="seconds"))
        try:
            ending = await self._all()
        except RunInterruptedError:
            ending = Ending("interrupted", None)
        finally:
            self._watch.close()
            await self._lineup.close()
        self._say(ending.what, ending.detail)
        return ending

    async def _all(self) -> Ending:
        make_room(max(self._experiment.levels))
        self._lineup.check()
        if self._earlier is not None and self._earlier.plan is not None:
            self._take_up(recorded(self._earlier.manifest.workload, self._experiment))
            plan = self._resumed_plan(self._earlier.plan)
            used = {one.trial for one in self._earlier.trials} | {one.trial for one in self._earlier.requests}
            left = remaining(plan, self._earlier.trials, used)
            self._observer.planned(plan, len(left))
            return await self._rounds(plan, left)
        made = await self._set_up()
        if isinstance(made, Ending):
            return made
        self._writer.plan(made)
        self._observer.planned(made, len(made.trials))
        return await self._rounds(made, made.trials)

    def _resumed_plan(self, plan: Plan) -> Plan:
        """The plan of the run so far, with more rounds where the experiment asks for them."""
        if self._experiment.rounds is not None and self._experiment.rounds > plan.rounds:
            plan = extended(plan, self._experiment, self._experiment.rounds)
            self._writer.plan(plan)
        self._budget.expect(plan.estimated_s / plan.rounds)
        return plan

    async def _set_up(self) -> Plan | Ending:
        """Look at every variant, check its answers, and plan the trials with a pilot of the baseline."""
        pilots = await self._set_up_baseline()
        for variant in self._experiment.variants:
            if variant.name == self._experiment.baseline or self._roll.is_over:
                continue
            target = await self._open(variant.name, round_=0)
            try:
                await self._look(target)
            finally:
                await self._lineup.release(target.variant.name)
        if self._roll.is_over:
            return Ending("check_failed", "; ".join(f"{name}: {reason}" for name, reason in self._roll.out.items()))
        names = self._roll.left
        if self._repeats is not None and self._repeats.plan is not None:
            return measured_rounds(self._repeats.plan, self._repeats.trials, names)
        return plan_run(
            self._experiment,
            names,
            turn_seconds(pilots, self._experiment.levels),
            left_s=self._budget.left_s(),
            open_s=self._open_s,
        )

    async def _set_up_baseline(self) -> list[TrialRecord]:
        """The workload, the manifest, the baseline's output check and its pilots (none where a plan exists)."""
        begin = time.monotonic()
        target = await self._open(self._experiment.baseline, round_=0)
        try:
            self._open_s = time.monotonic() - begin
            await self._prepare(target)
            await self._look(target)
            if self._repeats is not None or self._roll.is_over:
                return []
            used = {one.trial for one in self._earlier.requests} if self._earlier is not None else set()
            return [
                await self._trial(target, unused(pilot_trial(level, self._experiment.baseline, order), used))
                for order, level in enumerate(pilot_levels(self._experiment.levels))
            ]
        finally:
            await self._lineup.release(target.variant.name)

    async def _prepare(self, target: Target) -> None:
        workload = await choose(target, self._experiment, self._observer.note)
        for known in (self._earlier, self._repeats):
            if known is not None:
                unchanged(known.manifest.workload, workload)
        slots = target.facts.slots if target.facts is not None else None
        if slots is not None and max(self._experiment.levels) > slots:
            self._observer.note(f"more agents than the {slots} slots of the server: the excess will queue")
        self._take_up(workload)
        if self._earlier is not None:
            return
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
                rerun_of=self._repeats.manifest.run if self._repeats is not None else None,
            )
        )

    def _take_up(self, workload: Workload) -> None:
        self._script = Script(
            workload,
            self._experiment.seed,
            body=self._experiment.body,
            ceiling=Ceiling(self._experiment.max_request_rate),
            salted=self._salted,
        )

    async def _look(self, target: Target) -> None:
        """Compare a variant with the baseline, and check its answers; one that fails is measured no further."""
        reason = await self._inspection.look(target, self._request_ended)
        if reason is not None:
            self._roll.failed_check(target.variant.name, reason)

    async def _open(self, name: str, *, round_: int) -> Target:
        variant = next(one for one in self._experiment.variants if one.name == name)
        await self._watch.before(watched(variant))
        target = await self._lineup.open(name, round_=round_)
        self._inspection.unchanged(target)
        return target

    async def _rounds(self, plan: Plan, trials: list[PlannedTrial]) -> Ending:
        begun = {one.round for one in self._earlier.trials} if self._earlier is not None else set()
        at, cut = 0, None
        for _, group in groupby(trials, key=lambda one: (one.block, one.round, one.variant)):
            block = list(group)
            round_ = block[0].round
            if round_ > at and cut is None:
                if round_ not in begun and not self._budget.holds_another_round(round_):
                    cut = f"the time budget ended after {round_ - 1} of {plan.rounds} rounds"
                else:
                    self._budget.round_started()
                    at = round_
            if block[0].variant in self._roll.out or (cut is not None and not block[0].drift):
                continue
            ending = await self._block(block, plan)
            if ending is not None:
                return ending
        return Ending("complete", cut)

    async def _block(self, trials: list[PlannedTrial], plan: Plan) -> Ending | None:
        """The trials of one server start. A variant whose server can't be had any more is given up.

        Raises `VariantError` where a server is no longer what its variant says: the run would compare something else.
        """
        name, round_ = trials[0].variant, trials[0].round
        try:
            target: Target | None = await self._open(name, round_=round_)
            for planned in trials:
                target = await self._lineup.idle(target, round_=round_) if target is not None else None
                if target is None:
                    break
                record = await self._trial(target, planned, plan)
                if self._interrupted.is_set():
                    return Ending("interrupted", f"during {record.trial}")
                if self._roll.is_silent(record):
                    return self._roll.give_up("gave_up", name, record.aborted or "no answer")
                if record.server_alive is False:
                    self._report_death(record, target)
                    target = await self._lineup.revive(target, round_=round_)
        except VariantError:
            raise
        except TargetError as error:
            return self._roll.give_up("server_died", name, str(error))
        finally:
            await self._lineup.release(name)
        if target is None:
            return self._roll.give_up("server_died", name, self._lineup.why_lost(name))
        return None

    def _report_death(self, record: TrialRecord, target: Target) -> None:
        tail = target.log_tail(8)
        said = f"; its log ends with:\n{tail}" if tail else ""
        detail = f"the server of {record.variant} died during {record.trial}{said}"
        self._say("server_lost", detail)
        self._observer.note(detail)

    async def _trial(self, target: Target, planned: PlannedTrial, plan: Plan | None = None) -> TrialRecord:
        if self._script is None:
            raise RuntimeError("trials run after the workload is chosen")
        self._observer.trial_started(planned)
        server, pid = watched(target.variant), server_pid(target)
        trial = Trial(
            run_id=self._run,
            planned=planned,
            script=self._script,
            starts=_starts(self._script, planned, plan),
            bench=bench_of(target, self._experiment, self._request_ended),
            interrupted=self._interrupted,
        )
        self._watch.begin(planned.trial, server, pid)
        try:
            record = await trial.run()
        finally:
            await self._watch.pause()
        self._writer.trial(record)
        self._observer.trial_ended(record)
        return record

    def _request_ended(self, record: RequestRecord, events: list[TokenEvent]) -> None:
        self._observer.request(self._writer.request(record, events))

    def _say(self, what: str, detail: str | None = None) -> None:
        self._writer.journal(JournalEntry(at_ns=time.monotonic_ns(), what=what, detail=detail))


def _starts(script: Script, planned: PlannedTrial, plan: Plan | None) -> list[tuple[int, int]]:
    """Session and turn with which each agent of a trial begins; pilots take those of the first round."""
    round_ = max(planned.work_round, 1)
    drawn = (plan.drawn_rounds or plan.rounds) if plan is not None else 1
    return start_turns(
        script.workload.depths, seed=script.seed, level=planned.level, rounds=drawn, upto=max(round_, drawn)
    )[round_ - 1]
