"""What a server must keep: limits on percentiles of latencies, and an objective on the share of good attempts.

    ttft_p95<2s,tpot_p95<80ms,task_p95<5m      at most so much at that percentile
    ttft=2s,tpot=80ms,attainment=95%           a limit for each request, kept by so many of them: an objective

Both may stand in one text. `<`, `<=` and `=` mean the same, and so do `ttft_p95` and `ttft.p95`. Of a mix
`chat:ttft_p95<2s` is for the class that is called chat, and a limit without a class is for each of them.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loadgen.analysis.criteria.threshold import Metric, parse_threshold
from loadgen.analysis.measured.attempt import TASK
from loadgen.experiment.slo import Slo, parse_slo
from loadgen.units import parse_duration_s

_TEXT = re.compile(
    r"(?:(?P<work_class>[^:<>=]+):)?\s*"
    r"(?P<name>[A-Za-z][A-Za-z_-]*?)(?:_s)?[._](?P<quantile>p[0-9.]+|max)\s*(?P<op><=|>=|=|<|>)\s*(?P<limit>.*)"
)
_NAMES = {"request": "e2e"}
"""A whole request is called so in an objective, and its time end-to-end latency in a threshold."""


@dataclass(frozen=True)
class QuantileLimit:
    """A limit on one percentile (or the maximum) of a latency, in seconds; `text` is as it was written.

    `work_class` is the class of a mix that it is for; null: each of them.
    """

    text: str
    metric: Metric
    limit_s: float
    work_class: str | None = None

    @property
    def is_of_tasks(self) -> bool:
        """Whether it is about whole tasks, which trials shorter than a task never see."""
        return self.metric.key == TASK


@dataclass(frozen=True)
class Limits:
    """All that must be kept. Without any only what was measured bounds a server."""

    quantiles: tuple[QuantileLimit, ...] = ()
    slo: Slo | None = None

    @property
    def for_goodput(self) -> Slo | None:
        """The objective that goodput is to be computed with.

        A percentile of whole tasks needs one too: goodput estimates the mean time of a task from its turns.
        """
        if self.slo is not None:
            return self.slo
        tasks = [one.limit_s for one in self.quantiles if one.is_of_tasks]
        return Slo(task_s=min(tasks)) if tasks else None

    @property
    def classes(self) -> set[str]:
        """The classes of a mix that limits name."""
        of_slo = set(self.slo.classes or ()) if self.slo is not None else set()
        return {one.work_class for one in self.quantiles if one.work_class is not None} | of_slo

    def as_json(self) -> dict[str, Any] | None:
        """`{"percentiles": [{"limit", "metric", "work_class", "asked_s"}], "objective": {…}}`; null without a limit."""
        if not self.quantiles and self.slo is None:
            return None
        return {
            "percentiles": [
                {"limit": one.text, "metric": one.metric.name, "work_class": one.work_class, "asked_s": one.limit_s}
                for one in self.quantiles
            ],
            "objective": None if self.slo is None else self.slo.model_dump(mode="json"),
        }


def parse_limits(text: str) -> Limits:
    """The limits in a text. Raises `ValueError` with what is wrong with it."""
    quantiles: dict[tuple[str | None, str], QuantileLimit] = {}
    rest: list[str] = []
    for part in text.split(","):
        found = _TEXT.fullmatch(part.strip())
        if found is None:
            rest.append(part)
            continue
        one = _quantile_limit(part.strip(), found)
        if (one.work_class, one.metric.name) in quantiles:
            raise ValueError(f"{one.metric.name} is given twice")
        quantiles[one.work_class, one.metric.name] = one
    return Limits(tuple(quantiles.values()), parse_slo(",".join(rest)) if rest else None)


def recorded_limits(experiment: Mapping[str, Any]) -> Limits:
    """The limits that a run (its experiment as published) was made with."""
    asked = experiment.get("slo")
    return Limits() if asked is None else Limits(slo=Slo(**asked))


def _quantile_limit(text: str, found: re.Match[str]) -> QuantileLimit:
    if ">" in found["op"]:
        raise ValueError(f"{text!r} bounds a time from below; write {found['name']}_{found['quantile']}<TIME")
    name = found["name"].lower().replace("-", "_")
    metric = parse_threshold(f"{_NAMES.get(name, name)}.{found['quantile']}<=1s").metric
    limit_s = parse_duration_s(found["limit"])
    if not 0 < limit_s < math.inf:
        raise ValueError(f"{text!r}: a limit is a time above 0")
    work_class = found["work_class"]
    return QuantileLimit(text, metric, limit_s, None if work_class is None else work_class.strip())
