"""A cell of a variant, or what one class of a mix did in it, with its goodput."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """What is held against limits at one level: an entry of `cells`, and of `goodput` where there is one."""

    level: int
    cell: Mapping[str, Any]
    goodput: Mapping[str, Any] | None


def classes_in(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """The classes of a mix that have agents at any of these levels; none without a mix."""
    return list(dict.fromkeys(str(one["name"]) for cell in cells for one in cell["classes"]))


def places(summary: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], work_class: str | None) -> list[Place]:
    """The places of the cells of one variant; of a class only those where it has agents, with its own figures."""
    found = []
    for cell in cells:
        level = int(cell["concurrency"])
        entry = next(
            (
                one
                for one in summary["goodput"]
                if (one["variant"], one["concurrency"]) == (cell["variant"], cell["concurrency"])
            ),
            None,
        )
        if work_class is None:
            found.append(Place(level, cell, entry))
            continue
        own = next((one for one in cell["classes"] if one["name"] == work_class), None)
        if own is not None:
            parts = () if entry is None else entry["classes"]
            judged = next((one for one in parts if one["work_class"] == work_class), None)
            found.append(Place(level, {**cell, **own}, judged))
    return found
