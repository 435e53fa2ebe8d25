"""A whole run: servers, checks, pilot, plan, rounds of trials, and the journal of how it went."""

import asyncio
import time
from datetime import UTC, datetime
from itertools import groupby

import msgspec

from loadgen.errors import RunInterruptedError, TargetError, VariantError
from loadgen.experiment.model import Experiment
from loadgen.experiment.stop_policy import StopPolicy
from loadgen.records.looks import closed_cells, measured_cells
from loadgen.records.manifest import JournalEntry, Look, Plan, PlannedTrial
from loadgen.records.model import TrialRecord
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter
from loadgen.replay.budget import Budget
from loadgen.replay.class_turns import with_class_turns
from loadgen.replay.ending import Ending
from loadgen.replay.frozen import FrozenHistory, taken_up
from loadgen.replay.inspection import Inspection, Judge
from loadgen.replay.lineup import Lineup
from loadgen.replay.looks import Looks, preset
from loadgen.replay.meter import Meter, sampled
from loadgen.replay.observer import Observer
from loadgen.replay.opening import opening
from loadgen.replay.pilot import pilot_trials, turn_seconds
from loadgen.replay.plan import extended, measured_rounds, plan_run, remaining, unused
from loadgen.replay.roll import Roll
from loadgen.replay.trials import Trials
from loadgen.replay.watched import watched
from loadgen.servers.descriptors import make_room
from loadgen.servers.target import Target
from loadgen.telemetry.watch import MemoryWatch
from loadgen.units import ns_to_s
from loadgen.workload.depth_band import check_depths
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
        policy: decides after preset rounds what is still measured; null: everything is, to the end.
        meter: wants more of the run than the observer.
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
        policy: StopPolicy | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._interrupted = interrupted
        self._random_weights = random_weights
        self._earlier = earlier
        self._repeats = repeats
        self._policy = policy
        self._meter = meter
        self._run = writer.path.name
        spent_s = sum(ns_to_s(one.end_ns - one.start_ns) for one in earlier.trials) if earlier is not None else 0.0
        self._budget = Budget(experiment.time_budget_s, fixed_rounds=experiment.rounds is not None, spent_s=spent_s)
        self._lineup = Lineup(experiment, writer, observer, interrupted)
        self._inspection = Inspection(
            experiment, writer, observer, judge=judge, earlier=earlier, random_weights=random_weights
        )
        self._frozen = FrozenHistory(experiment, writer, observer, interrupted, earlier=earlier, repeats=repeats)
        self._slots: int | None = None
        self._windows: dict[int, int] = {}
        names = [variant.name for variant in experiment.variants]
        self._roll = Roll(names, experiment.baseline, say=self._say, note=observer.note)
        self._open_s = 0.0
        self._watch = MemoryWatch(
            experiment.memory_source,
            run=self._run,
            sink=sampled(writer.sample, meter),
            note=observer.note,
            withheld=experiment.api_key_env,
        )
        self._trials = Trials(experiment, writer, observer, interrupted, self._watch, salted=salted, meter=meter)

    async def run(self) -> Ending:
        """Run everything. Raises `LoadgenError`s of setting up; whatever happens later is in the returned ending."""
        self._say("started" if self._earlier is None else "resumed", datetime.now(UTC).isoformat(timespec="seconds"))
        if self._meter is not None and self._earlier is not None:
            self._meter.begun(self._earlier.manifest, self._earlier.starts)
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
            self._trials.take_up(taken_up(self._earlier, self._experiment))
            plan = self._resumed_plan(self._earlier.plan)
            used = {one.trial for one in self._earlier.trials} | {one.trial for one in self._earlier.requests}
            closed = closed_cells(self._earlier.journal)
            cells = measured_cells(plan.trials, self._experiment.baseline, closed)
            left = remaining(plan, self._earlier.trials, used, cells)
            self._observer.planned(plan, len(left))
            return await self._rounds(plan, left)
        made = await self._set_up()
        if isinstance(made, Ending):
            return made
        self._writer.plan(made)
        self._observer.planned(made, len(made.trials))
        return await self._rounds(made, made.trials)

    def _resumed_plan(self, plan: Plan) -> Plan:
        """The plan of the run so far, with more rounds where the experiment asks for them: then without looks."""
        if self._experiment.rounds is not None and self._experiment.rounds > plan.rounds:
            plan, self._policy = extended(plan, self._experiment, self._experiment.rounds), None
            self._writer.plan(plan)
        self._budget.expect(plan.estimated_s / len(plan.trials))
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
        plan = plan_run(
            self._experiment,
            names,
            turn_seconds(pilots, self._experiment.levels, self._experiment.depths),
            left_s=self._budget.left_s(),
            open_s=self._open_s,
            slots=self._slots,
            windows=self._windows,
        )
        plan = with_class_turns(plan, pilots, self._experiment.mix)
        return msgspec.structs.replace(plan, looks=preset(self._policy, plan.rounds))

    async def _set_up_baseline(self) -> list[TrialRecord]:
        """The workload, the manifest, the baseline's output check and its pilots (none where a plan exists)."""
        begin = time.monotonic()
        target = await self._open(self._experiment.baseline, round_=0)
        try:
            self._open_s = time.monotonic() - begin
            await self._prepare(target)
            await self._look(target)
            if not self._roll.is_over and (heard := await self._frozen.record(target, self._trials.request_ended)):
                self._take_up(heard)
            if self._repeats is not None or self._roll.is_over:
                return []
            used = {one.trial for one in self._earlier.requests} if self._earlier is not None else set()
            return [
                await self._trials.play(target, unused(pilot, used))
                for pilot in pilot_trials(self._experiment.levels, self._experiment.depths, self._experiment.baseline)
            ]
        finally:
            await self._lineup.release(target.variant.name)

    async def _prepare(self, target: Target) -> None:
        workload = await self._frozen.choose(target)
        slots = target.facts.slots if target.facts is not None else None
        if slots is not None and max(self._experiment.levels) > slots:
            self._observer.note(f"more agents than the {slots} slots of the server: the excess will queue")
        self._take_up(workload)
        if self._earlier is not None:
            return
        manifest = opening(
            self._experiment,
            workload.facts,
            run=self._run,
            random_weights=self._random_weights,
            repeats=self._repeats,
        )
        self._writer.manifest(manifest)
        if self._meter is not None:
            self._meter.begun(manifest, ())

    def _take_up(self, workload: Workload) -> None:
        self._windows = check_depths(workload.name, workload.depths, self._experiment.depths)
        self._trials.take_up(workload)

    async def _look(self, target: Target) -> None:
        """Compare a variant with the baseline, and check its answers; one that fails is measured no further."""
        slots = target.facts.slots if target.facts is not None else None
        self._slots = min((known for known in (self._slots, slots) if known is not None), default=None)
        reason = await self._inspection.look(target, self._trials.request_ended)
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
        looks = Looks(
            self._policy,
            plan,
            self._experiment.baseline,
            self._earlier.journal if self._earlier is not None else (),
            say=self._say,
            note=self._observer.note,
        )
        at, cut = 0, None
        for _, group in groupby(trials, key=lambda one: (one.block, one.round, one.variant)):
            block = list(group)
            round_ = block[0].round
            if round_ > at and cut is None:
                await looks.before(round_)
                if self._interrupted.is_set():
                    return Ending("interrupted", None)
                cut = self._why_end(round_, plan, looks, begun)
                if cut is None:
                    self._budget.round_started(len(looks.cells(self._roll.out)))
                    at = round_
            cells = looks.cells(self._roll.out) if cut is None else set()
            block = [one for one in block if one.drift or one.cell in cells]
            if not block or block[0].variant in self._roll.out:
                continue
            ending = await self._block(block, plan)
            if ending is not None:
                return ending
        return Ending("complete", cut)

    def _why_end(self, round_: int, plan: Plan, looks: Looks, begun: set[int]) -> str | None:
        """Why a round isn't begun any more; null where it is."""
        done = f"after {round_ - 1} of {plan.rounds} rounds"
        cells = looks.cells(self._roll.out)
        if not cells:
            return f"everything asked is known {done}" if not looks.cells() else f"all is known or given up {done}"
        if round_ not in begun and not self._budget.holds_another_round(round_, len(cells)):
            return f"the time budget ended {done}"
        return None

    async def _block(self, trials: list[PlannedTrial], plan: Plan) -> Ending | None:
        """The trials of one server start. A variant whose server can't be had any more is given up.

        Raises `VariantError` where a server is no longer what its variant says: the run would compare something else.
        """
        name, round_ = trials[0].variant, trials[0].round
        try:
            target: Target | None = await self._open(name, round_=round_)
            for planned in trials:
                if target is not None:
                    target = await self._lineup.idle(target, trial=planned.trial, round_=round_)
                if target is None:
                    break
                record = await self._trials.play(target, planned, plan)
                if self._interrupted.is_set():
                    return Ending("interrupted", f"during {record.trial}")
                if self._roll.is_silent(record):
                    return self._roll.give_up("gave_up", name, record.aborted or "no answer")
                if record.server_alive is False:
                    target = await self._lineup.revive(target, when=f"during {record.trial}", round_=round_)
        except VariantError:
            raise
        except TargetError as error:
            return self._roll.give_up("server_died", name, str(error))
        finally:
            await self._lineup.release(name)
        if target is None:
            return self._roll.give_up("server_died", name, self._lineup.why_lost(name))
        return None

    def _say(self, what: str, detail: str | None = None, look: Look | None = None) -> None:
        self._writer.journal(JournalEntry(at_ns=time.monotonic_ns(), what=what, detail=detail, look=look))
