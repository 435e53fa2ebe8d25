"""Whether memory keeps growing: the slope of what was watched, with its interval, and the alarm for a leak.

What grows on the way to a limit is no leak. Three things do, and each is taken out:

* The first fill: buffers are reserved at load but get their pages when they are first written, so a server grows in its
  first prompts. The first third of what was watched of each server process is left out.
* More agents write to more slots. Only equal work is compared: every server process and concurrency has a level of its
  own, and the slope is what is left within them. A server that runs on is so compared between equal trials of
  different rounds, one that is started for every block within its trials.
* Prompt cache and context checkpoints: the server's log tells what they hold, and that is subtracted at every moment.
  In runs of a llama-server whose process grew from 138 to 291 MiB in 30 s, what is left stayed within 180 to 183 MiB.

With noise of 8 MiB, alone or wandering over minutes, up to 2 of 100 steady servers raise the alarm; with noise of
30 MiB that wanders over minutes up to 10 of 100 do.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean

from loadgen.analysis.estimators.intervals import CONFIDENCE, Estimate, t_quantile
from loadgen.analysis.memory.series import Point
from loadgen.units import BYTES_PER_MIB, S_PER_HOUR, ns_to_s, per_hour

WARM_UP = 1 / 3
BATCHES = 6
"""Readings lie half a second apart and memory moves over seconds, so neighbours tell the same: a trial counts as the
means of 6 equal spans of time, not as hundreds of readings."""
MIN_FREEDOM = 3
ALLOCATOR_BYTES = 8 * BYTES_PER_MIB
"""By so much a llama-server's process was seen to move by its allocator alone."""
ALARM_BYTES = 2 * ALLOCATOR_BYTES
CACHE_OVERHEAD = 0.1
"""What caches take beyond what the log says they hold, as a share of it: up to 7 % were seen."""
ALARM_SHARE = 0.01
"""Of the peak an hour: the default margin of 5 % is then gone within five hours."""


_Group = list[tuple[float, float]]


@dataclass(frozen=True)
class Growth:
    """Bytes an hour (the estimate's `n` counts batches), and the seconds of the longest process that it rests on."""

    per_hour: Estimate
    watched_s: float


def lives(points: Sequence[Point], starts_ns: Sequence[int]) -> list[list[Point]]:
    """Points by server process: each belongs to the last start before it."""
    edges = sorted(starts_ns)
    found: dict[int, list[Point]] = {}
    for point in points:
        found.setdefault(bisect_right(edges, point.at_ns), []).append(point)
    return [found[number] for number in sorted(found)]


def without(life: Sequence[Point], held: Sequence[Point]) -> list[Point]:
    """The points of a server process less what was held at their times (0 before the first word of it)."""
    times = [one.at_ns for one in held]
    out = []
    for point in life:
        at = bisect_right(times, point.at_ns)
        out.append(Point(point.at_ns, point.value - (held[at - 1].value if at else 0.0), point.trial))
    return out


def growth(processes: Sequence[Sequence[Point]], levels: Mapping[str, int]) -> Growth:
    """The common slope within server processes and concurrencies, by least squares with a t interval.

    `levels`: the concurrency of each trial. Null without two batches of equal work at different times; no interval
    below 3 degrees of freedom.
    """
    groups: dict[tuple[int, int | None], _Group] = {}
    watched = 0.0
    for number, life in enumerate(processes):
        warm = _warm(life)
        watched = max(watched, ns_to_s(warm[-1].at_ns - warm[0].at_ns) if warm else 0.0)
        for trial in dict.fromkeys(point.trial for point in warm):
            level = levels.get(trial) if trial is not None else None
            groups.setdefault((number, level), []).extend(_batches([one for one in warm if one.trial == trial]))
    return Growth(per_hour=_slope(list(groups.values())), watched_s=watched)


def leaks(found: Growth, *, peak: float, allowance: float | None) -> bool | None:
    """Whether memory leaks: null where the run is too short or too noisy to tell.

    Yes: even the lower end of the interval makes more than 16 MiB and 1 % of the peak within the time watched, or
    within an hour where it was watched for longer. No: even the upper end makes less than that an hour, and it was
    watched for so long that so much would stand out from what the allocator does. `allowance`: bytes that caches may
    have taken meanwhile without being told of; null: any number.
    """
    low, high = found.per_hour.low, found.per_hour.high
    if low is None or high is None:
        return None
    limit, hours = max(ALARM_BYTES, ALARM_SHARE * peak), found.watched_s / S_PER_HOUR
    if allowance is not None and low * min(1.0, hours) - allowance > limit:
        return True
    return False if high <= limit and limit * hours >= ALLOCATOR_BYTES else None


def _warm(life: Sequence[Point]) -> list[Point]:
    """Of trials only, where there are any: between them a server may be gone, and what is left holds nothing."""
    life = [point for point in life if point.trial is not None] or life
    if not life:
        return []
    begin = life[0].at_ns + WARM_UP * (life[-1].at_ns - life[0].at_ns)
    return [point for point in life if point.at_ns >= begin]


def _batches(points: Sequence[Point]) -> list[tuple[float, float]]:
    """(seconds, bytes) means of equal spans of time."""
    begin, span = points[0].at_ns, points[-1].at_ns - points[0].at_ns
    spans: dict[int, list[Point]] = {}
    for point in points:
        spans.setdefault(min(BATCHES - 1, BATCHES * (point.at_ns - begin) // span) if span else 0, []).append(point)
    return [(fmean(ns_to_s(one.at_ns) for one in part), fmean(one.value for one in part)) for part in spans.values()]


def _slope(groups: Sequence[_Group]) -> Estimate:
    """Least squares within the groups.

    Errors that follow one another are alike, and so are worth less: of n of them with a correlation r between
    neighbours, n·(1 − r)/(1 + r) count (Santer et al. 2000, J. Geophys. Res. 105, 7337).
    """
    centred = []
    for number, group in enumerate(groups):
        at, mean = fmean(t for t, _ in group), fmean(y for _, y in group)
        centred += [(t, number, t - at, y - mean) for t, y in group]
    count = len(centred)
    across = sum(t * t for _, _, t, _ in centred)
    if across == 0:
        return Estimate(None, n=count, estimable=False)
    slope = sum(t * y for _, _, t, y in centred) / across
    errors = [y - slope * t for _, _, t, y in sorted(centred)]
    freedom = count - len(groups) - 1
    if freedom < MIN_FREEDOM:
        return Estimate(per_hour(slope, 1), n=count, estimable=False)
    alike = _neighbours(errors)
    worth = freedom * (1 - alike) / (1 + alike)
    error = sqrt(sum(one * one for one in errors) / worth / across)
    half = t_quantile((1 + CONFIDENCE) / 2, max(1, int(worth))) * error
    return Estimate(per_hour(slope, 1), per_hour(slope - half, 1), per_hour(slope + half, 1), count)


def _neighbours(errors: Sequence[float]) -> float:
    """The correlation of each error with the next, 0 where it is negative."""
    whole = sum(one * one for one in errors)
    return max(0.0, sum(one * two for one, two in pairwise(errors)) / whole) if whole > 0 else 0.0
