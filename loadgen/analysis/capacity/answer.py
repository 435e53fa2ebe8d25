"""The variant to run for a load, and why no other: the fewest servers that surely are enough, then most tasks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from loadgen.analysis.capacity.best import Pick, Rivals, Stands, pick
from loadgen.analysis.capacity.largest import Largest
from loadgen.analysis.capacity.servers import Demand, Servers
from loadgen.analysis.decision.objective_text import percent
from loadgen.analysis.estimators.comparison import Call
from loadgen.analysis.wording import count


@dataclass(frozen=True)
class Candidate:
    """A variant that may be recommended: the agents that it carries, and the servers that the load takes.

    `level` is the largest measured level among those agents: there tasks per hour are compared.
    """

    name: str
    largest: Largest
    servers: Servers
    level: int | None


def answer(demand: Demand, candidates: Sequence[Candidate], rivals: Rivals, baseline: str) -> dict[str, Any] | None:
    """`{"keep", "call", "among", "servers", "misses", "not_told", "text"}`; null where nobody asked for servers.

    A variant goes before another where the servers that surely are enough for it are no more than the other can do
    with. Where both take the same number, that which does more tasks per hour goes first, by the run's own calls.
    `servers` are those to run, spare ones included. Variants that surely keep the limits nowhere are in `misses`, those
    for which no number surely is enough in `not_told`.
    """
    if not demand.is_asked:
        return None
    told = {one.name: one for one in candidates if one.servers.most is not None}
    misses = [one.name for one in candidates if one.largest.is_nowhere]
    not_told = [one.name for one in candidates if one.name not in told and one.name not in misses]
    found = pick(
        list(told), baseline, {(a.name, b.name): _call(a, b, rivals) for a, b in combinations(told.values(), 2)}
    )
    kept = None if found.keep is None else told[found.keep].servers.most
    return {
        "keep": found.keep,
        "call": (Stands.UNRESOLVED if not told and not_told else found.stands).value,
        "among": list(found.among),
        "servers": None if kept is None else kept + demand.spare,
        "misses": misses,
        "not_told": not_told,
        "text": " ".join(
            [
                _advice(demand, found, told, none_told=bool(not_told), none_kept=bool(misses)),
                *([f"{' and '.join(misses)}: the limits are kept at no measured level."] if misses else []),
                *([f"How many servers {' and '.join(not_told)} would take can't be told."] if not_told else []),
            ]
        ),
    }


def range_text(fewest: int | None, most: int | None) -> str:
    """`4`, `3 to 5`, or `5 at most` where fewer may do."""
    if most is None:
        return "n/a"
    if fewest is None:
        return f"{most:,} at most"
    return f"{most:,}" if most == fewest else f"{fewest:,} to {most:,}"


def _call(one: Candidate, other: Candidate, rivals: Rivals) -> Call:
    """`pays` where the first of two goes before the other."""
    mine, theirs = one.servers, other.servers
    if mine.most == theirs.most and mine.fewest == theirs.fewest:
        level = None if one.level is None or other.level is None else min(one.level, other.level)
        return Call.UNRESOLVED if level is None else rivals.call(one.name, other.name, level)
    if mine.most is not None and theirs.fewest is not None and mine.most <= theirs.fewest:
        return Call.PAYS
    if theirs.most is not None and mine.fewest is not None and theirs.most <= mine.fewest:
        return Call.COSTS
    return Call.UNRESOLVED


def _advice(demand: Demand, found: Pick, told: dict[str, Candidate], *, none_told: bool, none_kept: bool) -> str:
    load = f"{_load(demand)} with {percent(demand.headroom)} headroom"
    if found.keep is not None:
        most = told[found.keep].servers.most or 0
        alike = [name for name in found.among if name != found.keep]
        same = f" {' and '.join(alike)} would do as well." if alike else ""
        lost = f", and {demand.spare:,} may be lost" if demand.spare else ""
        return f"Run {found.keep} on {_servers(most + demand.spare)}: {most:,} carry {load}{lost}.{same}"
    ranges = {name: range_text(told[name].servers.fewest, told[name].servers.most) for name in found.among}
    if len(set(ranges.values())) == 1:
        return (
            f"{' and '.join(found.among)} take as many servers for {load} ({ranges[found.among[0]]}, without spare "
            f"ones); which of them does more tasks per hour is unresolved."
        )
    if ranges:
        each = ", ".join(f"{name} {text}" for name, text in ranges.items())
        names = " or ".join(found.among)
        return f"Whether {names} takes fewer servers for {load} is unresolved ({each}, without spare ones)."
    if none_told or none_kept:
        return f"Nothing can be recommended for {load}."
    return "No variant may be recommended."


def _load(demand: Demand) -> str:
    if demand.agents is not None:
        return f"{demand.agents:,} agent{'' if demand.agents == 1 else 's'}"
    return "" if demand.tasks_per_hour is None else f"{count(demand.tasks_per_hour)} tasks per hour"


def _servers(number: int) -> str:
    return "1 server" if number == 1 else f"{number:,} servers"
