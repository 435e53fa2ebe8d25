"""Who sees a run: the display, and the metrics where they were asked for."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from loadgen.cli.progress import ProgressDisplay
from loadgen.metrics.recorder import Load, Recorder
from loadgen.records.manifest import Manifest, Plan, PlannedTrial
from loadgen.records.model import RequestRecord, Sample, ServerStart, TokenEvent, TrialRecord


class Audience:
    """An observer and a meter in one. Metrics are secondary: where they fail, it is said, and the run goes on alone."""

    def __init__(self, display: ProgressDisplay, recorder: Recorder | None = None) -> None:
        self._display = display
        self._recorder = recorder

    def note(self, text: str) -> None:
        """Print a line."""
        self._display.note(text)

    def waiting(self, text: str) -> None:
        """Show what is waited for."""
        self._display.waiting(text)

    def server(self, start: ServerStart) -> None:
        """A server is ready."""
        self._display.server(start)
        self._tell(lambda recorder: recorder.server(start))

    def planned(self, plan: Plan, left: int) -> None:
        """The trials are planned."""
        self._tell(lambda recorder: recorder.planned(plan, left))
        self._display.planned(plan, left)

    def trial_started(self, planned: PlannedTrial) -> None:
        """A trial begins."""
        self._display.trial_started(planned)
        self._tell(lambda recorder: recorder.trial_started(planned))

    def request(self, record: RequestRecord) -> None:
        """A request ended."""
        self._display.request(record)

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial ended."""
        self._tell(lambda recorder: recorder.trial_ended(record))
        self._display.trial_ended(record)

    def begun(self, manifest: Manifest, starts: Iterable[ServerStart]) -> None:
        """The run is known."""
        self._tell(lambda recorder: recorder.begun(manifest, starts))

    def load(self, load: Load) -> None:
        """A trial plays."""
        self._tell(lambda recorder: recorder.load(load))

    def answered(self, record: RequestRecord, events: Iterable[TokenEvent]) -> None:
        """A request ended, with its token events."""
        self._tell(lambda recorder: recorder.answered(record, events))

    def server_said(self, values: Mapping[str, float]) -> None:
        """The metrics of the server under test."""
        self._tell(lambda recorder: recorder.server_said(values))

    def sample(self, sample: Sample) -> None:
        """Memory or power was read, in another thread."""
        self._tell(lambda recorder: recorder.sample(sample))

    def results(self, summary: Mapping[str, Any]) -> None:
        """What is known so far."""
        self._tell(lambda recorder: recorder.results(summary))

    def ended(self, ended_s: float) -> None:
        """The run is over."""
        self._tell(lambda recorder: recorder.ended(ended_s))

    def _tell(self, what: Callable[[Recorder], None]) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        try:
            what(recorder)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may not cost the run
            self._recorder = None
            self._display.note(f"metrics stop here, the run goes on: {type(error).__name__}: {error}")
