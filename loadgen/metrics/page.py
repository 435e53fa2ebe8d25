"""The page that documents the metrics: `python -m loadgen.metrics.page > dashboards/metrics.md`."""

import sys
from collections.abc import Iterable

from loadgen.metrics.table import METRICS, Kind, Metric

_HEAD = """# Metrics

Made from `loadgen/metrics/table.py` by `python -m loadgen.metrics.page`; a test holds the two equal.

`loadgen sweep`, `ab` and `gate` serve these with `--metrics 127.0.0.1:9464`, push their final values with
`--push-gateway URL`, and write them with `--metrics-textfile DIR`; `loadgen export openmetrics RUN` writes those of a
finished run with their true times. What was not measured has no series: nothing here is 0 for want of a value.

- `series` is the name of a comparison that repeats (`--series`, else the model's alias); the run's own id is a label of
  `loadgen_run_info` alone. `concurrency` is the number of agents. In a run with fixed prompt depths `workload` is
  `NAME@TOKENS`. Labels are at most 64 characters long: longer ones end in a digest.
- Histograms hold what the report's latencies rest on: requests of measured segments that ended well, pilots and the
  repeated first trial left out. They have an edge at each limit of `--slo`. Counters hold the requests of all phases.
- Gauges of the moment (agents, in flight, phase) go to 0 when a trial ends, those that only a server or a device can
  tell disappear. Results appear at looks during the run, and at its end.
- Exemplars (OpenMetrics) name trial, agent and turn of the slowest request of a bucket.
"""


def page() -> str:
    """The page in Markdown."""
    rows = "\n".join(map(_row, METRICS))
    return f"{_HEAD}\n| metric | type | labels | what it is | from |\n|---|---|---|---|---|\n{rows}\n\n{_edges()}"


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    states = f": {_listed(metric.states)}" if metric.states else ""
    kind = "state (gauges)" if metric.kind is Kind.STATE else metric.kind.value
    return f"| `{metric.name}` | {kind} | {labels} | {metric.help}{states} | {metric.source} |"


def _edges() -> str:
    """The buckets, once for each set of edges."""
    sets: dict[tuple[float, ...], list[str]] = {}
    for metric in METRICS:
        if metric.edges:
            sets.setdefault(metric.edges, []).append(metric.name)
    lines = [f"- {_listed(names)}: {', '.join(f'{edge:g}' for edge in found)}" for found, names in sets.items()]
    return "\n".join(["Buckets, in seconds, beside an edge at the limit of an objective:", "", *lines, ""])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.write(page())
