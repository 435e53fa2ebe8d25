"""A run that is read back, told once more in its order: what happened when, by the time of day."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from loadgen.analysis.wall_clock import WallClock, epoch_s
from loadgen.metrics.recorder import Recorder
from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import Phase, RequestRecord, TrialRecord
from loadgen.records.run import Run
from loadgen.units import ns_to_s

_TRIAL_BEGINS, _REQUEST_BEGINS, _SAMPLE, _REQUEST_ENDS, _PHASE, _TRIAL_ENDS = range(6)
"""What goes first of what happened at the same time."""
Happening = tuple[float, int, Callable[[], None]]


@dataclass
class _Load:
    """What the trial does, as its records tell."""

    agents: int = 0
    in_flight: int = 0
    phase: str = Phase.WARMUP


class Timeline:
    """The happenings of a run, told to a recorder: the same facts in the same order as while it went on.

    What nobody wrote down is not told: busy slots and deferred requests are known only while a run goes on.
    """

    def __init__(self, run: Run, recorder: Recorder) -> None:
        self._run = run
        self._recorder = recorder
        self._clock = WallClock(run.manifest, run.journal)
        self._load = _Load()
        self.start_s = epoch_s(run.manifest.started_at)
        found = [*self._trials(), *self._requests(), *self._samples()]
        found.sort(key=itemgetter(0, 1))
        self._happenings = deque(found)
        ends = self._clock.tell([one.at_ns for one in run.journal if one.at_ns > 0])
        self.end_s = max([self.start_s, *(one[0] for one in found), *ends[-1:]])
        recorder.begun(run.manifest, run.starts)
        if run.plan is not None:
            recorder.planned(run.plan, len(run.plan.trials))

    def tell(self, until_s: float) -> None:
        """Tell the recorder everything up to a time that has not been told yet."""
        while self._happenings and self._happenings[0][0] <= until_s:
            self._happenings.popleft()[2]()

    def _trials(self) -> Iterator[Happening]:
        records = self._run.trials
        planned = {one.trial: one for one in self._run.plan.trials} if self._run.plan is not None else {}
        for record, end_s in zip(records, self._clock.tell([one.end_ns for one in records]), strict=True):
            yield from self._trial(record, planned.get(record.trial) or _planned(record), end_s)

    def _trial(self, record: TrialRecord, planned: PlannedTrial, end_s: float) -> Iterator[Happening]:
        def at(ns: int) -> float:
            return end_s - ns_to_s(record.end_ns - ns)

        def begins() -> None:
            self._load.agents, self._load.phase = record.level, Phase.WARMUP
            self._recorder.trial_started(planned)
            self._recorder.load(self._load)

        yield at(record.start_ns), _TRIAL_BEGINS, begins
        if record.measured_ns is not None:
            yield at(record.measured_ns), _PHASE, lambda: self._enter(Phase.SEGMENT)
        if record.complete and record.segments:
            yield at(max(one.end_ns for one in record.segments)), _PHASE, lambda: self._enter(Phase.DRAIN)
        yield end_s, _TRIAL_ENDS, lambda: self._recorder.trial_ended(record)

    def _requests(self) -> Iterator[Happening]:
        records = self._run.requests
        for record, end_s in zip(records, self._clock.tell([one.end_ns for one in records]), strict=True):
            yield end_s - ns_to_s(record.end_ns - record.start_ns), _REQUEST_BEGINS, lambda: self._flies(1)
            yield end_s, _REQUEST_ENDS, lambda record=record: self._ends(record)  # type: ignore[misc] # binds it now

    def _samples(self) -> Iterator[Happening]:
        samples = self._run.samples
        for sample, at_s in zip(samples, self._clock.tell([one.at_ns for one in samples]), strict=True):
            yield at_s, _SAMPLE, lambda sample=sample: self._recorder.sample(sample)  # type: ignore[misc] # binds it now

    def _enter(self, phase: Phase) -> None:
        self._load.phase = phase

    def _flies(self, change: int) -> None:
        self._load.in_flight += change

    def _ends(self, record: RequestRecord) -> None:
        self._flies(-1)
        self._recorder.answered(record, self._run.events(record))


def _planned(record: TrialRecord) -> PlannedTrial:
    """A pilot, which no plan holds."""
    return PlannedTrial(
        trial=record.trial,
        round=record.round,
        variant=record.variant,
        level=record.level,
        order=record.order,
        turns_per_agent=record.turns_per_agent,
        short=record.short,
        attempt=record.attempt,
        depth=record.depth,
        drift=record.drift,
    )
