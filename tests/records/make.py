"""Records with plain values, for tests that change a few of them."""

from typing import Any

from loadgen.records.manifest import JournalEntry, Manifest, WorkloadFacts
from loadgen.records.model import Outcome, Phase, RequestRecord


def request(**changes: Any) -> RequestRecord:
    """A request that ended well: 10 tokens, the first after 0.2 s, one every 0.1 s."""
    values: dict[str, Any] = {
        "run": "run", "trial": "r1-off-c1", "round": 1, "variant": "off", "level": 1, "agent": 0,
        "session": "s0@a0.0", "root": "s0@a0.0", "turn": 0, "turns": 4, "turn_kind": "prose", "attempt": 1,
        "phase": Phase.SEGMENT, "ready_ns": 0, "scheduled_ns": 0, "wait_kind": None, "in_flight": 1,
        "active_agents": 1, "target": "http://127.0.0.1:1", "start_ns": 0, "connect_ns": None, "send_ns": 1_000,
        "send_done_ns": 2_000, "headers_ns": 3_000, "first_event_ns": 200_001_000, "first_token_ns": 200_001_000,
        "first_answer_ns": 200_001_000, "last_token_ns": 1_100_001_000, "end_ns": 1_100_002_000,
        "outcome": Outcome.OK, "status": 200, "error": None, "finish_reason": "stop", "done_seen": True,
        "decode_warnings": 0, "token_events": 10, "events_at": None, "max_tokens": 16, "exact_length": False,
        "prompt_tokens": 100, "completion_tokens": 10, "cached_tokens": 0, "timings": None,
    }  # fmt: skip
    return RequestRecord(**(values | changes))


def manifest(**changes: Any) -> Manifest:
    """The manifest of a run without a past."""
    values: dict[str, Any] = {
        "schema": "loadgen-run/1", "run": "run", "tool_version": "0", "started_at": "2026-01-01T00:00:00+00:00",
        "started_ns": 0, "experiment": {"baseline": "off", "variants": [{"name": "off"}], "levels": [1]},
        "workload": WorkloadFacts(
            name="w", digest="0", sessions=1, turns=4, min_context=512, max_depth=300, history="recorded",
            exact_length=False, chars_per_token=None, assumed=[],
        ),
        "host": {}, "random_weights": False,
    }  # fmt: skip
    return Manifest(**(values | changes))


def journal(what: str, detail: str | None = None) -> JournalEntry:
    """A journal entry at time 0."""
    return JournalEntry(at_ns=0, what=what, detail=detail)
