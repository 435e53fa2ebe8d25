"""Progress on stderr: a live line on a terminal, one line a trial elsewhere."""

import time
from collections.abc import Collection
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from loadgen.analysis.at_depth import deep
from loadgen.analysis.sequential.added_levels import added_levels, added_text
from loadgen.cell_key import CellKey
from loadgen.records.manifest import Plan, PlannedTrial
from loadgen.records.model import RequestRecord, ServerStart, TrialRecord
from loadgen.replay.class_turns import class_turns_lines
from loadgen.units import ns_to_s


class ProgressDisplay:
    """Shows a run as it happens. Use as a context manager around the run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task: TaskID | None = None
        self._done = 0
        self._before = 0
        self._total = 0
        self._estimated_s = 0.0
        self._started_s = time.monotonic()
        self._requests = 0
        self._current: PlannedTrial | None = None
        self._plan: Plan | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task("starting", total=None, left="")
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)

    def waiting(self, text: str) -> None:
        """Show what is waited for on the live line; without a terminal, print what takes long."""
        if self._task is not None:
            self._progress.update(self._task, description=text)
        if not self._live and text.endswith(" s)"):
            self.note(text)

    def server(self, start: ServerStart) -> None:
        """Nothing to print for a server that is ready: the trial that follows names it."""

    def planned(self, plan: Plan, left: int) -> None:
        """Print the plan and its time."""
        self._plan = plan
        self._total = len(plan.trials)
        self._done = self._before = self._total - left
        self._estimated_s = plan.estimated_s
        self._started_s = time.monotonic()
        levels = sorted({trial.level for trial in plan.trials})
        turns = {(trial.level, trial.depth): trial.turns_per_agent for trial in plan.trials}
        self.note(
            f"plan: up to {plan.rounds} rounds × {', '.join(map(str, levels))} agents, {self._total} trials, "
            f"about {_clock(plan.estimated_s)}; measured turns an agent: "
            + ", ".join(f"{turns[place]} at {place[0]}{deep(place[1])}" for place in sorted(turns))
        )
        for line in class_turns_lines(plan):
            self.note(line)
        if self._before:
            self.note(f"resuming: {self._before} of {self._total} trials are there")
        if plan.dropped_levels:
            self.note(
                f"left out to make 3 rounds fit: {', '.join(map(str, plan.dropped_levels))} agents "
                "(a longer --time-budget keeps them)"
            )
        for added in added_levels(plan):
            self.note(added_text(added))
        if plan.looks:
            after = " and ".join(map(str, plan.looks))
            self.note(f"looks after round {after}: what is known by then is measured no further")
        if self._task is not None:
            self._progress.update(self._task, total=self._total, completed=self._done)

    def looked(self, round_: int, cells: Collection[CellKey]) -> None:
        """Count only what is still measured after round `round_`: these cells, and the drift check."""
        if self._plan is None:
            return
        later = [one for one in self._plan.trials if one.drift or one.round > round_]
        self._total = self._done + sum(one.drift or one.cell in cells for one in later)
        if self._task is not None:
            self._progress.update(self._task, total=self._total)

    def trial_started(self, planned: PlannedTrial) -> None:
        """Show which trial runs."""
        self._current = planned
        self._requests = 0
        self._describe()

    def request(self, record: RequestRecord) -> None:
        """Count requests."""
        del record
        self._requests += 1
        self._describe()

    def trial_ended(self, record: TrialRecord) -> None:
        """Advance; without a terminal, print one line."""
        counts = record.round > 0 or record.drift
        if counts:
            self._done += 1
            if self._task is not None:
                self._progress.update(self._task, completed=self._done)
        if record.aborted is not None:
            self.note(f"{record.trial}: stopped early, {record.aborted}")
        elif not self._live:
            position = f"{self._done}/{self._total}  " if counts else ""
            self.note(
                f"{position}{_place(record)}: {self._requests} requests "
                f"in {ns_to_s(record.end_ns - record.start_ns):.1f} s{self._left()}"
            )

    def _describe(self) -> None:
        if self._task is None or self._current is None:
            return
        current = self._current
        where = _place(current)
        self._progress.update(
            self._task, description=f"{where}, {self._requests} requests", left=self._left().removeprefix(", ")
        )

    def _left(self) -> str:
        """Time left: planned seconds, corrected by how the trials so far took."""
        if not self._total or self._estimated_s <= 0:
            return ""
        left = self._estimated_s * (1 - self._done / self._total)
        here = self._done - self._before
        if here:
            left = (time.monotonic() - self._started_s) / here * (self._total - self._done)
        return f", {_clock(left)} left"


def _place(trial: PlannedTrial | TrialRecord) -> str:
    agents = "agent" if trial.level == 1 else "agents"
    when = "drift check" if trial.drift else f"round {trial.round}" if trial.round else "pilot"
    return f"{when}: {trial.variant}, {trial.level} {agents}{deep(trial.depth)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"
