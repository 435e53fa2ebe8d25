"""Requests as they end: counted by outcome and phase, their tokens added up, their latencies put into buckets."""

from collections.abc import Iterable, Sequence

from loadgen.analysis.measured.request import RequestMetrics, measure, step_gaps_ns, step_starts_ns
from loadgen.analysis.measured.trial import Trial
from loadgen.metrics.labels import shortened
from loadgen.metrics.scope import Scope
from loadgen.metrics.store import Store
from loadgen.records.manifest import PlannedTrial
from loadgen.records.model import Outcome, Phase, RequestRecord, TokenEvent, TrialRecord
from loadgen.units import ns_to_s

_CHECK, _DRIFT, _PILOT = "check", "drift", "pilot"
_MOST_NAME = 96
"""Characters of an exemplar: OpenMetrics allows 128 with the label's name."""


class Requests:
    """Counts the requests of a run. Latencies are those of `loadgen.analysis`, of ok requests in measured segments.

    Pilots and the trial repeated at the end are counted and not observed: the report's latencies leave them out, too.
    """

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope
        self._planned: PlannedTrial | None = None
        self._segment: list[RequestRecord] = []
        self._begun: set[tuple[str, ...]] = set()

    def trial_started(self, planned: PlannedTrial) -> None:
        """The requests of this trial follow. Its first request of a phase must count as an increase: begin at 0."""
        self._planned, self._segment = planned, []
        cell = self._scope.cell(planned.variant, planned.level, planned.depth)
        if cell not in self._begun:
            self._begun.add(cell)
            self._store.count("loadgen_requests_total", (*cell, Outcome.OK.value, Phase.SEGMENT.value), 0.0)

    def ended(self, record: RequestRecord, events: Iterable[TokenEvent], *, tells_slot: bool) -> None:
        """A request ended. `tells_slot`: response headers of its server come when a slot takes the request."""
        planned = self._planned
        depth = planned.depth if planned is not None and planned.trial == record.trial else None
        cell = self._scope.cell(record.variant, record.level, depth)
        phase = self._phase(record)
        self._store.count("loadgen_requests_total", (*cell, record.outcome.value, phase))
        found = measure(record, headers_tell_slot=tells_slot)
        self._tokens((*cell, phase), found)
        if phase in (Phase.SEGMENT, Phase.DRAIN):
            self._session(cell, record)
        if phase != Phase.SEGMENT:
            return
        self._segment.append(record)
        if record.outcome is Outcome.OK:
            self._latencies(cell, found, events)

    def trial_ended(self, record: TrialRecord) -> None:
        """Sessions that lie in the segments whole are known now."""
        seconds = Trial(record, self._segment, lambda _: ()).task_s
        self._segment = []
        if seconds:
            cell = self._scope.cell(record.variant, record.level, record.depth)
            self._store.observe("loadgen_task_duration_seconds", cell, seconds)

    def _phase(self, record: RequestRecord) -> str:
        """Requests of no trial are of a check; those of a trial that was never finished keep their phase."""
        planned = self._planned
        if planned is not None and planned.trial == record.trial and planned.round == 0:
            return _DRIFT if planned.drift else _PILOT
        return record.phase.value if record.round > 0 else _CHECK

    def _tokens(self, labels: tuple[str, ...], found: RequestMetrics) -> None:
        """What the server told of; what it didn't has no series."""
        for name, value in (
            ("prompt_tokens", found.depth),
            ("prompt_tokens_cached", found.cached),
            ("generation_tokens", found.output_tokens),
            ("decode_steps", found.decode_steps),
            ("draft_tokens", found.drafted),
            ("draft_tokens_accepted", found.accepted),
        ):
            if value is not None:
                self._store.count(f"loadgen_{name}_total", labels, value)

    def _session(self, cell: tuple[str, ...], record: RequestRecord) -> None:
        """A session ends with its last turn, or with one that failed. Sub-agents are part of their root's session."""
        is_last = record.turn == record.turns - 1 and record.outcome is Outcome.OK
        if record.session == record.root and (is_last or record.outcome.failed):
            self._store.count("loadgen_sessions_total", (*cell, record.outcome.value))

    def _latencies(self, cell: tuple[str, ...], found: RequestMetrics, events: Iterable[TokenEvent]) -> None:
        record = found.request
        name = {"request": shortened(f"{record.trial} agent {record.agent} turn {record.turn}", _MOST_NAME)}
        for metric, ns in (
            ("time_to_first_token", found.ttft_ns),
            ("request_duration", found.e2e_ns),
            ("queue_wait", found.queue_wait_ns),
        ):
            if ns is not None:
                self._store.observe(f"loadgen_{metric}_seconds", cell, (ns_to_s(ns),), exemplar=name)
        if found.tpot_s is not None:
            self._store.observe("loadgen_time_per_output_token_seconds", cell, (found.tpot_s,), exemplar=name)
        gaps = _gaps_s(record, events)
        if gaps:
            self._store.observe("loadgen_step_gap_seconds", cell, gaps, exemplar=name)


def _gaps_s(record: RequestRecord, events: Iterable[TokenEvent]) -> Sequence[float]:
    return list(map(ns_to_s, step_gaps_ns(step_starts_ns(record, events))))
