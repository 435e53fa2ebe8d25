"""Makers of runs in which two classes of work were played together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from loadgen.analysis.measured.trial import Trial, trials_of
from loadgen.records.model import RequestRecord, TrialRecord
from loadgen.records.run import Run

if TYPE_CHECKING:
    from tests.analysis.conftest import Maker

MIX = [{"workload": "chat", "weight": 1.0}, {"workload": "batch", "weight": 3.0}]

Seconds = Mapping[str, tuple[int, float]]
"""Of each class: its agents, and the seconds in which each of them does a whole task of one turn."""


def mixed_run(make: "Maker", cells: Mapping[tuple[str, int], Sequence[Seconds]], **manifest: Any) -> Run:
    """A run that did this in each round of each (variant, level)."""
    trials: list[TrialRecord] = []
    requests: list[RequestRecord] = []
    for (variant, level), rounds in cells.items():
        for number, classes in enumerate(rounds, start=1):
            name = f"r{number}-{variant}-c{level}"
            place: dict[str, Any] = {"trial": name, "round": number, "variant": variant, "level": level}
            agents = [(work_class, seconds) for work_class, (count, seconds) in classes.items() for _ in range(count)]
            record = make.record(segments=[(0.0, seconds) for _, seconds in agents], order=len(trials), **place)
            segments = [
                msgspec.structs.replace(segment, work_class=work_class)
                for segment, (work_class, _) in zip(record.segments, agents, strict=True)
            ]
            trials.append(msgspec.structs.replace(record, segments=segments))
            requests += [
                request(make, agent, work_class, seconds, session=f"{name}.{agent}", **place)
                for agent, (work_class, seconds) in enumerate(agents)
            ]
    names = list(dict.fromkeys(variant for variant, _ in cells))
    return Run(manifest=make.manifest(names, mix=MIX, **manifest), trials=trials, requests=requests)


def request(make: "Maker", agent: int, work_class: str, seconds: float, **place: Any) -> RequestRecord:
    """One turn of so many seconds, with its first token after a tenth of them."""
    return make.request(first=seconds / 10, last=seconds, agent=agent, work_class=work_class, **place)


def valid(run: Run) -> dict[tuple[str, int], list[Trial]]:
    """All trials by variant and level."""
    found: dict[tuple[str, int], list[Trial]] = {}
    for trial in trials_of(run):
        found.setdefault((trial.record.variant, trial.record.level), []).append(trial)
    return found


CHAT_PAYS: dict[tuple[str, int], Sequence[Seconds]] = {
    ("off", 4): [{"chat": (1, 40.0), "batch": (3, 10.0)}, {"chat": (1, 41.0), "batch": (3, 10.1)}] * 2,
    ("mtp", 4): [{"chat": (1, 20.0), "batch": (3, 12.0)}, {"chat": (1, 20.6), "batch": (3, 12.1)}] * 2,
}
"""Chat takes half the time with mtp, and batch a fifth more."""
