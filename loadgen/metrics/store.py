"""The samples of a run: what was counted, set and observed, by metric and labels.

The only registry: it knows the metrics of the table, and holds a bounded number of series of each. Updates come
from the event loop and from threads of telemetry; a scrape reads from threads of its own.
"""

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prometheus_client.core import Exemplar, Sample
from prometheus_client.core import Metric as Family

from loadgen.metrics.buckets import edges
from loadgen.metrics.table import METRICS, Kind, Metric

MOST_SERIES = 4096
"""Of one metric. 64 variants at 8 concurrencies in 6 phases stay below it; what comes beyond is left out, not grown."""
Labels = tuple[str, ...]

_TYPES = {Kind.COUNTER: "counter", Kind.HISTOGRAM: "histogram", Kind.INFO: "info"}


@dataclass
class Buckets:
    """The state of one histogram: how many values fell below each edge and above the one before it."""

    counts: list[int]
    sum: float = 0.0
    exemplars: dict[int, Exemplar] = field(default_factory=dict)
    """The last named value of a bucket, by its position."""

    def add(self, ordered: Sequence[float], bounds: Sequence[float]) -> None:
        """Count values, ascending, in the buckets with these upper bounds; one at a bound lies below it."""
        self.sum += sum(ordered)
        done, position = 0, bisect_left(bounds, ordered[0])
        while done < len(ordered):
            at = bisect_right(ordered, bounds[position], done) if position < len(bounds) else len(ordered)
            self.counts[position] += at - done
            done, position = at, position + 1

    def copy(self) -> "Buckets":
        """As it is now."""
        return Buckets(list(self.counts), self.sum, dict(self.exemplars))


Value = float | Buckets


class Store:
    """Holds the samples of one run.

    Args:
        metrics: the table.
        most: series that one metric may have.
    """

    def __init__(
        self,
        *,
        metrics: Sequence[Metric] = METRICS,
        most: int = MOST_SERIES,
    ) -> None:
        self.metrics = {one.name: one for one in metrics}
        self._most = most
        self._lock = threading.Lock()
        self._series: dict[str, dict[Labels, Value]] = {name: {} for name in self.metrics}
        self._changed: set[tuple[str, Labels]] = set()
        self.before_collect: Callable[[], None] = lambda: None
        """Called before a scrape is answered: brings up to date what is only read then."""

    def take_limits(self, limits: Mapping[str, Iterable[float]]) -> None:
        """Give histograms an edge at each limit of an objective (seconds, by field). Before anything is observed."""
        for name, metric in self.metrics.items():
            if metric.edges:
                found = edges(metric.edges, limits.get(metric.limit or "", ()))
                self.metrics[name] = replace(metric, edges=found)

    def count(self, name: str, labels: Labels, value: float = 1.0) -> None:
        """Add to a counter."""
        with self._lock:
            series = self._series[name]
            before = series.get(labels)
            if before is None and not self._has_room(series):
                return
            series[labels] = (before if isinstance(before, float) else 0.0) + value
            self._changed.add((name, labels))

    def set(self, name: str, labels: Labels, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            series = self._series[name]
            if labels in series or self._has_room(series):
                series[labels] = float(value)
                self._changed.add((name, labels))

    def state(self, name: str, labels: Labels, current: str | None) -> None:
        """Set a state: 1 for the current one, 0 for all others."""
        for one in self.metrics[name].states:
            self.set(name, (*labels, one), float(one == current))

    def observe(
        self, name: str, labels: Labels, values: Iterable[float], *, exemplar: Mapping[str, str] | None = None
    ) -> None:
        """Add values to a histogram; the largest of them is named by the exemplar."""
        ordered = sorted(values)
        if not ordered:
            return
        bounds = self.metrics[name].edges
        with self._lock:
            series = self._series[name]
            held = series.get(labels)
            if held is None:
                if not self._has_room(series):
                    return
                held = series[labels] = Buckets([0] * (len(bounds) + 1))
            if not isinstance(held, Buckets):
                raise TypeError(f"{name} is no histogram")
            held.add(ordered, bounds)
            if exemplar is not None:
                held.exemplars[bisect_left(bounds, ordered[-1])] = Exemplar(dict(exemplar), ordered[-1])
            self._changed.add((name, labels))

    def remove(self, name: str, labels: Labels) -> None:
        """Take out every series whose labels begin with these."""
        with self._lock:
            series = self._series[name]
            for one in [one for one in series if one[: len(labels)] == labels]:
                del series[one]

    def take_changes(self) -> list[tuple[str, Labels, Value]]:
        """The series that were touched since the last call, as they are now."""
        with self._lock:
            changed, self._changed = self._changed, set()
            found = [(name, labels, self._series[name].get(labels)) for name, labels in sorted(changed)]
        return [(name, labels, _copied(value)) for name, labels, value in found if value is not None]

    def everything(self) -> list[tuple[str, Labels, Value]]:
        """All series as they are now."""
        with self._lock:
            found = [(name, labels, value) for name, series in self._series.items() for labels, value in series.items()]
            return [(name, labels, _copied(value)) for name, labels, value in found]

    def value(self, name: str, labels: Labels) -> Value | None:
        """What a series holds now; null where it is absent."""
        with self._lock:
            found = self._series[name].get(labels)
            return None if found is None else _copied(found)

    def size(self) -> int:
        """How many series there are; a histogram counts as one."""
        return sum(map(len, self._series.values()))

    def collect(self) -> Iterator[Family]:
        """The families that have a sample, in the order of the table: what `prometheus_client` writes."""
        self.before_collect()
        for name, metric in self.metrics.items():
            with self._lock:
                series = [(labels, _copied(value)) for labels, value in self._series[name].items()]
            if series:
                yield _family(metric, series)

    def _has_room(self, series: Mapping[Labels, Value]) -> bool:
        return len(series) < self._most


def samples(metric: Metric, labels: Labels, value: Value) -> Iterator[Sample]:
    """The lines of one series, without timestamps."""
    named = dict(zip(metric.labels, labels, strict=True))
    if not isinstance(value, Buckets):
        yield Sample(metric.name, named, value)
        return
    below = 0
    for position, count in enumerate(value.counts):
        below += count
        edge = f"{metric.edges[position]}" if position < len(metric.edges) else "+Inf"
        yield Sample(f"{metric.name}_bucket", {**named, "le": edge}, below, None, value.exemplars.get(position))
    yield Sample(f"{metric.name}_count", named, below)
    yield Sample(f"{metric.name}_sum", named, value.sum)


def family_name(metric: Metric) -> str:
    """The metric's name without the ending that its kind gives to samples."""
    return metric.name.removesuffix({Kind.COUNTER: "_total", Kind.INFO: "_info"}.get(metric.kind, ""))


def family_type(metric: Metric, *, openmetrics: bool = True) -> str:
    """Its type. A state is a gauge: a state set of OpenMetrics would be labelled with the metric's own name."""
    if metric.kind is Kind.INFO and not openmetrics:
        return "gauge"
    return _TYPES.get(metric.kind, "gauge")


def _family(metric: Metric, series: Iterable[tuple[Labels, Value]]) -> Family:
    family = Family(family_name(metric), f"{metric.help}.", family_type(metric))
    for labels, value in series:
        family.samples.extend(samples(metric, labels, value))
    return family


def _copied(value: Value) -> Value:
    return value.copy() if isinstance(value, Buckets) else value
