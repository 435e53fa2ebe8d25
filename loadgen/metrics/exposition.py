"""A store as the text that scrapers read: Prometheus' own format, and OpenMetrics for those who ask for it.

`prometheus_client` writes the same, fifty times slower: it escapes every label of every line letter by letter, in a
process that has tokens to read. Here what comes before a value is made once for each series.
"""

from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter

from loadgen.metrics.store import Buckets, Labels, Store, Value, family_name, family_type
from loadgen.metrics.table import Kind, Metric

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def escaped(text: str) -> str:
    """A label's value, or a help text, as both formats write it."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def heads(metric: Metric, labels: Labels) -> tuple[str, ...]:
    """What comes before the values of one series: of a histogram one a bucket, then those of count and sum."""
    named = sorted((name, escaped(value)) for name, value in zip(metric.labels, labels, strict=True))
    shown = ",".join(f'{name}="{value}"' for name, value in named)
    if metric.kind is not Kind.HISTOGRAM:
        return (f"{metric.name}{{{shown}}} ",)
    edges = [*map(repr, metric.edges), "+Inf"]
    buckets = (f'{metric.name}_bucket{{{shown},le="{edge}"}} ' for edge in edges)
    return (*buckets, f"{metric.name}_count{{{shown}}} ", f"{metric.name}_sum{{{shown}}} ")


def values(value: Value) -> list[float]:
    """The values that belong to these heads."""
    if not isinstance(value, Buckets):
        return [value]
    below, out = 0, []
    for count in value.counts:
        below += count
        out.append(float(below))
    return [*out, float(below), value.sum]


class Exposition:
    """Writes one store again and again. May be used by several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._heads: dict[tuple[str, Labels], tuple[str, ...]] = {}

    def text(self, *, openmetrics: bool = False, names: Collection[str] = ()) -> str:
        """The page as it is now, with `names` only samples of these names."""
        self._store.before_collect()
        lines: list[str] = []
        for name, series in groupby(self._store.everything(), itemgetter(0)):
            metric = self._store.metrics[name]
            found = [line for _, labels, value in series for line in self._lines(metric, labels, value, openmetrics)]
            if names:
                found = [line for line in found if line.partition("{")[0] in names]
            if found:
                title = family_name(metric) if openmetrics else metric.name
                kind = family_type(metric, openmetrics=openmetrics)
                lines += [f"# HELP {title} {escaped(metric.help)}.\n", f"# TYPE {title} {kind}\n", *found]
        return "".join([*lines, "# EOF\n"] if openmetrics else lines)

    def _lines(self, metric: Metric, labels: Labels, value: Value, openmetrics: bool) -> Iterator[str]:
        key = (metric.name, labels)
        known = self._heads.get(key)
        if known is None:
            known = self._heads[key] = heads(metric, labels)
        exemplars = value.exemplars if openmetrics and isinstance(value, Buckets) else {}
        for position, (head, number) in enumerate(zip(known, values(value), strict=True)):
            named = exemplars.get(position)
            if named is None:
                yield f"{head}{number!r}\n"
            else:
                shown = ",".join(f'{name}="{escaped(text)}"' for name, text in named.labels.items())
                yield f"{head}{number!r} # {{{shown}}} {named.value!r}\n"
