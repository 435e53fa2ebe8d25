"""Rules of growth: a leak raises the alarm, what grows to a limit or only wavers doesn't."""

import math
import random
import subprocess
import sys
from collections.abc import Callable

import pytest

from loadgen.analysis.estimators.intervals import Estimate
from loadgen.analysis.memory.growth import Growth, growth, leaks, lives, without
from loadgen.analysis.memory.series import Point
from loadgen.telemetry.process_memory import ProcessMemory

MIB = 1 << 20
GIB = 1 << 30
PERIOD_S = 2
HOUR_S = 3600


def points(
    seconds: int, value: Callable[[float], float], *, begin: float = 0.0, trial: str | None = "t"
) -> list[Point]:
    """A reading every two seconds."""
    times = range(0, seconds, PERIOD_S)
    return [Point(round((begin + at) * 1e9), value(at), trial) for at in times]


def flat(seconds: int, mib: float, *, begin: float, trial: str) -> list[Point]:
    """Readings that don't move."""
    return points(seconds, lambda _: mib * MIB, begin=begin, trial=trial)


def alarm(process: list[Point], *, allowance: float | None = 0.0) -> bool | None:
    """Whether one process leaks."""
    found = growth([process], {"t": 4})
    return leaks(found, peak=max(point.value for point in process), allowance=allowance)


def trials(seconds: int, value: Callable[[float], float], *, count: int) -> tuple[list[Point], dict[str, int]]:
    """One process in equal trials, and the concurrency of each."""
    cut = [
        Point(one.at_ns, one.value, f"t{count * number * PERIOD_S // seconds}")
        for number, one in enumerate(points(seconds, value))
    ]
    return cut, {f"t{number}": 4 for number in range(count)}


def wavering(seed: int, alike: float) -> dict[int, float]:
    """An hour of 4 GiB with noise of 8 MiB; `alike`: how much of it is left in the next reading."""
    chance = random.Random(seed)  # noqa: S311 - reproducible noise, no secret
    noise, out = chance.gauss(0, 8 * MIB), {}
    for at in range(0, HOUR_S, PERIOD_S):
        noise = alike * noise + chance.gauss(0, 8 * MIB * math.sqrt(1 - alike * alike))
        out[at] = 4 * GIB + noise
    return out


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("alike", "leak_mib"), [(0.0, 100), (0.99, 400)])
def test_a_leak_raises_the_alarm_and_noise_of_the_same_length_does_not(seed: int, alike: float, leak_mib: int) -> None:
    """The very same noise, with a leak and without; where it wanders over minutes a steady server may stay untold."""
    still = wavering(seed, alike)
    steady, levels = trials(HOUR_S, lambda at: still[int(at)], count=12)
    leaking, _ = trials(HOUR_S, lambda at: still[int(at)] + leak_mib * MIB * at / HOUR_S, count=12)
    judged = [leaks(growth([one], levels), peak=4 * GIB, allowance=0) for one in (steady, leaking)]
    assert judged[1] is True
    assert judged[0] is False or (alike > 0 and judged[0] is None)


def test_errors_that_follow_one_another_widen_the_interval() -> None:
    """The same 8 MiB up and down, trial by trial or three trials at a time: the latter tells less of a slope."""
    width = []
    for run in (1, 3):
        series = [
            point
            for number in range(24)
            for point in flat(150, 8.0 * (number // run % 2), begin=150 * number, trial=f"t{number}")
        ]
        found = growth([series], {f"t{number}": 4 for number in range(24)}).per_hour
        assert found.low is not None
        assert found.high is not None
        width.append(found.high - found.low)
    assert width[1] > 1.5 * width[0]


def test_the_slope_of_a_straight_line_is_exact() -> None:
    """1 MiB a second is 3600 MiB an hour, without an error: the interval is the value."""
    found = growth([points(600, lambda at: at * MIB)], {"t": 1})
    for bound in (found.per_hour.value, found.per_hour.low, found.per_hour.high):
        assert bound == pytest.approx(3600 * MIB)
    assert (found.per_hour.n, found.watched_s) == (6, 398.0)


def test_the_first_fill_is_no_leak() -> None:
    """What a server reaches within the first third of its time, and then holds, is its size."""
    assert alarm(points(3600, lambda at: min(at, 1190) * MIB)) is False
    assert alarm(points(3600, lambda at: at * MIB)) is True


def test_more_agents_are_no_leak() -> None:
    """Each concurrency writes to more slots than the one before: they are compared only with their equals."""
    one = [
        point
        for number, level in enumerate((1, 2, 4, 8))
        for point in flat(900, level * 100.0, begin=900 * number, trial=f"n{level}")
    ]
    found = growth([one], {f"n{level}": level for level in (1, 2, 4, 8)})
    assert (found.per_hour.value, leaks(found, peak=800 * MIB, allowance=0)) == (0.0, False)


def test_equal_trials_of_a_server_that_runs_on_are_compared_between_rounds() -> None:
    """A server that adds 10 MiB a round, and none within, leaks: 10 MiB in 200 s are 180 MiB an hour."""
    rounds = [
        point for number in range(12) for point in flat(200, number * 10.0, begin=200 * number, trial=f"r{number}")
    ]
    found = growth([rounds], {f"r{number}": 4 for number in range(12)})
    assert found.per_hour.value == pytest.approx(180 * MIB, rel=0.02)
    assert leaks(found, peak=120 * MIB, allowance=0) is True


def test_servers_that_are_started_anew_are_judged_within_their_lives() -> None:
    """Each start begins from its own size, and the last one being larger is no growth."""
    sizes = (900.0, 1000.0, 1100.0)
    series = [
        point for number, size in enumerate(sizes) for point in flat(600, size, begin=1000 * number, trial=f"r{number}")
    ]
    processes = lives(series, [round(-1e9), round(999e9), round(1999e9)])
    assert [len(one) for one in processes] == [300, 300, 300]
    found = growth(processes, {f"r{number}": 4 for number in range(3)})
    assert found.per_hour.value == 0.0


def test_what_caches_are_said_to_hold_is_taken_out() -> None:
    """A cache that fills by 1 MiB a second and is told of leaves nothing that grows."""
    life = points(3600, lambda at: (100 + at) * MIB)
    held = points(3600, lambda at: at * MIB)
    assert {point.value for point in without(life, held)} == {100.0 * MIB}
    assert without(life[:1], held[1:])[0].value == life[0].value
    assert alarm(without(life, held)) is False


def test_what_caches_may_hold_without_being_told_of_is_allowed_for() -> None:
    """A cache of unknown size explains any growth, one of 8 GiB less than that; 0.6 GiB can't be told from it."""
    life = points(1800, lambda at: at * MIB)
    assert [alarm(life, allowance=allowance) for allowance in (None, 8 * GIB, 500 * MIB)] == [None, None, True]


@pytest.mark.parametrize(
    ("low", "high", "watched_s", "expected"),
    [
        (None, None, 3600, None),  # too few batches
        (17, 30, 3600, True),
        (17, 30, 1800, None),  # 8.5 MiB seen: the allocator moves as much
        (40, 90, 1800, True),
        (15, 30, 3600, None),
        (-5, 15, 3600, False),
        (-5, 15, 1800, False),
        (-5, 15, 1200, None),  # 16 MiB an hour wouldn't stand out in 20 minutes
        (17, 30, 36000, True),  # judged by the hour, however long it was watched
        (8, 15, 36000, False),
    ],
)
def test_the_alarm_by_its_limits(
    low: float | None, high: float | None, watched_s: float, expected: bool | None
) -> None:
    """Of a peak of 1 GiB: 16 MiB an hour, in MiB below."""
    least, most = (None if bound is None else bound * MIB for bound in (low, high))
    found = Growth(Estimate(0.0, least, most, n=6), watched_s)
    assert leaks(found, peak=GIB, allowance=0.0) is expected


def test_of_a_large_server_one_percent_an_hour_counts() -> None:
    """100 GiB that grow by 1 GiB an hour are at the limit, and by 1.1 GiB above it."""
    for low, expected in ((1.0, None), (1.1, True)):
        found = Growth(Estimate(0.0, low * GIB, 2 * GIB, n=6), 3600)
        assert leaks(found, peak=100 * GIB, allowance=0.0) is expected


def test_readings_at_one_moment_have_no_slope() -> None:
    """Null, never 0."""
    found = growth([points(2, lambda _: 5.0)], {})
    assert (found.per_hour.value, found.per_hour.low) == (None, None)
    assert growth([], {}).per_hour.value is None


ALLOCATES = """
import sys
kept = []
for line in sys.stdin:
    kept = kept * (sys.argv[1] == "leak") + [b"x" * (1 << 20)]
    print(len(kept), flush=True)
"""


@pytest.mark.parametrize(("kind", "expected"), [("leak", True), ("steady", False)])
def test_a_process_that_leaks_on_purpose_is_told_from_one_that_does_not(kind: str, expected: bool) -> None:
    """Both allocate 1 MiB at each of 120 turns, taken to be 30 s apart; one keeps it."""
    with subprocess.Popen(
        [sys.executable, "-c", ALLOCATES, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        watched = ProcessMemory(child.pid)
        readings = []
        for turn in range(120):
            child.stdin.write("\n")
            child.stdin.flush()
            child.stdout.readline()
            resident, reason = watched.resident_bytes()
            assert resident is not None, reason
            readings.append(Point(turn * 30 * 10**9, float(resident), "t"))
    found = growth([readings], {"t": 1})
    assert leaks(found, peak=max(one.value for one in readings), allowance=0) is expected
    if expected:
        assert found.per_hour.value == pytest.approx(120 * MIB, rel=0.05)
