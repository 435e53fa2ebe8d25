"""Rules of the dashboards: what Grafana's own linter asks for, and that they ask for nothing that isn't there."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from loadgen.dashboards.boards import BOARDS, file_of
from loadgen.dashboards.grafana import written
from loadgen.dashboards.panel import Board, Panel, Query
from loadgen.metrics.table import BY_NAME, METRICS, Kind

LLAMA = {
    "prompt_tokens_total", "prompt_seconds_total", "tokens_predicted_total", "tokens_predicted_seconds_total",
    "requests_processing", "requests_deferred", "n_busy_slots_per_decode", "n_decode_total", "n_tokens_max",
    "prompt_tokens_seconds", "predicted_tokens_seconds", "spec_decode_num_drafts_total",
    "spec_decode_num_draft_tokens_total", "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_accepted_tokens_per_pos_total", "kv_cache_usage_ratio", "kv_cache_tokens",
}  # fmt: skip
"""What llama-server's builds tell, older and newer ones."""
PANELS = [(board, panel) for board in BOARDS for panel in board.panels]
IDS = [f"{board.uid}: {panel.title}" for board, panel in PANELS]


def queries() -> Iterator[tuple[Board, Query]]:
    """Every question, annotations and variables left out."""
    for board, panel in PANELS:
        for query in panel.queries:
            yield board, query


def names(expression: str) -> set[str]:
    """The metrics that an expression asks for, without what histograms add."""
    found = set(re.findall(r"\b(?:loadgen_|llamacpp:)[a-z0-9_]+(?=\{)", expression))
    return {name.removesuffix("_bucket") if name.startswith("loadgen_") else name for name in found}


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_the_committed_json_is_what_the_code_writes(board: Board) -> None:
    """`python -m loadgen.dashboards` changes nothing."""
    assert file_of(board).read_text(encoding="utf-8") == written(board)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_dashboards_load_from_files_and_stay_as_they_are(board: Board) -> None:
    """No id, a stable uid, not editable, a schema that Grafana 10 to 13 read, and panels told apart."""
    made: dict[str, Any] = json.loads(file_of(board).read_text(encoding="utf-8"))
    assert (made["id"], made["uid"], made["editable"], made["schemaVersion"]) == (None, board.uid, False, 42)
    assert len({panel["id"] for panel in made["panels"]}) == len(made["panels"])
    titles = [panel["title"] for panel in made["panels"]]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_the_data_source_is_a_variable_and_variables_follow_the_time_range(board: Board) -> None:
    """Every panel, target, variable and annotation asks the source that is chosen."""
    made: dict[str, Any] = json.loads(file_of(board).read_text(encoding="utf-8"))
    source, *others = made["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == ("datasource", "datasource", "prometheus")
    assert all(one["refresh"] == 2 and one["multi"] and one["includeAll"] for one in others)
    panels = [panel for panel in made["panels"] if panel["type"] != "row"]
    asked = [*others, *panels, *(target for panel in panels for target in panel["targets"])]
    asked += [one for one in made["annotations"].get("list", []) if one["builtIn"] == 0]
    assert {one["datasource"]["uid"] for one in asked} == {"$datasource"}


@pytest.mark.parametrize(("board", "panel"), PANELS, ids=IDS)
def test_panels_say_what_they_show(board: Board, panel: Panel) -> None:
    """A title, a description in sentences, a unit, a size within the grid, and letters enough for its questions."""
    assert panel.title
    assert panel.description.endswith(".")
    assert panel.unit
    assert 0 < panel.width <= 24
    assert 0 < len(panel.queries) <= 26
    assert all(query.legend or query.instant for query in panel.queries)
    assert board.title.startswith("loadgen: ")


@pytest.mark.parametrize(("board", "query"), list(queries()))
def test_questions_ask_only_for_what_there_is(board: Board, query: Query) -> None:
    """Every metric is in the table, or told by a build of llama-server; ours are asked for by the variables."""
    for name in names(query.expression):
        assert name in BY_NAME or name.removeprefix("llamacpp:") in LLAMA
    selected = re.findall(r"\{([^}]*)\}", query.expression)
    variables = {variable.name for variable in board.variables}
    for filters in selected:
        used = set(re.findall(r'=~"\$(\w+)"', filters))
        assert used <= variables
        assert used == variables or "loadgen_run_info" in query.expression


@pytest.mark.parametrize(("board", "query"), list(queries()))
def test_counters_are_shown_as_rates_over_the_interval_that_fits(board: Board, query: Query) -> None:
    """A counter since some start says nothing; `$__rate_interval` is never shorter than four scrapes."""
    del board
    counted = re.findall(r"((?:rate|increase)\()?\b((?:loadgen_|llamacpp:)\w+?(?:_total|_bucket))\b", query.expression)
    assert all(inside for inside, _ in counted)
    assert set(re.findall(r"(?:rate|increase)\([^\[]*\[([^\]]*)\]", query.expression)) <= {"$__rate_interval"}


def test_the_dashboards_show_what_is_measured() -> None:
    """Every histogram, counter of tokens and result of the table stands on a panel."""
    shown = {name for _, query in queries() for name in names(query.expression)}
    missing = {metric.name for metric in METRICS if metric.kind in (Kind.STATE, Kind.INFO)} - shown
    assert missing == {"loadgen_crossover", "loadgen_client_state", "loadgen_memory_safety"}
    for name in ("tasks_per_hour", "speedup_ratio", "acceptance_ratio", "slo_attainment_ratio", "memory_used_bytes"):
        assert f"loadgen_{name}" in shown
