"""Thresholds: what must hold of a run, read from texts such as `ttft.p95@4<=2s`.

    [VARIANT:]METRIC[@AGENTS] >=|>|<=|< VALUE

Without VARIANT every variant but the baseline is held to it (a single variant itself), without AGENTS at every
concurrency of the run. Values have the unit of their metric: `2s`, `80ms` or a number of seconds, `20GiB` or a number
of bytes, `1%` or 0.01, and plain numbers for rates and lengths.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from loadgen.units import parse_duration_s, parse_size

_TEXT = re.compile(
    r"\s*(?:(?P<variant>[A-Za-z0-9][A-Za-z0-9._-]{0,63})\s*:)?\s*(?P<metric>[a-z][a-z0-9_.]*)\s*"
    r"(?:@\s*(?P<agents>[0-9]{1,6})\s*)?(?P<op>>=|<=|>|<)\s*(?P<value>[^<>=]+)"
)
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(%?)")
_EXAMPLE = "speedup@4>=0.97, ttft.p95<=2s or off:memory_peak<=20GiB"
_PERCENT = 100


class Op(StrEnum):
    """How a figure is to lie to its limit."""

    AT_LEAST = ">="
    ABOVE = ">"
    AT_MOST = "<="
    BELOW = "<"

    @property
    def is_floor(self) -> bool:
        """Whether more is better."""
        return self in (Op.AT_LEAST, Op.ABOVE)

    def holds(self, value: float, limit: float) -> bool:
        """Whether a value keeps the limit."""
        match self:
            case Op.AT_LEAST:
                return value >= limit
            case Op.ABOVE:
                return value > limit
            case Op.AT_MOST:
                return value <= limit
            case Op.BELOW:
                return value < limit


class Unit(StrEnum):
    """What a figure is counted in."""

    RATIO = "ratio"
    SHARE = "share"
    SECONDS = "seconds"
    BYTES = "bytes"
    NUMBER = "number"


class Source(StrEnum):
    """Where in a summary a figure stands."""

    RATIO = "ratio"
    """Against the baseline, paired by round: `comparisons` and `latency_comparisons`."""
    CELL = "cell"
    QUANTILE = "quantile"
    FAILURES = "failures"
    MEMORY = "memory"


@dataclass(frozen=True)
class Metric:
    """What a threshold's word stands for: `key` (and `quantile`) in the part `source` of a summary.

    `inverse`: the summary's ratio is of times, so that the speed-up is its inverse.
    """

    name: str
    source: Source
    key: str
    unit: Unit
    quantile: str | None = None
    inverse: bool = False


_QUANTILES = ("p50", "p90", "p95", "p99", "max")
_TIMES: Mapping[str, str] = {
    "ttft": "ttft_s",
    "ttfa": "ttfa_s",
    "tpot": "tpot_s",
    "tpot_server": "tpot_server_s",
    "e2e": "e2e_s",
    "task": "task_s",
    "queue_wait": "queue_wait_s",
    "prefill": "prefill_s",
    "step_gap": "step_gap_s",
}
"""Pooled latencies by their key in a cell; each takes a quantile: `ttft.p95`."""

METRICS: Mapping[str, Metric] = {
    one.name: one
    for one in (
        Metric("speedup", Source.RATIO, "tasks_per_hour", Unit.RATIO),
        Metric("speedup.requests_per_hour", Source.RATIO, "requests_per_hour", Unit.RATIO),
        Metric("speedup.output_tokens_per_s", Source.RATIO, "output_tokens_per_s", Unit.RATIO),
        Metric("speedup.ttft", Source.RATIO, "median_ttft_s", Unit.RATIO, inverse=True),
        Metric("speedup.tpot", Source.RATIO, "median_tpot_s", Unit.RATIO, inverse=True),
        Metric("tasks_per_hour", Source.CELL, "tasks_per_hour", Unit.NUMBER),
        Metric("requests_per_hour", Source.CELL, "requests_per_hour", Unit.NUMBER),
        Metric("output_tokens_per_s", Source.CELL, "output_tokens_per_s", Unit.NUMBER),
        Metric("acceptance_rate", Source.CELL, "acceptance_rate", Unit.SHARE),
        Metric("acceptance_length", Source.CELL, "acceptance_length", Unit.NUMBER),
        Metric("tokens_per_step", Source.CELL, "tokens_per_step", Unit.NUMBER),
        Metric("redone_prefill", Source.CELL, "redone_prefill_share", Unit.SHARE),
        Metric("failures", Source.FAILURES, "outcomes", Unit.SHARE),
        Metric("memory_peak", Source.MEMORY, "peak_bytes", Unit.BYTES),
        Metric("memory_margin", Source.MEMORY, "margin_bytes", Unit.BYTES),
    )
} | {
    f"{name}.{quantile}": Metric(f"{name}.{quantile}", Source.QUANTILE, key, Unit.SECONDS, quantile)
    for name, key in _TIMES.items()
    for quantile in _QUANTILES
}
"""A speed-up above 1 is better: of rates variant ÷ baseline, of times baseline ÷ variant."""


@dataclass(frozen=True)
class Threshold:
    """A limit on one metric. `text` is as it was written; `limit` is in seconds, bytes, or shares of 1."""

    text: str
    variant: str | None
    metric: Metric
    agents: int | None
    op: Op
    limit: float


def parse_threshold(text: str) -> Threshold:
    """The threshold in a text. Raises `ValueError` with what is wrong with it."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"not [VARIANT:]METRIC[@AGENTS]>=VALUE, such as {_EXAMPLE} (>=, >, <= or <)")
    metric = _metric(found["metric"])
    agents = int(found["agents"]) if found["agents"] is not None else None
    if agents == 0:
        raise ValueError("concurrency starts at 1")
    if agents is not None and metric.source is Source.MEMORY:
        raise ValueError(f"{metric.name} is of a variant over the whole run: leave out @{agents}")
    limit = _VALUES[metric.unit](found["value"].strip())
    if not isfinite(limit):
        raise ValueError(f"{found['value'].strip()[:20]} is no number")
    if metric.unit is Unit.RATIO and limit <= 0:
        raise ValueError(f"{metric.name} is a ratio, and its limit lies above 0")
    return Threshold(text.strip(), found["variant"], metric, agents, Op(found["op"]), limit)


def _metric(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    begin, _, rest = name.partition(".")
    if begin in _TIMES:
        what = f"{rest!r} is none" if rest else "it lacks one"
        raise ValueError(f"{begin} takes a quantile, such as {begin}.p95, and {what}: {', '.join(_QUANTILES)}")
    plain = [one.name for one in METRICS.values() if one.source is not Source.QUANTILE]
    times = f"and with a quantile ({', '.join(_QUANTILES)}) {', '.join(_TIMES)}"
    raise ValueError(f"{name!r} is no metric; there are {', '.join(plain)}; {times}")


def _number(text: str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None or found[2]:
        raise ValueError(f"{text!r} is no number")
    return float(found[1])


def _share(text: str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no share such as 0.97 or 97%")
    return float(found[1]) / (_PERCENT if found[2] else 1)


_VALUES: Mapping[Unit, Callable[[str], float]] = {
    Unit.RATIO: _share,
    Unit.SHARE: _share,
    Unit.SECONDS: parse_duration_s,
    Unit.BYTES: parse_size,
    Unit.NUMBER: _number,
}
