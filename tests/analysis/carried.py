"""Runs whose variants do a known number of tasks per hour, with known times to the first token, at every level."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.capacity.capacity import Asked, capacity_of
from loadgen.analysis.capacity.limit import parse_limits
from loadgen.analysis.capacity.servers import Demand
from loadgen.records.model import RequestRecord, Sample, TrialRecord
from loadgen.records.output_check import OutputCheck
from loadgen.records.run import Run
from tests.analysis.conftest import Maker
from tests.records.make import journal

MAKE = Maker()


@dataclass(frozen=True)
class Cell:
    """A variant at a level: tasks per hour of each round, and the times to the first token, in turn over its requests.

    Each agent plays so many `sessions` of one turn; the first `failed` requests of a round fail. `alive`: its server is
    there at the end of every trial.
    """

    rates: Sequence[float]
    ttft: Sequence[float] = (0.1,)
    sessions: int = 20
    failed: int = 0
    alive: bool = True


def carried(
    cells: Mapping[tuple[str, int], Cell],
    *,
    slots: int | None = 64,
    checks: Sequence[OutputCheck] = (),
    samples: Sequence[Sample] = (),
    **experiment: Any,
) -> Run:
    """A finished run of these cells; the first variant is the baseline."""
    names = list(dict.fromkeys(name for name, _ in cells))
    trials: list[TrialRecord] = []
    requests: list[RequestRecord] = []
    for (variant, level), cell in cells.items():
        for number, rate in enumerate(cell.rates, start=1):
            place: dict[str, Any] = {"trial": f"r{number}-{variant}-c{level}", "round": number, "variant": variant}
            each = 3600 * level / rate
            segments = [(0.0, cell.sessions * each)] * level
            trials.append(
                MAKE.record(segments=segments, order=len(trials), server_alive=cell.alive, level=level, **place)
            )
            requests += _requests(cell, level, each, place)
    return Run(
        manifest=MAKE.manifest(names, **experiment),
        starts=[MAKE.start(name, slots=slots) for name in names],
        trials=trials,
        requests=requests,
        checks=list(checks),
        samples=list(samples),
        journal=[journal("started"), journal("complete")],
    )


def _requests(cell: Cell, level: int, each: float, place: Mapping[str, Any]) -> list[RequestRecord]:
    out = []
    for number in range(level * cell.sessions):
        agent, turn = number % level, number // level
        start = turn * each
        own = {"agent": agent, "session": f"{place['trial']}.{number}", "level": level, **place}
        if number < cell.failed:
            out.append(MAKE.failed(start=start, end=start + each, **own))
        else:
            first = start + cell.ttft[number % len(cell.ttft)]
            out.append(MAKE.request(start=start, first=first, last=start + each, **own))
    return out


SLO = "ttft_p95<2s"
STEADY = (100.0, 101.0, 99.0)
"""Tasks per hour of three rounds."""
FORTY = Demand(agents=40)


def found(run: Run, slo: str | None = SLO, *, demand: Demand = FORTY, **asked: Any) -> dict[str, Any]:
    """The document with its only part, through a strict JSON encoder."""
    limits = None if slo is None else parse_limits(slo)
    document = MAKE.strict_json(capacity_of(run, Asked(limits=limits, demand=demand, **asked)))
    assert isinstance(document, dict)
    (part,) = document["parts"]
    return {**document, **part}


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    """One variant's."""
    (one,) = [one for one in document["variants"] if one["variant"] == name]
    assert isinstance(one, dict)
    return one


def times(factor: float) -> list[float]:
    """Rates of three rounds, so many times those of `STEADY`."""
    return [rate * factor for rate in STEADY]


TWO = {
    ("off", 4): Cell(times(1.0), (1.0,)),
    ("mtp", 4): Cell(times(1.5), (0.5,)),
    ("off", 16): Cell(times(2.0), (4.0,)),
    ("mtp", 16): Cell(times(4.0), (1.0,)),
}
"""`off` crosses 2 s halfway from 4 to 16 agents, `mtp` never does and does more everywhere."""
