"""One of two runs that are held against each other: its summary, and its valid trials by cell."""

import math
from collections.abc import Mapping
from typing import Any

from loadgen.analysis.at_depth import ASKED, asked
from loadgen.analysis.criteria.figure import void
from loadgen.analysis.measured.trial import Trial, trials_of
from loadgen.analysis.summary import summarise
from loadgen.cell_key import CellKey
from loadgen.records.run import Run


class Side:
    """One of the runs: its summary, and its valid trials by cell."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.summary = summarise(run)
        self.cells = {key_of(cell): cell for cell in self.summary["cells"]}
        self.void = void(self.summary, against=False)
        trials = {trial.record.trial: trial for trial in trials_of(run)}
        self.trials: dict[CellKey, list[Trial]] = {
            key: [trials[one["trial"]] for one in cell["by_trial"] if one["valid"]] for key, cell in self.cells.items()
        }

    def logs(self, key: CellKey, quantity: str = "tasks_per_hour") -> list[float]:
        """Logarithms of a quantity of the valid trials of a cell, where it is above 0."""
        values = [getattr(trial, quantity) for trial in self.trials[key]]
        return [math.log(value) for value in values if value is not None and value > 0]

    def gains(self, key: CellKey) -> list[float]:
        """dᵣ of a cell against the baseline of its own run."""
        return next(
            (
                list(one["rounds"])
                for one in self.summary["comparisons"]
                if (key_of(one), one["metric"]) == (key, "tasks_per_hour")
                and not one["void"]
                and not one["not_comparable"]
            ),
            [],
        )

    def entry(self) -> dict[str, Any]:
        """What names the run, and how far it got."""
        run, setup = self.summary["run"], self.summary["setup"]
        return {
            "id": run["id"],
            "started_at": setup["started_at"],
            "complete": run["complete"],
            "ended": setup["ended"],
            "workload": run["workload"],
            "baseline": run["baseline"],
            "seed": self.run.manifest.experiment.get("seed"),
            "tool_version": run["tool_version"],
            "rerun_of": run["rerun_of"],
            "random_weights": setup["random_weights"],
            "cells": [
                {
                    "variant": cell["variant"],
                    "concurrency": cell["concurrency"],
                    **asked(cell[ASKED]),
                    "trials": cell["trials"],
                    "valid_trials": cell["valid_trials"],
                    "tasks_per_hour": cell["tasks_per_hour"],
                }
                for cell in self.summary["cells"]
            ],
        }


def key_of(entry: Mapping[str, Any]) -> CellKey:
    """The cell that an entry of a summary is of."""
    return CellKey(entry["variant"], entry["concurrency"], entry[ASKED])
