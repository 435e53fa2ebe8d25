"""What each class of work did in a cell, as it stands in the summary."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from loadgen.analysis.measured.cell import cell
from loadgen.analysis.measured.trial import Trial
from loadgen.analysis.measured.work_class import agents_by_class, of_class
from loadgen.records.model import Outcome

__all__ = ["class_entries", "with_attainment"]


def class_entries(tried: Sequence[Trial], valid: Sequence[Trial], *, off: bool) -> list[dict[str, Any]]:
    """An entry for each class of a mix in a cell, in the order of their agents; none without a mix.

    `name` and `agents` say which and how many, `attainment` is the share of its requests that kept every limit of its
    objective (see `with_attainment`), and everything else is called and computed as of a cell: rates and latencies of
    the valid trials, outcomes of all. What only the server's counters tell is null, for they don't tell classes apart.
    `off`: the variant doesn't draft.
    """
    agents = agents_by_class([request for trial in tried for request in trial.requests])
    return [
        {
            "name": name,
            "agents": count,
            **cell(of_class(valid, name), off=off),
            "attainment": None,
            **_outcomes(tried, name),
        }
        for name, count in agents.items()
    ]


def with_attainment(
    cells: Sequence[Mapping[str, Any]], goodput: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The cells with the attainment of their classes, from the entries of `goodput`; null where none was asked for."""
    shares = {
        (entry["variant"], entry["concurrency"], one["work_class"]): one["requests"]["attainment"]
        for entry in goodput
        for one in entry.get("classes", ())
    }
    return [
        {
            **entry,
            "classes": [
                {**one, "attainment": shares.get((entry["variant"], entry["concurrency"], one["name"]))}
                for one in entry["classes"]
            ],
        }
        for entry in cells
    ]


def _outcomes(tried: Sequence[Trial], name: str) -> dict[str, Any]:
    counts = Counter([request.outcome for trial in tried for request in trial.measured if request.work_class == name])
    return {
        "outcomes": {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]},
        "started": counts.total(),
    }
