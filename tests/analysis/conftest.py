"""Builders of records with exact times: seconds in, nanoseconds out."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from loadgen.analysis.measured.trial import Trial
from loadgen.records.manifest import JournalEntry, Manifest, Plan, WorkloadFacts
from loadgen.records.model import (
    ClientReading,
    Component,
    CounterReading,
    EventKind,
    Outcome,
    Phase,
    RequestRecord,
    Sample,
    Segment,
    ServerFacts,
    ServerStart,
    TokenEvent,
    TrialRecord,
)
from loadgen.records.output_check import CheckedAnswer, OutputCheck
from loadgen.records.run import Run


def ns(seconds: float | None) -> int | None:
    """Whole nanoseconds."""
    return None if seconds is None else round(seconds * 1e9)


class Maker:
    """Makes records; what isn't named has a plain value."""

    def request(
        self,
        *,
        start: float = 0.0,
        first: float | None = 0.1,
        last: float | None = 1.0,
        end: float | None = None,
        ready: float | None = None,
        scheduled: float | None = None,
        headers: float | None = None,
        answer: float | None = None,
        **fields: Any,
    ) -> RequestRecord:
        """A request sent at `start`; all other times in seconds on the same clock."""
        session = fields.get("session", "s")
        end = end if end is not None else (last if last is not None else start)
        scheduled = start if scheduled is None else scheduled
        plain: dict[str, Any] = {
            "run": "run", "trial": "t1", "round": 1, "variant": "off", "level": 1, "agent": 0,
            "session": session, "root": session, "turn": 0, "turns": 1, "turn_kind": "user", "attempt": 1,
            "phase": Phase.SEGMENT, "ready_ns": ns(scheduled if ready is None else ready),
            "scheduled_ns": ns(scheduled), "wait_kind": None, "in_flight": 1, "active_agents": 1, "target": "http://127.0.0.1:1",
            "start_ns": ns(start), "connect_ns": None, "send_ns": ns(start), "send_done_ns": ns(start),
            "headers_ns": ns(headers), "first_event_ns": ns(first), "first_token_ns": ns(first),
            "first_answer_ns": ns(first if answer is None else answer), "last_token_ns": ns(last), "end_ns": ns(end),
            "outcome": Outcome.OK, "status": 200, "error": None, "finish_reason": "stop", "done_seen": True,
            "decode_warnings": 0, "token_events": 10, "events_at": None, "max_tokens": 1000, "exact_length": False,
            "prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": None, "timings": None,
        }  # fmt: skip
        return RequestRecord(**{**plain, **fields})

    def failed(self, *, start: float = 0.0, end: float = 0.0, **fields: Any) -> RequestRecord:
        """A request that ended in HTTP 500 without a token."""
        plain: dict[str, Any] = {
            "outcome": Outcome.HTTP_ERROR, "status": 500, "token_events": 0, "completion_tokens": None,
            "prompt_tokens": None, "finish_reason": None, "done_seen": False,
        }  # fmt: skip
        return self.request(start=start, first=None, last=None, end=end, **{**plain, **fields})

    def events(self, times: Sequence[float], reads: Sequence[bool] | None = None) -> list[TokenEvent]:
        """Token events; each in a read of its own unless `reads` says otherwise."""
        news = reads or [True] * len(times)
        return [
            TokenEvent(at_ns=round(at * 1e9), kind=EventKind.CONTENT, new_read=new)
            for at, new in zip(times, news, strict=True)
        ]

    def record(
        self, *, segments: Sequence[tuple[float, float]] = ((0.0, 10.0),), turns: int = 1, **fields: Any
    ) -> TrialRecord:
        """A complete trial whose agents have these segments (seconds)."""
        plain: dict[str, Any] = {
            "run": "run", "trial": "t1", "round": 1, "variant": "off", "level": max(len(segments), 1), "order": 0,
            "turns_per_agent": turns, "short": False, "start_ns": 0, "measured_ns": 0,
            "end_ns": ns(max((end for _, end in segments), default=0.0)), "complete": True, "aborted": None,
            "server_alive": True,
            "segments": [
                Segment(agent=agent, start_ns=round(begin * 1e9), end_ns=round(end * 1e9), turns=turns)
                for agent, (begin, end) in enumerate(segments)
            ],
            "counters_before": None, "counters_after": None, "client": None,
        }  # fmt: skip
        return TrialRecord(**{**plain, **fields})

    def trial(
        self,
        requests: Iterable[RequestRecord],
        *,
        events: dict[int, list[TokenEvent]] | None = None,
        headers_tell_slot: bool = False,
        **fields: Any,
    ) -> Trial:
        """A trial of these requests; `events` by the requests' `events_at`."""
        held = events or {}
        return Trial(
            record=self.record(**fields),
            requests=list(requests),
            events=lambda request: held.get(request.events_at, ()) if request.events_at is not None else (),
            headers_tell_slot=headers_tell_slot,
        )

    def counters(self, **values: float) -> CounterReading:
        """A reading of counters, named without their prefix."""
        return CounterReading(at_ns=0, values={f"llamacpp:{name}": value for name, value in values.items()})

    def client(self, *, lag: float | None = 0.0001, cpu: float = 0.1, stamps: str = "user") -> ClientReading:
        """A reading of our own process: share of one CPU, and lag p99 in seconds of what its stamps can tell.

        With kernel stamps that is the receive lag; the event loop's timer is then 50 ms late and must not matter.
        """
        kernel = stamps == "kernel"
        received, loop = (lag, 0.05) if kernel else (None, lag)
        return ClientReading(
            stamps=stamps, wall_ns=10**10, cpu_ns=round(cpu * 1e10), receive_lag_samples=1000 if kernel else 0,
            receive_lag_p50_ns=ns(received), receive_lag_p99_ns=ns(received), receive_lag_max_ns=ns(received),
            lag_samples=1000, lag_p50_ns=ns(loop), lag_p99_ns=ns(loop), lag_max_ns=ns(loop),
        )  # fmt: skip

    def start(self, variant: str, *, ledger: Sequence[Component] = (), **facts: Any) -> ServerStart:
        """A llama-server that is up."""
        plain: dict[str, Any] = {
            "kind": "llama-server", "model": "m", "model_path": None, "build": None, "slots": 4,
            "context_per_slot": 4096, "metrics": True, "speculative": variant != "off", "drafted": None,
            "sampling": None,
        }  # fmt: skip
        return ServerStart(
            run="run", round=1, variant=variant, at_ns=0, ready_s=1.0, command=None, target="http://127.0.0.1:1",
            log=None, facts=ServerFacts(**{**plain, **facts}), ledger=list(ledger),
        )  # fmt: skip

    def manifest(
        self, names: Sequence[str], *, random_weights: bool = False, rerun_of: str | None = None, **experiment: Any
    ) -> Manifest:
        """A manifest of a run of these variants; the first is the baseline."""
        plan: dict[str, Any] = {
            "variants": [{"kind": "url", "name": name, "url": "http://127.0.0.1:1"} for name in names],
            "baseline": names[0],
            "min_effect": 0.05,
        }
        return Manifest(
            schema="loadgen-run/1", run="run", tool_version="0.1.0", started_at="2026-01-01T00:00:00Z", started_ns=0,
            experiment={**plan, **experiment}, host={}, random_weights=random_weights, rerun_of=rerun_of,
            workload=WorkloadFacts(
                name="chat", digest="d", sessions=1, turns=4, min_context=1, max_depth=1, history="recorded",
                exact_length=False, chars_per_token=None, assumed=[],
            ),
        )  # fmt: skip

    def run(
        self,
        tasks: dict[tuple[str, int], Sequence[float]],
        *,
        starts: Sequence[ServerStart] = (),
        samples: Sequence[Sample] = (),
        journal: Sequence[JournalEntry] = (),
        checks: Sequence[OutputCheck] = (),
        plan: Plan | None = None,
        repeated: float | None = None,
        **manifest: Any,
    ) -> Run:
        """A run in which each (variant, level) does so many tasks per hour and agent in its rounds.

        Every trial is one agent's single turn of a whole session, repeated by every agent. `repeated`: the rate of the
        first trial done once more at the end.
        """
        variants = list(dict.fromkeys(variant for variant, _ in tasks))
        trials: list[TrialRecord] = []
        requests: list[RequestRecord] = []
        played = [
            (f"r{number}-n{level}-{variant}", variant, level, number, rate)
            for (variant, level), rates in tasks.items()
            for number, rate in enumerate(rates, start=1)
        ]
        if repeated is not None:
            _, variant, level, _, _ = played[0]
            played.append((f"drift-n{level}-{variant}", variant, level, 0, repeated))
        for name, variant, level, number, rate in played:
            seconds = 3600 / rate
            place: dict[str, Any] = {"trial": name, "round": number, "variant": variant, "level": level}
            trials.append(self.record(segments=[(0.0, seconds)] * level, order=len(trials), drift=number == 0, **place))
            requests += [
                self.request(last=seconds, agent=agent, session=f"{name}.{agent}", **place) for agent in range(level)
            ]
        return Run(
            manifest=self.manifest(variants, **manifest), plan=plan, starts=list(starts), trials=trials,
            requests=requests, samples=list(samples), checks=list(checks), journal=list(journal),
        )  # fmt: skip

    def answer(self, agent: int, **fields: Any) -> CheckedAnswer:
        """An answer that keeps to its own session."""
        plain: dict[str, Any] = {
            "agent": agent, "slot": agent, "alone": False, "outcome": "ok", "characters": 40, "own": True,
            "foreign": [], "drafted": None, "accepted": None,
        }  # fmt: skip
        return CheckedAnswer(**{**plain, **fields})

    def check(self, variant: str, *, crossed: bool = False, skipped: str | None = None, **fields: Any) -> OutputCheck:
        """An output check of two agents that passes, or in which agent 0 gets text of agent 1."""
        answers = [self.answer(0, foreign=[1] if crossed else []), self.answer(1)]
        plain: dict[str, Any] = {"run": "run", "variant": variant, "level": 2, "at_ns": 0, "skipped": skipped}
        return OutputCheck(**{**plain, "answers": [] if skipped else answers, **fields})

    def strict_json(self, document: Any) -> Any:
        """Through a strict JSON encoder, which raises at NaN and infinity, and back."""
        return json.loads(json.dumps(document, allow_nan=False))


@pytest.fixture(scope="session")
def make() -> Maker:
    """The builder of records."""
    return Maker()
