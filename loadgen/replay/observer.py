"""Whoever wants to see a run live: progress displays and exporters. Facts only, handed over by `cli`."""

from typing import Protocol

from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import RequestRecord, ServerStart, TrialRecord


class Observer(Protocol):
    """Called from the event loop between requests; must return at once and never raise."""

    def note(self, text: str) -> None:
        """Say something in passing, such as which workload was chosen."""

    def waiting(self, text: str) -> None:
        """Say what is waited for, such as a server that loads; called again every few seconds, with the time."""

    def server(self, start: ServerStart) -> None:
        """A server is ready."""

    def planned(self, plan: Plan, left: int) -> None:
        """The trials are planned; so many of them are left to run: all, unless the run is resumed."""

    def trial_started(self, planned: PlannedTrial) -> None:
        """A trial (or, with round 0, a pilot) begins."""

    def request(self, record: RequestRecord) -> None:
        """A request ended."""

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial ended."""
