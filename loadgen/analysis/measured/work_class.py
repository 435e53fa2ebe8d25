"""The classes of work of a mix: who belongs to which, and the trials as one class had them."""

from collections.abc import Mapping, Sequence

from loadgen.analysis.measured.trial import Trial
from loadgen.records.model import RequestRecord

__all__ = ["agents_by_class", "by_class", "of_class"]


def by_class(trials: Sequence[Trial]) -> dict[str | None, list[Trial]]:
    """Trials of one cell as each class of a mix had them, the classes in the order of their agents.

    Under null the trials themselves, where one workload was played.
    """
    names = list(dict.fromkeys(name for trial in trials for name in trial.classes))
    if not names:
        return {None: list(trials)}
    return {name: of_class(trials, name) for name in names}


def of_class(trials: Sequence[Trial], name: str) -> list[Trial]:
    """Trials as one class of a mix had them; those without agents of it are left out."""
    return [trial.classes[name] for trial in trials if name in trial.classes]


def agents_by_class(requests: Sequence[RequestRecord]) -> Mapping[str, int]:
    """How many agents of each class sent requests, the classes in the order of their agents; empty without a mix."""
    agents: dict[str, set[int]] = {}
    for agent, name in sorted({(one.agent, one.work_class) for one in requests if one.work_class is not None}):
        agents.setdefault(name, set()).add(agent)
    return {name: len(some) for name, some in agents.items()}
