"""What is looked at before a variant is measured: its server against the baseline's, and its answers."""

import time
from collections.abc import Callable

from loadgen.client.chat import ChatClient
from loadgen.errors import VariantError
from loadgen.experiment.model import Experiment
from loadgen.records.differences import differences, explain, voiding
from loadgen.records.model import ServerFacts
from loadgen.records.output_check import OutputCheck
from loadgen.records.run import Run
from loadgen.records.run_folder import RunWriter
from loadgen.replay.bench import Sink
from loadgen.replay.observer import Observer
from loadgen.servers.target import Target

Judge = Callable[[OutputCheck, OutputCheck | None], str | None]
"""Why the check of a variant (the first) fails against that of the baseline; null where it doesn't."""


class Inspection:
    """Looks at one variant after the other, the baseline first."""

    def __init__(
        self,
        experiment: Experiment,
        writer: RunWriter,
        observer: Observer,
        *,
        judge: Judge | None,
        earlier: Run | None,
        random_weights: bool,
    ) -> None:
        self._experiment = experiment
        self._writer = writer
        self._observer = observer
        self._judge = judge
        self._random_weights = random_weights
        self._facts: dict[str, ServerFacts] = {}
        self._checks: dict[str, OutputCheck] = {}
        if earlier is not None:
            self._facts = {start.variant: start.facts for start in reversed(earlier.starts)}

    def unchanged(self, target: Target) -> None:
        """Raises `VariantError` where a server is not what it was at its first start in this run."""
        name, facts = target.variant.name, target.facts
        if facts is None:
            return
        before = self._facts.setdefault(name, facts)
        changed = [one for one in differences(before, facts) if one.voids or one.field == "build"]
        if changed:
            words = ", ".join(f"{one.field} ({one.baseline} → {one.variant})" for one in changed)
            raise VariantError(f"the server of {name} is not what it was when the run began: {words}")
