"""Frozen history: the baseline's own answers are recorded before anything is measured, for every variant to replay.

Sessions are played live, as many at once as the largest level has agents, without waits. Nothing about sampling is sent
but what the run sends with every request (`--body`): the answers are those of the run's own settings, and only with
greedy ones (`--body temperature=0`) will a variant mostly give them again, so that its cache holds what later prompts
have.
"""

import asyncio
import hashlib
import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

import msgspec

from loadgen.errors import RunFolderError, RunInterruptedError, WorkloadError
from loadgen.experiment.model import Experiment
from loadgen.experiment.request_fields import request_fields
from loadgen.records.manifest import PlannedTrial, WorkloadFacts
from loadgen.records.run import Run
from loadgen.records.run_folder import FROZEN, RunWriter
from loadgen.records.sizes import read_sizes
from loadgen.replay.bench import Sink, bench_of
from loadgen.replay.budget import RECORDING_SHARE
from loadgen.replay.observer import Observer
from loadgen.replay.pacing import Ceiling
from loadgen.replay.plan import unused
from loadgen.replay.rehearsal import Rehearsal
from loadgen.replay.repertoire import choose, recorded, unchanged
from loadgen.replay.script import Script
from loadgen.servers.target import Target
from loadgen.workload.formats.session import write
from loadgen.workload.frozen import frozen_sessions, frozen_workload
from loadgen.workload.recorded import RecordedSession
from loadgen.workload.session import Session, Workload
from loadgen.workload.session_file import read_sessions
from loadgen.workload.waits import Pace, paced


class FrozenHistory:
    """The workload of a run, recorded first where the experiment asks for that.

    Args:
        experiment: what is run.
        writer: the open run folder.
        observer: told what is recorded.
        interrupted: set it to stop.
        earlier: the facts of this very run so far, where it is resumed.
        repeats: the run whose plan is carried out again, with what it recorded.
    """

    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        observer: Observer,
        interrupted: asyncio.Event,
        *,
        earlier: Run | None,
        repeats: Run | None,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._interrupted = interrupted
        self._known = next((run for run in (earlier, repeats) if run is not None and _is_frozen(run)), None)
        self._facts = next((run.manifest.workload for run in (earlier, repeats) if run is not None), None)
        self._used = {one.trial for one in earlier.requests} if earlier is not None else set()
        self._base: Workload | None = None

    async def choose(self, target: Target) -> Workload:
        """The workload; where it is still to be recorded (`record`), as it is before that.

        What an earlier run recorded is read back, and copied where that was another one. Raises `RunFolderError` where
        the workload isn't that of the earlier run any more.
        """
        if self._experiment.history != "frozen":
            return await self._chosen(target, self._experiment)
        if self._known is not None:
            if self._known.folder != self._writer.path:
                self._writer.frozen(_file_of(self._known).read_bytes())
            return taken_up(self._known, self._experiment)
        # Waits are recorded as the workload states them, so that the file can be replayed at any pace.
        asked = {"history": "live", "tool_time_cap_s": None, "time_scale": 1.0}
        chosen = await self._chosen(target, self._experiment.model_copy(update=asked))
        self._base = replace(chosen, facts=msgspec.structs.replace(chosen.facts, history="frozen"))
        return self._base

    async def _chosen(self, target: Target, asked: Experiment) -> Workload:
        note = self._observer.note
        workload = await choose(target, asked, note, known=self._facts, keep=self._writer.sizes)
        if self._facts is not None:
            unchanged(self._facts, workload)
        return workload

    async def record(self, target: Target, sink: Sink) -> Workload | None:
        """Records the answers of the baseline, writes them into the run folder, and gives what is played from now on.

        Null where nothing is to be recorded. Sessions are recorded in the order of the pool for a quarter of the time
        budget at most; those that have not ended by then are cut at the turns that were recorded. `sink` gets the
        requests. Raises `WorkloadError` where fewer sessions were recorded than agents play at once.
        """
        if self._base is None:
            return None
        seconds = RECORDING_SHARE * self._experiment.time_budget_s
        level = max(self._experiment.levels)
        pool = self._base.sessions
        self._observer.note(
            f"history: recording the answers of {target.variant.name} to {len(pool)} sessions with {level} at once, "
            f"for {seconds:.0f} s at most"
        )
        began = time.monotonic()
        rehearsal = self._rehearsal(target, level, sink)
        await rehearsal.play(seconds)
        if self._interrupted.is_set():
            raise RunInterruptedError("interrupted while history was recorded")
        took_s = time.monotonic() - began
        source = _source(self._base, target)
        trees = [tree for one in pool if (tree := frozen_sessions(one, rehearsal.of(one), source))]
        if len(trees) < min(level, len(pool)):
            raise WorkloadError(_too_few(len(trees), min(level, len(pool)), took_s, rehearsal))
        self._observer.note(f"history: recorded {_counts(pool, trees)} in {took_s:.0f} s{_failed(rehearsal)}")
        return self._written([session for tree in trees for session in tree], self._base)

    def _rehearsal(self, target: Target, level: int, sink: Sink) -> Rehearsal:
        planned = PlannedTrial(
            trial=f"frozen-{target.variant.name}",
            round=0,
            variant=target.variant.name,
            level=level,
            order=0,
            turns_per_agent=0,
            short=True,
        )
        if self._base is None:
            raise RuntimeError("a rehearsal plays the workload that was chosen")
        script = Script(
            paced(self._base, Pace(scale=0)),
            self._experiment.seed,
            body=request_fields(self._experiment),
            ceiling=Ceiling(self._experiment.max_request_rate),
        )
        return Rehearsal(
            script,
            bench_of(target, self._experiment, sink),
            run_id=self._writer.path.name,
            planned=unused(planned, self._used),
            interrupted=self._interrupted,
            progress=lambda turns: self._observer.waiting(f"recording history: {turns} turns answered"),
        )

    def _written(self, sessions: list[RecordedSession], base: Workload) -> Workload:
        """What was recorded, as it is read back from the file."""
        file = io.BytesIO()
        write(sessions, file)
        self._writer.frozen(file.getvalue())
        workload = _read(self._writer.path / FROZEN, base.facts, self._experiment)
        self._writer.workload(workload.facts)
        return workload


def taken_up(run: Run, experiment: Experiment) -> Workload:
    """The workload of an earlier run: what it recorded, or else as its experiment says.

    Raises `RunFolderError` where it isn't the same any more.
    """
    facts = run.manifest.workload
    if facts.frozen is None:
        return recorded(facts, experiment, read_sizes(run.folder) if run.folder is not None else None)
    path = _file_of(run)
    if not path.is_file():
        raise RunFolderError(f"{path} is missing: the sessions that the run recorded for itself; start a new run")
    workload = _read(path, facts, experiment)
    if workload.facts.frozen != facts.frozen:
        raise RunFolderError(f"{path} is not what the run recorded (its digest differs); start a new run")
    unchanged(facts, workload)
    return workload


def _is_frozen(run: Run) -> bool:
    return run.manifest.workload.frozen is not None


def _file_of(run: Run) -> Path:
    if run.folder is None:
        raise RuntimeError("a run that is gone on with was read from its folder")
    return run.folder / FROZEN


def _read(path: Path, facts: WorkloadFacts, experiment: Experiment) -> Workload:
    """The workload in a file of recorded sessions, at the experiment's pace."""
    file = read_sessions(path)
    if file.problems:
        raise RunFolderError(f"{path} is damaged: {file.problems[0]}")
    return frozen_workload(
        file.sessions,
        facts,
        file_digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        pace=Pace(experiment.tool_time_cap_s, experiment.time_scale),
    )


def _source(base: Workload, target: Target) -> dict[str, str]:
    """Where recorded sessions come from: the workload, and the model by its name (never a path)."""
    model = target.facts.model if target.facts is not None else None
    named = {} if model is None else {"model": PurePath(model).name}
    return {"name": base.name, "digest": base.facts.digest, **named}


def _too_few(found: int, wanted: int, took_s: float, rehearsal: Rehearsal) -> str:
    failed = _failed(rehearsal)
    stopped = f"; it was stopped: {rehearsal.aborted}" if rehearsal.aborted is not None else ""
    return (
        f"Frozen history needs {wanted} recorded sessions of at least two turns, one for each agent at the largest "
        f"level, and got {found} in {took_s:.0f} s (at most a quarter of the time budget){failed}{stopped}. "
        "Give a larger --time-budget, fewer agents, a smaller --max-tokens, or sessions with shorter turns."
    )


def _failed(rehearsal: Rehearsal) -> str:
    count = rehearsal.failures
    return f"; {count} turn{'' if count == 1 else 's'} failed" if count else ""


def _counts(pool: Sequence[Session], trees: Sequence[Sequence[RecordedSession]]) -> str:
    """What was recorded of a pool; each tree begins with its root."""
    whole = {session.id: len(session.turns) for session in pool}
    cut = sum(len(tree[0].turns) < whole[tree[0].session_id] for tree in trees)
    turns = sum(len(session.turns) for tree in trees for session in tree)
    return f"{len(trees)} of {len(pool)} sessions ({cut} of them cut short), {turns} turns"
