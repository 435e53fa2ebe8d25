"""A run as read back: the facts of one run folder in memory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from loadgen.records.manifest import JournalEntry, Manifest, Plan
from loadgen.records.model import RequestRecord, Sample, ServerStart, TokenEvent, TrialRecord
from loadgen.records.output_check import OutputCheck


def _no_events(_request: RequestRecord) -> Iterable[TokenEvent]:
    return ()


@dataclass(frozen=True)
class Run:
    """Everything that a run folder holds, in the order in which it was written.

    `events` gives the token events of a request (empty when it had none); they are read on demand, because they are by
    far the largest part of a run. `plan` is null when the run ended before its plan was made.
    """

    manifest: Manifest
    plan: Plan | None = None
    starts: list[ServerStart] = field(default_factory=list)
    trials: list[TrialRecord] = field(default_factory=list)
    requests: list[RequestRecord] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    checks: list[OutputCheck] = field(default_factory=list)
    journal: list[JournalEntry] = field(default_factory=list)
    events: Callable[[RequestRecord], Iterable[TokenEvent]] = _no_events
    folder: Path | None = None
    """Where it was read."""
