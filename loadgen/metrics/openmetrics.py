"""A finished run as a file in OpenMetrics, with the times at which it happened: old runs appear in Grafana.

`promtool tsdb create-blocks-from openmetrics FILE DATA` makes blocks of it. The run is told once more, and looked at in
steps as a scraper would have done.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from loadgen.metrics.exposition import escaped, heads, values
from loadgen.metrics.recorder import Recorder
from loadgen.metrics.store import Labels, Store, Value, family_name, family_type
from loadgen.metrics.timeline import Timeline
from loadgen.records.run import Run

_KEEP_S = 120.0
"""A series without a point for 5 minutes is gone to Prometheus: unchanged ones are repeated more often than that."""
_STEPS = 500
_LEAST_S, _MOST_S = 1.0, 60.0
_NEXT_S = 0.001
"""Prometheus keeps milliseconds."""

_Points = dict[str, dict[Labels, list[tuple[float, Value]]]]


def default_step_s(seconds: float) -> float:
    """Seconds between two points, for a run of so many: some 500 points in whole seconds, from 1 s to 60 s."""
    return float(min(max(math.ceil(seconds / _STEPS), _LEAST_S), _MOST_S))


def openmetrics(run: Run, summary: Mapping[str, Any] | None, step_s: float | None = None) -> Iterator[str]:
    """The lines of the file, each with its end. Points of a series are in the order of time; the last is the run's end.

    Args:
        run: the run.
        summary: its results, which stand at its end; null: none.
        step_s: seconds between two points; null: `default_step_s`.
    """
    store = Store()
    recorder = Recorder(store)
    timeline = Timeline(run, recorder)
    points = _points(timeline, recorder, summary, step_s or default_step_s(timeline.end_s - timeline.start_s))
    for name, metric in store.metrics.items():
        if points[name]:
            yield f"# HELP {family_name(metric)} {escaped(metric.help)}.\n"
            yield f"# TYPE {family_name(metric)} {family_type(metric)}\n"
        for labels, found in points[name].items():
            before = heads(metric, labels)
            for at_s, value in found:
                yield from (f"{head}{one!r} {at_s:.3f}\n" for head, one in zip(before, values(value), strict=True))
    yield "# EOF\n"


def _points(timeline: Timeline, recorder: Recorder, summary: Mapping[str, Any] | None, step_s: float) -> _Points:
    store = recorder.store
    points: _Points = {name: {} for name in store.metrics}
    at_s, kept_s = timeline.start_s, -math.inf
    while at_s < timeline.end_s:
        timeline.tell(at_s)
        recorder.refresh()
        is_due = at_s - kept_s >= _KEEP_S
        kept_s = at_s if is_due else kept_s
        _take(points, at_s, store, everything=is_due)
        at_s += step_s
    timeline.tell(math.inf)
    if summary is not None:
        recorder.results(summary)
    recorder.ended(timeline.end_s)
    _take(points, max(timeline.end_s, at_s - step_s + _NEXT_S), store, everything=True)
    return points


def _take(points: _Points, at_s: float, store: Store, *, everything: bool) -> None:
    changes = store.take_changes()
    for name, labels, value in store.everything() if everything else changes:
        points[name].setdefault(labels, []).append((at_s, value))
