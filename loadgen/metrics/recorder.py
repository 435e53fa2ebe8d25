"""A run as it goes, told to the store: by the replay, or by the timeline of a run that is read back.

Nothing here waits, and nothing is in the path of a token: a request is counted when it has ended, and what changes all
the time is read when somebody scrapes.
"""

import threading
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from loadgen.analysis.causes.acceptance import grown_by_position
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.validity import receive_lag_p99_ns
from loadgen.analysis.wall_clock import epoch_s
from loadgen.metrics.buckets import limits
from loadgen.metrics.labels import model_of, series_of, shortened
from loadgen.metrics.memory import Memory
from loadgen.metrics.requests import Requests
from loadgen.metrics.results import Results
from loadgen.metrics.scope import Scope
from loadgen.metrics.store import Store
from loadgen.metrics.table import MOST_POSITIONS
from loadgen.records.manifest import Manifest, Plan, PlannedTrial
from loadgen.records.model import RequestRecord, Sample, ServerStart, TokenEvent, TrialRecord
from loadgen.units import ns_to_s

_MOST_RUN = 128
"""Characters of the run's id, which is the name of a folder."""
_BUSY, _DEFERRED = "llamacpp:requests_processing", "llamacpp:requests_deferred"


class Load(Protocol):
    """What a trial does at the moment."""

    @property
    def in_flight(self) -> int:
        """Requests sent and not ended."""

    @property
    def agents(self) -> int:
        """Agents at work."""

    @property
    def phase(self) -> str:
        """`warmup`, `segment` or `drain`."""


class Recorder:
    """Keeps a store up to date with one run. Before `begun` its labels aren't known: only servers are remembered."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._starts: list[ServerStart] = []
        self._scope: Scope | None = None
        self._requests: Requests | None = None
        self._memory: Memory | None = None
        self._planned: PlannedTrial | None = None
        self._load: Load | None = None
        store.before_collect = self.refresh

    @property
    def series(self) -> str | None:
        """The run's series; null before it began."""
        return self._scope.series if self._scope is not None else None

    def begun(self, manifest: Manifest, starts: Iterable[ServerStart]) -> None:
        """The run is known; `starts` are the servers of an earlier sitting."""
        known = self._starts = [*starts, *self._starts]
        scope = Scope(series_of(manifest, known), shortened(manifest.workload.name))
        budget = manifest.experiment.get("memory_budget_bytes")
        self._requests = Requests(self.store, scope)
        self._memory = Memory(self.store, scope, budget)
        self.store.take_limits(limits(manifest.experiment.get("slo")))
        self._scope = scope
        baseline = str(manifest.experiment["baseline"])
        build = next((one.facts.build for one in known if one.variant == baseline), None)
        info = (shortened(manifest.run, _MOST_RUN), scope.workload, model_of(manifest, known), shortened(baseline))
        self.store.set(
            "loadgen_run_info", (*scope.run, *info, shortened(build or "unknown"), shortened(manifest.tool_version)), 1
        )
        self.store.set("loadgen_run_start_timestamp_seconds", scope.run, epoch_s(manifest.started_at))
        for start in known:
            self._show(start)

    def server(self, start: ServerStart) -> None:
        """A server is ready."""
        self._starts.append(start)
        self._show(start)

    def planned(self, plan: Plan, left: int) -> None:
        """The trials are planned."""
        if self._scope is not None:
            self.store.set("loadgen_run_trials_planned", self._scope.run, len(plan.trials))
            self.store.set("loadgen_run_trials_done", self._scope.run, len(plan.trials) - left)

    def trial_started(self, planned: PlannedTrial) -> None:
        """A trial begins."""
        if self._scope is None or self._requests is None:
            return
        self._requests.trial_started(planned)
        if self._memory is not None and self._planned is not None and self._planned.variant != planned.variant:
            self._memory.forget(self._planned.variant)
        self._planned = planned
        cell = self._scope.cell(planned.variant, planned.level, planned.depth)
        self.store.set("loadgen_agents_target", cell, planned.level)

    def load(self, load: Load) -> None:
        """What the trial does can be read from now on."""
        self._load = load

    def answered(self, record: RequestRecord, events: Iterable[TokenEvent]) -> None:
        """A request ended, with these token events."""
        if self._requests is not None:
            self._requests.ended(record, events, tells_slot=self._is_llama(record.variant))

    def server_said(self, values: Mapping[str, float]) -> None:
        """The server's own metrics, while a trial runs."""
        scope, planned = self._scope, self._planned
        if scope is None or planned is None:
            return
        for name, gauge in ((_BUSY, "loadgen_server_slots_busy"), (_DEFERRED, "loadgen_server_requests_deferred")):
            if name in values:
                self.store.set(gauge, scope.cell(planned.variant, planned.level, planned.depth), values[name])

    def sample(self, sample: Sample) -> None:
        """Memory or power was read. May be called by other threads, one at a time."""
        if self._memory is not None:
            self._memory.sample(sample)

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial ended: nothing is in flight any more."""
        scope = self._scope
        if scope is None or self._requests is None:
            return
        with self._lock:
            self._load = None
            self._at_rest(scope, record)
        self._requests.trial_ended(record)
        cell = scope.cell(record.variant, record.level, record.depth)
        lag = receive_lag_p99_ns(record.client)
        if lag is not None:
            self.store.set("loadgen_client_lag_seconds", cell, ns_to_s(lag))
        if record.client is not None and record.client.wall_ns > 0:
            self.store.set("loadgen_client_cpu_ratio", cell, record.client.cpu_ns / record.client.wall_ns)
        self._drafts(cell, record)
        if record.round > 0 or record.drift:
            self.store.count("loadgen_run_trials_done", scope.run)

    def results(self, summary: Mapping[str, Any]) -> None:
        """The summary of the run so far."""
        if self._scope is not None:
            Results(self.store, self._scope).show(summary)

    def ended(self, ended_s: float) -> None:
        """The run is over; `ended_s` is in seconds since the epoch."""
        if self._scope is None or self._memory is None:
            return
        if self._planned is not None:
            self._memory.forget(self._planned.variant)
        self.store.set("loadgen_run_end_timestamp_seconds", self._scope.run, ended_s)

    def refresh(self) -> None:
        """Bring up to date what changes with every request: called before a scrape is answered."""
        with self._lock:
            scope, planned, load = self._scope, self._planned, self._load
            if scope is None or planned is None or load is None:
                return
            cell = scope.cell(planned.variant, planned.level, planned.depth)
            self.store.set("loadgen_agents_active", cell, load.agents)
            self.store.set("loadgen_requests_in_flight", cell, load.in_flight)
            is_pilot = planned.round == 0 and not planned.drift
            self.store.state("loadgen_phase", cell, "pilot" if is_pilot else str(load.phase))

    def _show(self, start: ServerStart) -> None:
        if self._scope is None or self._memory is None:
            return
        self._memory.server(start)
        if start.facts.slots is not None:
            self.store.set("loadgen_server_slots", self._scope.variant(start.variant), start.facts.slots)

    def _at_rest(self, scope: Scope, record: TrialRecord) -> None:
        cell = scope.cell(record.variant, record.level, record.depth)
        for name in ("agents_target", "agents_active", "requests_in_flight"):
            self.store.set(f"loadgen_{name}", cell, 0)
        self.store.state("loadgen_phase", cell, None)
        for name in ("server_slots_busy", "server_requests_deferred"):
            self.store.remove(f"loadgen_{name}", cell)

    def _drafts(self, cell: tuple[str, ...], record: TrialRecord) -> None:
        """What the server's counters grew by over the trial; nothing where they don't tell."""
        grown = grown_by_position(Trial(record, (), lambda _: ()))
        if grown is None:
            return
        steps, positions = grown
        self.store.count("loadgen_verification_steps_total", cell, steps)
        for position, accepted in positions.items():
            if position < MOST_POSITIONS:
                name = "loadgen_draft_tokens_accepted_per_position_total"
                self.store.count(name, (*cell, str(position)), accepted)

    def _is_llama(self, variant: str) -> bool:
        return any(one.variant == variant and one.facts.kind == "llama-server" for one in self._starts)
