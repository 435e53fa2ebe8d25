"""Boards as Grafana's JSON, through its foundation SDK: classic dashboards, which Grafana 10 to 13 load from files.

The SDK is a development dependency: what it writes is committed, and a test holds the two equal.
"""

import json
from collections.abc import Callable
from typing import Any

from grafana_foundation_sdk.builders import (
    barchart,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BigValueGraphMode,
    BigValueTextMode,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    MappingType,
    ValueMap,
    ValueMappingResult,
    VariableOption,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from loadgen.dashboards.panel import Board, Panel, Query, Variable, View

SOURCE = DataSourceRef(type_val="prometheus", uid="$datasource")
_COLOURS = ("purple", "yellow", "green", "blue")
_INTERVALS = ["5s", "10s", "30s", "1m", "5m"]
_NUMBERS = {"conversions": [{"targetField": "concurrency", "destinationType": "number"}], "fields": {}}
_STEP = "5s"
"""How exactly annotations are placed: as often as our Prometheus scrapes. Grafana's default is a minute."""


def written(board: Board) -> str:
    """The JSON of a board, with sorted keys."""
    made = json.loads(JSONEncoder().encode(_dashboard(board).build()))
    made["id"] = None  # Grafana numbers dashboards itself, and takes panels without a number for new ones
    for number, panel in enumerate(made["panels"], start=1):
        panel["id"] = number
    return json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _dashboard(board: Board) -> dashboard.Dashboard:
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags(list(board.tags))
        .readonly()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time(board.since, "now")
        .timezone("browser")
        .timepicker(dashboard.TimePicker().refresh_intervals(_INTERVALS))
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    )
    if board.refresh:
        made = made.refresh(board.refresh)
    for variable in board.variables:
        made = made.with_variable(_variable(variable))
    if board.boundaries is not None:
        made = made.annotation(
            dashboard.AnnotationQuery()
            .name("Trials")
            .datasource(SOURCE)
            .enable(True)
            .icon_color("grey")
            .expr(board.boundaries)
            .step(_STEP)
        )
    for row in board.rows:
        made = made.with_row(dashboard.Row(row.title))
        for panel in row.panels:
            made = made.with_panel(_panel(panel))
    return made


def _variable(variable: Variable) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(variable.name)
        .label(variable.label)
        .query(variable.question)
        .datasource(SOURCE)
        .current(VariableOption(selected=True, text="All", value="$__all"))
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
    )


def _panel(panel: Panel) -> Any:
    made = _BUILDERS[panel.view](panel)
    made = (
        made.title(panel.title)
        .description(panel.description)
        .datasource(SOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(panel.height)
    )
    if panel.low is not None:
        made = made.min(panel.low)
    if panel.high is not None:
        made = made.max(panel.high)
    if panel.decimals is not None:
        made = made.decimals(panel.decimals)
    if panel.empty:
        made = made.no_value(panel.empty)
    for at, query in enumerate(panel.queries):
        made = made.with_target(_target(panel, query, chr(ord("A") + at)))
    return made


def _target(panel: Panel, query: Query, ref: str) -> prometheus.Dataquery:
    made = prometheus.Dataquery().expr(query.expression).ref_id(ref).datasource(SOURCE)
    if query.legend:
        made = made.legend_format(query.legend)
    if panel.view is View.HEATMAP:
        return made.format(PromQueryFormat.HEATMAP).range()
    if panel.view in (View.TABLE, View.BARS):
        made = made.format(PromQueryFormat.TABLE)
    return made.instant() if query.instant else made.range()


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .display_mode(LegendDisplayMode.LIST)
        .placement(LegendPlacement.BOTTOM)
        .show_legend(True)
    )


def _lines(panel: Panel) -> Any:
    tooltip = common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
    made = timeseries.Panel().line_width(1).fill_opacity(0).legend(_legend()).tooltip(tooltip)
    if panel.apart:
        made = made.span_nulls(True).show_points(VisibilityMode.ALWAYS)
    dashes = DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [4, 4]})
    if panel.dashed:
        made = made.override_by_regexp(panel.dashed, [dashes])
    if panel.faint:
        grey = DynamicConfigValue("color", {"mode": "fixed", "fixedColor": "grey"})
        unlisted = DynamicConfigValue("custom.hideFrom", {"legend": True, "tooltip": False, "viz": False})
        made = made.override_by_regexp(panel.faint, [dashes, grey, unlisted])
    return made


def _stat(panel: Panel) -> Any:
    """Without a unit the name is the answer, and its value only says that it is."""
    shown = BigValueTextMode.NAME if panel.unit == "none" else BigValueTextMode.VALUE_AND_NAME
    return (
        stat.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .graph_mode(BigValueGraphMode.NONE)
        .text_mode(shown)
    )


def _states(panel: Panel) -> Any:
    """Numbers from 1 stand for the states."""
    options = {
        str(number): ValueMappingResult(text=state, color=_COLOURS[(number - 1) % len(_COLOURS)], index=number - 1)
        for number, state in enumerate(panel.states, start=1)
    }
    mapping = ValueMap(options=options)
    mapping.type_val = MappingType.VALUE_TO_TEXT
    return statetimeline.Panel().mappings([mapping]).merge_values(True).row_height(0.8).legend(_legend())


def _table(panel: Panel) -> Any:
    """One row for each set of labels, whichever of the questions it answers."""
    shown = {column.name for column in panel.columns}
    values = (
        ["Value"] if len(panel.queries) == 1 else [f"Value #{chr(ord('A') + at)}" for at in range(len(panel.queries))]
    )
    organized = {
        "excludeByName": {name: True for name in ("Time", *values) if name not in shown},
        "indexByName": {column.name: at for at, column in enumerate(panel.columns)},
        "renameByName": {column.name: column.heading for column in panel.columns},
    }
    made = table.Panel().with_transformation(DataTransformerConfig(id_val="merge", options={}))
    if "concurrency" in panel.ordered:
        made = made.with_transformation(DataTransformerConfig(id_val="convertFieldType", options=_NUMBERS))
    for label in reversed(panel.ordered):  # sorting keeps the order of equals
        made = made.with_transformation(_sorted(label))
    made = made.with_transformation(DataTransformerConfig(id_val="organize", options=organized)).overrides([])
    for column in panel.columns:
        settings = [DynamicConfigValue("unit", column.unit)] if column.unit else []
        if column.decimals is not None:
            settings.append(DynamicConfigValue("decimals", column.decimals))
        if settings:
            made = made.override_by_name(column.heading, settings)
    return made


def _sorted(label: str) -> DataTransformerConfig:
    return DataTransformerConfig(id_val="sortBy", options={"fields": {}, "sort": [{"field": label}]})


def _heatmap(panel: Panel) -> Any:
    """The buckets are Prometheus' own: nothing is put into others."""
    return heatmap.Panel().calculate(False).y_axis(heatmap.YAxisConfig().unit(panel.unit))


def _bars(panel: Panel) -> Any:
    """Values by two labels: one makes the groups of bars, the other the bars in them. Concurrencies ascend."""
    column, row = panel.matrix or ("variant", "concurrency")
    options = {"columnField": column, "rowField": row, "valueField": "Value", "emptyValue": "null"}
    made = barchart.Panel().legend(_legend())
    if row == "concurrency":
        made = made.with_transformation(DataTransformerConfig(id_val="convertFieldType", options=_NUMBERS))
        made = made.with_transformation(_sorted(column)).with_transformation(_sorted(row))
    if panel.stacked:
        made = made.stacking(StackingMode.NORMAL)
    return (
        made.with_transformation(DataTransformerConfig(id_val="groupingToMatrix", options=options))
        .x_field(f"{row}\\{column}")
        .group_width(0.7)
    )


_BUILDERS: dict[View, Callable[[Panel], Any]] = {
    View.LINES: _lines,
    View.STAT: _stat,
    View.STATES: _states,
    View.TABLE: _table,
    View.BARS: _bars,
    View.HEATMAP: _heatmap,
}
