"""One trial with its requests: what was measured in its segments."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TypeVar

import msgspec

from loadgen.analysis.measured.accounted import accounted_share
from loadgen.analysis.measured.cached import CacheUse, cache_use
from loadgen.analysis.measured.request import RequestMetrics, cached_of, depth_of, measure
from loadgen.analysis.measured.step_gaps import sorted_s, step_gaps_us
from loadgen.cell_key import CellKey
from loadgen.records.model import Outcome, Phase, RequestRecord, Segment, TokenEvent, TrialRecord
from loadgen.records.run import Run
from loadgen.units import ns_to_s, per_hour

_Found = TypeVar("_Found")


@dataclass(frozen=True, eq=False)
class Trial:
    """A trial's record with all its requests (every phase), in the order in which they started.

    `headers_tell_slot`: response headers of this server come when a slot takes the request.
    """

    record: TrialRecord
    requests: Sequence[RequestRecord]
    events: Callable[[RequestRecord], Iterable[TokenEvent]]
    headers_tell_slot: bool = False

    @cached_property
    def classes(self) -> "dict[str, Trial]":
        """The trial as each class of a mix had it, by its name: its agents alone. Empty without a mix.

        The server's counters are of all classes together, so that none of them has any.
        """
        segments: dict[str, list[Segment]] = {}
        for segment in self.record.segments:
            if segment.work_class is not None:
                segments.setdefault(segment.work_class, []).append(segment)
        return {name: self._of_class(name, own) for name, own in segments.items()}

    @cached_property
    def measured(self) -> list[RequestRecord]:
        """The requests of the segments, whatever their outcome."""
        return [request for request in self.requests if request.phase is Phase.SEGMENT]

    @cached_property
    def failed(self) -> int:
        """How many of them failed."""
        return sum([request.outcome.failed for request in self.measured])

    @cached_property
    def answers(self) -> list[RequestMetrics]:
        """The quantities of the ok requests of the segments: the only source of latencies."""
        return [
            measure(request, headers_tell_slot=self.headers_tell_slot)
            for request in self.measured
            if request.outcome is Outcome.OK
        ]

    @cached_property
    def depths(self) -> tuple[int, int]:
        """The sum of the answers' prompt tokens, and how many answers tell theirs."""
        known = [depth for metrics in self.answers if (depth := metrics.depth) is not None]
        return sum(known), len(known)

    @property
    def ok(self) -> list[tuple[RequestRecord, RequestMetrics]]:
        """The ok requests of the segments with their quantities."""
        return [(metrics.request, metrics) for metrics in self.answers]

    @cached_property
    def segment_s(self) -> float:
        """Σ segment time over the agents, in seconds."""
        return ns_to_s(sum(segment.end_ns - segment.start_ns for segment in self.record.segments))

    @cached_property
    def credits(self) -> float:
        """Tasks earned in the segments: 1/turns an ok turn; a failure books back all that its session had earned.

        A failed turn with index t ends a session that had earned t/turns, before its segment or in it. Turns of
        sub-agents earn nothing of their own: the task is the root session. Can be negative.
        """
        return sum((earned(request) for request in self.measured if request.session == request.root), 0.0)

    @cached_property
    def output_tokens(self) -> int:
        """Σ output tokens of the ok requests."""
        return sum(metrics.output_tokens or 0 for metrics in self.answers)

    @cached_property
    def tasks_per_hour(self) -> float | None:
        """N · Σ credits ÷ Σ segment time; of a mix the sum of that over its classes. Null without segment time.

        The formula takes agents for alike, and those of different classes aren't: one whose turns take ten times as
        long would weigh ten times as much. Each class alone has a fair rate, and what a server completes is their sum.
        """
        if self.classes:
            return _summed([part.tasks_per_hour for part in self.classes.values()])
        return self._rate(self.credits)

    @cached_property
    def requests_per_hour(self) -> float | None:
        """N · Σ ok turns ÷ Σ segment time; of a mix the sum over its classes. Null without segment time."""
        if self.classes:
            return _summed([part.requests_per_hour for part in self.classes.values()])
        return self._rate(len(self.answers))

    @cached_property
    def output_tokens_per_s(self) -> float | None:
        """N · Σ output tokens ÷ Σ segment time; of a mix the sum over its classes. Null without segment time."""
        if self.classes:
            return _summed([part.output_tokens_per_s for part in self.classes.values()])
        return self.record.level * self.output_tokens / self.segment_s if self.segment_s > 0 else None

    @cached_property
    def tokens_per_turn(self) -> float | None:
        """Mean output tokens of an ok turn."""
        return self.output_tokens / len(self.answers) if self.answers else None

    @cached_property
    def step_gaps_us(self) -> "array[int]":
        """All step gaps of the ok requests, in microseconds: they are by far the most of a trial, so kept small."""
        return step_gaps_us(self.answers, self.events)

    @property
    def step_gaps_s(self) -> "array[float]":
        """All step gaps of the ok requests, in seconds, ascending."""
        return sorted_s(self.step_gaps_us)

    @property
    def median_gap_s(self) -> float | None:
        """The step gap of rank ⌈n/2⌉; null without any."""
        return self._median_and_longest[0]

    @property
    def longest_gap_s(self) -> float | None:
        """The longest step gap; null without any."""
        return self._median_and_longest[1]

    @cached_property
    def _median_and_longest(self) -> tuple[float, float] | tuple[None, None]:
        gaps = self.step_gaps_s
        return (gaps[(len(gaps) + 1) // 2 - 1], gaps[-1]) if gaps else (None, None)

    @cached_property
    def median_ttft_s(self) -> float | None:
        """Median TTFT of the ok requests, in seconds."""
        values = [ns for metrics in self.answers if (ns := metrics.ttft_ns) is not None]
        return ns_to_s(median(values)) if values else None

    @cached_property
    def median_tpot_s(self) -> float | None:
        """Median TPOT of the ok requests, in seconds."""
        values = [metrics.tpot_s for metrics in self.answers if metrics.tpot_s is not None]
        return median(values) if values else None

    @cached_property
    def task_s(self) -> list[float]:
        """Seconds of every whole session: all its turns ok and in the segments, waits included."""
        ok_turns: dict[tuple[int, str, int], list[RequestRecord]] = {}
        plays: dict[int, int] = {}
        for request in self.measured:
            if request.session != request.root:
                continue
            # An agent may play one session twice: its first turn begins another play.
            plays[request.agent] = plays.get(request.agent, 0) + (request.turn == 0)
            if request.outcome is Outcome.OK:
                ok_turns.setdefault((request.agent, request.session, plays[request.agent]), []).append(request)
        return [
            ns_to_s(max(turn.end_ns for turn in turns) - min(turn.ready_ns for turn in turns))
            for turns in ok_turns.values()
            if len(turns) == turns[0].turns
        ]

    @cached_property
    def first_turns(self) -> tuple[int, int]:
        """(cached, prompt) tokens over the turns with index 0 of every phase, where the server tells both.

        A warm-up repeats a turn: repeats read their own cache by design and are left out. So are sub-agents, which
        may share the beginning of their parent's prompt.
        """
        seen: set[tuple[int, str]] = set()
        cached = prompt = 0
        for request in self.requests:
            if request.turn != 0 or request.session != request.root:
                continue
            repeat = request.phase is Phase.WARMUP and (request.agent, request.session) in seen
            seen.add((request.agent, request.session))
            known, depth = cached_of(request), depth_of(request)
            if not repeat and known is not None and depth is not None:
                cached += known
                prompt += depth
        return cached, prompt

    @cached_property
    def cache_use(self) -> dict[int, CacheUse]:
        """What ok turns that follow another should have found in the cache, and found, by place in the session."""
        return cache_use(self.requests)

    @cached_property
    def redone(self) -> tuple[int, int]:
        """(evaluated again, had in cache) prompt tokens over ok turns that follow a turn of the same session."""
        uses = self.cache_use.values()
        return sum(one.missing for one in uses), sum(one.expected for one in uses)

    @cached_property
    def equal_answers(self) -> tuple[int, int]:
        """(equal, compared) ok answers of the segments: those that say what the recorded ones say."""
        return _true_and_known(metrics.request.answer_equal for metrics in self.answers)

    @cached_property
    def kept_answers(self) -> tuple[int, int]:
        """(kept, known) ok answers of the segments: those that later prompts have exactly."""
        return _true_and_known(metrics.request.answer_kept for metrics in self.answers)

    @cached_property
    def accounted_share(self) -> float | None:
        """See `accounted_share`."""
        return accounted_share(self.record.segments, self.requests)

    def once(self, work: Callable[["Trial"], _Found]) -> _Found:
        """What a function says of this trial, worked out the first time that somebody asks."""
        kept = self.__dict__.setdefault("_kept", {})
        if work not in kept:
            kept[work] = work(self)
        found: _Found = kept[work]
        return found

    def _of_class(self, name: str, segments: list[Segment]) -> "Trial":
        record = msgspec.structs.replace(
            self.record,
            level=len(segments),
            turns_per_agent=segments[0].turns,
            # Within a class there are none.
            segments=[msgspec.structs.replace(segment, work_class=None) for segment in segments],
            counters_before=None,
            counters_after=None,
        )
        requests = [request for request in self.requests if request.work_class == name]
        return Trial(record, requests, self.events, self.headers_tell_slot)

    def _rate(self, count: float) -> float | None:
        return per_hour(self.record.level * count, self.segment_s) if self.segment_s > 0 else None


def _true_and_known(values: Iterable[bool | None]) -> tuple[int, int]:
    """How many of some facts hold, and of how many it is known."""
    known = [value for value in values if value is not None]
    return sum(known), len(known)


def earned(request: RequestRecord) -> float:
    """What one turn of a root session earns: 1/turns where it ended well, and all that was earned back on a failure."""
    if request.outcome is Outcome.OK:
        return 1 / request.turns
    return -request.turn / request.turns if request.outcome.failed else 0.0


def _summed(rates: Sequence[float | None]) -> float | None:
    """Their sum; null where one isn't known."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def trials_of(run: Run) -> list[Trial]:
    """The trials that count, with their requests, in the order of the run.

    Pilots and the repetition for drift (round 0) are left out, and of a trial that was done again all attempts but the
    last.
    """
    return _with_requests(run, [record for record in _last_attempts(run) if record.round > 0])


def repeated_trial(run: Run) -> Trial | None:
    """The repetition of the first trial at the end of the run, with its requests; null where there is none."""
    records = [record for record in _last_attempts(run) if record.drift]
    return _with_requests(run, records)[-1] if records else None


def superseded_trials(run: Run) -> int:
    """How many trials count nowhere because a resumed run did them again."""
    return sum(record.drift or record.round > 0 for record in run.trials) - len(_last_attempts(run))


def _last_attempts(run: Run) -> list[TrialRecord]:
    """The last attempt at every trial but the pilots, in the order of the run."""
    last: dict[tuple[int, CellKey, bool], TrialRecord] = {}
    for record in sorted(run.trials, key=lambda record: (record.attempt, record.order, record.trial)):
        if record.drift or record.round > 0:
            last[record.round, record.cell, record.drift] = record
    return sorted(last.values(), key=lambda record: (record.order, record.trial))


def _with_requests(run: Run, records: Sequence[TrialRecord]) -> list[Trial]:
    by_trial: dict[str, list[RequestRecord]] = {record.trial: [] for record in records}
    for request in run.requests:
        if request.trial in by_trial:
            by_trial[request.trial].append(request)
    llama = {start.variant for start in run.starts if start.facts.kind == "llama-server"}
    return [
        Trial(
            record=record,
            requests=sorted(by_trial[record.trial], key=lambda request: (request.start_ns, request.agent)),
            events=run.events,
            headers_tell_slot=record.variant in llama,
        )
        for record in records
    ]
