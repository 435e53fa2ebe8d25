"""One trial with its requests: what was measured in its segments."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TypeVar

from loadgen.analysis.measured.request import RequestMetrics, cached_of, depth_of, measure
from loadgen.analysis.measured.step_gaps import sorted_s, step_gaps_us
from loadgen.records.model import Outcome, Phase, RequestRecord, TokenEvent, TrialRecord
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
        """N · Σ credits ÷ Σ segment time. Null without segment time."""
        return self._rate(self.credits)

    @cached_property
    def output_tokens_per_s(self) -> float | None:
        """N · Σ output tokens ÷ Σ segment time. Null without segment time."""
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
    def redone(self) -> tuple[int, int]:
        """(evaluated again, had in cache) prompt tokens over ok turns that follow a turn of the same session."""
        had: dict[tuple[int, str], tuple[int, int]] = {}
        again = known = 0
        for request in self.requests:
            depth, cached = depth_of(request), cached_of(request)
            if depth is None or cached is None or request.outcome is not Outcome.OK:
                continue
            turn, before = had.get((request.agent, request.session), (-1, 0))
            if request.phase is Phase.SEGMENT and request.turn == turn + 1 and turn >= 0:
                reusable = min(before, depth)
                again += max(reusable - cached, 0)
                known += reusable
            had[request.agent, request.session] = (request.turn, depth)
        return again, known

    @cached_property
    def accounted_share(self) -> float | None:
        """Share of Σ segment time covered by requests of any outcome and declared waits, united over an agent's tree.

        Null without segment time.
        """
        total = sum(segment.end_ns - segment.start_ns for segment in self.record.segments)
        if total <= 0:
            return None
        spans: dict[int, list[tuple[int, int]]] = {segment.agent: [] for segment in self.record.segments}
        for request in self.requests:
            if request.agent in spans:
                spans[request.agent] += [(request.ready_ns, request.scheduled_ns), (request.start_ns, request.end_ns)]
        covered = sum(
            _covered_ns(spans[segment.agent], segment.start_ns, segment.end_ns) for segment in self.record.segments
        )
        return covered / total

    def once(self, work: Callable[["Trial"], _Found]) -> _Found:
        """What a function says of this trial, worked out the first time that somebody asks."""
        kept = self.__dict__.setdefault("_kept", {})
        if work not in kept:
            kept[work] = work(self)
        found: _Found = kept[work]
        return found

    def _rate(self, count: float) -> float | None:
        return per_hour(self.record.level * count, self.segment_s) if self.segment_s > 0 else None


def earned(request: RequestRecord) -> float:
    """What one turn of a root session earns: 1/turns where it ended well, and all that was earned back on a failure."""
    if request.outcome is Outcome.OK:
        return 1 / request.turns
    return -request.turn / request.turns if request.outcome.failed else 0.0


def _covered_ns(spans: Iterable[tuple[int, int]], start_ns: int, end_ns: int) -> int:
    """Length of the union of spans within [start, end]."""
    covered = 0
    reached = start_ns
    for begin, end in sorted(spans):
        begin_inside, end_inside = max(begin, reached), min(end, end_ns)
        if end_inside > begin_inside:
            covered += end_inside - begin_inside
            reached = end_inside
    return covered


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
    last: dict[tuple[int, str, int, bool], TrialRecord] = {}
    for record in sorted(run.trials, key=lambda record: (record.attempt, record.order, record.trial)):
        if record.drift or record.round > 0:
            last[record.round, record.variant, record.level, record.drift] = record
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
