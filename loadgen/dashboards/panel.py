"""What a dashboard shows, as plain data: panels with their questions to Prometheus, and the variables they share."""

from dataclasses import dataclass, field
from enum import StrEnum

SELECTED = 'series=~"$series", workload=~"$workload", variant=~"$variant"'
"""The label filter that the variables of a dashboard make."""
CELL = "variant, concurrency"


class View(StrEnum):
    """How a panel shows its answers."""

    LINES = "timeseries"
    STAT = "stat"
    TABLE = "table"
    HEATMAP = "heatmap"
    STATES = "state-timeline"
    BARS = "barchart"


@dataclass(frozen=True)
class Query:
    """One question.

    Attributes:
        expression: in PromQL, with the dashboard's variables.
        legend: what its series are called.
        instant: ask for one moment, the end of the time range, and not for all of it.
        may_be_empty: no answer is a right answer: nothing failed, no GPU, an older llama-server.
    """

    expression: str
    legend: str = ""
    instant: bool = False
    may_be_empty: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table: its name in the answers (a label, `Value #A` …), its heading, and what numbers look like."""

    name: str
    heading: str
    unit: str = ""
    decimals: int | None = None


@dataclass(frozen=True)
class Panel:
    """One panel. Width is in columns of 24, height in Grafana's rows; `states` name the values of a state timeline.

    `matrix`: (column, row) labels by which the answers of a bar chart become a table of values.
    `low`, `high`: where the axis of values begins and ends at the latest; null: where the values do.
    `empty`: what stands there while there is no answer; empty: Grafana's own words.
    `decimals`: of its values; null: as many as Grafana finds fit.
    `apart`: its points are far apart, so lines join them.
    `dashed`, `faint`: regular expressions of the series that are dashed, and of those that are grey and in no legend.
    `stacked`: bars of a group stand on one another.
    """

    title: str
    description: str
    view: View
    unit: str
    queries: tuple[Query, ...]
    width: int = 12
    height: int = 8
    states: tuple[str, ...] = ()
    matrix: tuple[str, str] | None = None
    columns: tuple[Column, ...] = ()
    """Of a table, in their order; others are hidden."""
    ordered: tuple[str, ...] = ()
    """Of a table: labels by which its rows ascend, the first one first."""
    low: float | None = None
    high: float | None = None
    empty: str = ""
    decimals: int | None = None
    apart: bool = False
    dashed: str = ""
    faint: str = ""
    stacked: bool = False


@dataclass(frozen=True)
class Row:
    """A heading with the panels below it."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True)
class Variable:
    """Values of a label, to choose from; all are chosen at first."""

    name: str
    label: str
    question: str


@dataclass(frozen=True)
class Board:
    """A dashboard. `refresh`: how often it asks again by itself; empty: never."""

    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]
    variables: tuple[Variable, ...]
    since: str
    refresh: str = ""
    boundaries: str | None = None
    """Where this is above 0 a trial ended: a line through all panels."""
    tags: tuple[str, ...] = field(default=("loadgen",))

    @property
    def panels(self) -> list[Panel]:
        """All panels, in their order."""
        return [panel for row in self.rows for panel in row.panels]


OF_A_RUN = (
    Variable("series", "Series", "label_values(loadgen_run_info, series)"),
    Variable("workload", "Workload", 'label_values(loadgen_requests_total{series=~"$series"}, workload)'),
    Variable(
        "variant", "Variant", 'label_values(loadgen_requests_total{series=~"$series", workload=~"$workload"}, variant)'
    ),
)
_DONE = 'loadgen_run_trials_done{series=~"$series"}'
BOUNDARIES = f"{_DONE} - ({_DONE} offset $__interval or 0 * {_DONE}) > 0"
"""One answer a trial, as each step is compared with the one before (with 0 where there was none yet). `changes` over an
interval would need two scrapes in it, and over a longer one would go on behind the boundary."""


def rate(metric: str, by: str = CELL, more: str = "") -> str:
    """How fast a counter grows, summed by labels."""
    return f"sum by ({by}) (rate({metric}{{{SELECTED}{more}}}[$__rate_interval]))"


def ratio(top: str, bottom: str, by: str = CELL) -> str:
    """A ratio of two rates; absent where the lower one doesn't grow."""
    return f"{rate(top, by)} / ({rate(bottom, by)} > 0)"


def quantile(share: float, metric: str) -> str:
    """A quantile of a histogram's values of the last while, by cell."""
    return f"histogram_quantile({share:g}, {rate(f'{metric}_bucket', f'{CELL}, le')})"


def last(metric: str, span: str = "$__range") -> str:
    """The last value within the time range (or another span): it answers when loadgen has ended, too."""
    return f"last_over_time({metric}{{{SELECTED}}}[{span}])"
