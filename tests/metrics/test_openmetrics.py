"""Rules of the file that brings a finished run into Prometheus."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from loadgen.analysis.summary import summarise
from loadgen.metrics.openmetrics import default_step_s, openmetrics
from loadgen.records.manifest import JournalEntry, Plan, PlannedTrial
from loadgen.records.model import Phase
from loadgen.records.model import Sample as Reading
from loadgen.records.run import Run
from tests.analysis.conftest import Maker

MAKE = Maker()
START = 1_767_225_600
"""The manifest's 2026-01-01 00:00:00 UTC, at 0 s of the monotonic clock."""
_PLACE: dict[str, Any] = {"trial": "r1-mtp-c2", "variant": "mtp", "level": 2, "round": 1}


def run() -> Run:
    """A trial of `mtp` from 10 to 400 s with a request every 30 s of each of two agents, each taking 20 s."""
    requests = [
        MAKE.request(
            **_PLACE, agent=agent, session=f"s{agent}.{begin}", ready=max(begin - 10.0, 10.0),
            start=float(begin), first=begin + 2.0,
            last=begin + 20.0,
            phase=Phase.SEGMENT,
        )
        for begin in range(10, 400, 30)
        for agent in range(2)
    ]  # fmt: skip
    record = MAKE.record(segments=[(10.0, 390.0)] * 2, **_PLACE, start_ns=10 * 10**9, measured_ns=10 * 10**9)
    planned = PlannedTrial(trial="r1-mtp-c2", round=1, variant="mtp", level=2, order=0, turns_per_agent=13, short=False)
    return Run(
        manifest=MAKE.manifest(["off", "mtp"], series="nightly", slo={"ttft_s": 2.5}),
        plan=Plan(rounds=1, trials=[planned], dropped_levels=[], estimated_s=400.0, turn_s={}),
        starts=[MAKE.start("off"), MAKE.start("mtp")],
        trials=[record],
        requests=sorted(requests, key=lambda one: one.end_ns),
        samples=[
            Reading(run="run", trial="r1-mtp-c2", variant="mtp", at_ns=at * 10**9, source="x", name="used_bytes",
                    value=1e9 + at, device="GPU-1")
            for at in range(10, 390, 10)
        ],
        journal=[JournalEntry(at_ns=420 * 10**9, what="complete")],
    )  # fmt: skip


@pytest.fixture(scope="module")
def text() -> str:
    """The whole file, a point every 5 s."""
    facts = run()
    return "".join(openmetrics(facts, summarise(facts), 5.0))


@dataclass(frozen=True)
class Point:
    """One line of the file."""

    at_s: float
    """Seconds of the run."""
    value: float


Series = dict[tuple[str, frozenset[tuple[str, str]]], list[Point]]
_LINE = re.compile(r"(\w+)\{(.*)\} (\S+) (\d+\.\d{3})")


@pytest.fixture(scope="module")
def series(text: str) -> Series:
    """The points of each series in the order of the file, by name and labels."""
    found: Series = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            read = _LINE.fullmatch(line)
            assert read is not None, line
            labels = frozenset(re.findall(r'(\w+)="([^"]*)"', read[2]))
            found.setdefault((read[1], labels), []).append(Point(float(read[4]) - START, float(read[3])))
    return found


def only(told: Series, name: str, **labels: str) -> list[Point]:
    """The one series of a name that has these labels."""
    (found,) = [held for (one, named), held in told.items() if one == name and labels.items() <= dict(named).items()]
    return found


def by_time(points: Iterable[Point]) -> dict[float, float]:
    """Values by second of the run."""
    return {round(point.at_s, 3): point.value for point in points}


def test_the_file_is_whole_and_in_groups(text: str, series: Series) -> None:
    """Each metric is described once, its lines stand together, and the last line says that the file is whole."""
    assert text.endswith("\n# EOF\n")
    described = re.findall(r"^# TYPE (\S+) \w+$", text, re.MULTILINE)
    assert len(described) == len(set(described))
    names = [
        re.sub(r"_(total|info|bucket|count|sum)$", "", name) for name in re.findall(r"^(\w+)\{", text, re.MULTILINE)
    ]
    order = [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]
    assert order == described
    assert series


def test_times_increase_within_each_series(series: Series) -> None:
    """No point twice, none before another; and none outside of the run."""
    for held in series.values():
        times = [point.at_s for point in held]
        assert times == sorted(set(times))
        assert 0 <= times[0] <= times[-1] <= 420


def test_counters_grow_when_it_happened(series: Series) -> None:
    """The first two requests end at 30 s, the next two at 60 s: the points between tell 2, those before 0."""
    at = by_time(only(series, "loadgen_requests_total", variant="mtp", outcome="ok", phase="segment"))
    assert (at[10.0], at[30.0], at[60.0], at[420.0]) == (0, 2, 4, 26)


def test_no_gap_is_longer_than_prometheus_looks_back(series: Series) -> None:
    """A series that doesn't change is repeated within 5 minutes, up to the run's end."""
    times = list(by_time(only(series, "loadgen_server_slots", variant="mtp")))
    assert times[-1] == 420
    assert max(after - before for before, after in pairwise(times)) <= 300


def test_gauges_of_the_moment_are_those_of_the_records(series: Series) -> None:
    """Two requests are in flight from 10 to 30 s and none at 35 s; memory has the last reading of each point."""
    at = by_time(only(series, "loadgen_requests_in_flight", variant="mtp"))
    assert (at[15.0], at[35.0], at[420.0]) == (2, 0, 0)
    memory = by_time(only(series, "loadgen_memory_used_bytes", device="GPU-1"))
    assert memory[100.0] == 1e9 + 100
    assert max(memory) < 420


def test_the_end_has_the_figures_of_the_report(series: Series) -> None:
    """The last points are the results, at the time when the run ended, with the edge of the objective."""
    (cell,) = summarise(run())["cells"]
    held = by_time(only(series, "loadgen_requests_per_hour", variant="mtp"))
    assert held == {420.0: cell["requests_per_hour"]["value"]}
    bucket = only(series, "loadgen_time_to_first_token_seconds_bucket", variant="mtp", le="2.5")[-1]
    assert bucket.value == 26
    assert by_time(only(series, "loadgen_run_end_timestamp_seconds", series="nightly")) == {420.0: START + 420}


def test_equal_runs_make_equal_files(text: str) -> None:
    """Nothing of now, and no order by chance, gets into the file."""
    facts = run()
    assert "".join(openmetrics(facts, summarise(facts), 5.0)) == text


def test_a_run_that_broke_off_has_what_it_has() -> None:
    """Without a plan, a trial's record or an end: requests keep their phase, and the file is whole."""
    facts = run()
    cut = Run(manifest=facts.manifest, starts=facts.starts, requests=facts.requests[:4])
    text = "".join(openmetrics(cut, None))
    assert re.search(r'outcome="ok",phase="segment".*} 4.0 ', text)
    assert text.endswith("# EOF\n")
    assert "".join(openmetrics(Run(manifest=facts.manifest), None)).count("loadgen_run_info{") == 1


@pytest.mark.parametrize(("run_s", "step_s"), [(3, 1), (500, 1), (900, 2), (3600, 8), (1_000_000, 60)])
def test_points_are_some_five_hundred(run_s: float, step_s: float) -> None:
    """In whole seconds; never more than a minute apart, so that nothing is gone between them."""
    assert default_step_s(run_s) == step_s
