"""Measuring until it is known: the policy that runs follow unless they are given another."""

from collections.abc import Sequence
from pathlib import Path

from loadgen.analysis.sequential.interim import look
from loadgen.analysis.sequential.looks import preset_looks
from loadgen.cell_key import CellKey
from loadgen.cli.progress import ProgressDisplay
from loadgen.experiment.model import Experiment
from loadgen.experiment.stop_policy import Decision, StopPolicy
from loadgen.records.run_folder import read_run


class UntilKnown:
    """Looks at the run folder by the rule of `loadgen.analysis.sequential.looks`.

    No looks where the experiment has a number of rounds, doesn't want any, or compares nothing.
    """

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self._experiment = experiment
        self._folder = folder

    def looks(self, rounds: int) -> Sequence[int]:
        """After which of so many planned rounds to look."""
        asked = self._experiment
        if asked.rounds is not None or not asked.stop_when_known or len(asked.variants) == 1:
            return []
        return preset_looks(rounds)

    def after(self, round_: int) -> Decision:
        """What the facts in the run folder say once round `round_` has ended. Raises `RunFolderError`."""
        return look(read_run(self._folder), round_)


class Shown:
    """A policy whose decisions a display counts by."""

    def __init__(self, policy: StopPolicy, display: ProgressDisplay, baseline: str) -> None:
        self._policy = policy
        self._display = display
        self._baseline = baseline

    def looks(self, rounds: int) -> Sequence[int]:
        """The looks of the policy."""
        return self._policy.looks(rounds)

    def after(self, round_: int) -> Decision:
        """The decision of the policy; the display then knows how much is left."""
        decision = self._policy.after(round_)
        if decision.open is not None:
            baselines = {CellKey(self._baseline, one.level, one.depth) for one in decision.open}
            self._display.looked(round_, decision.open | baselines)
        return decision
