"""A real run with its metrics: served while it goes on and behind it, pushed, written, and exported again."""

import json
import re
import signal
import socket
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from loadgen.dashboards.decision import DECISION
from loadgen.dashboards.live import LIVE
from loadgen.dashboards.llama_server import LLAMA_SERVER
from loadgen.dashboards.panel import Board
from loadgen.metrics.table import PHASES
from tests.cli.conftest import API_KEY, Result, Running
from tests.cli.invoked import invoked
from tests.metrics.programs import Server, found, needs, run

pytestmark = pytest.mark.live
Page = dict[str, dict[str, float]]
"""Values by name, and by labels as they are written."""
CONFIG = """
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
rule_files: [{rules}/recording.yml, {rules}/alerts.yml]
scrape_configs:
  - job_name: loadgen
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


@dataclass
class Lived:
    """What was seen of a run."""

    folder: Path
    textfile: Path
    early: Page
    last: Page
    text: str
    result: Result
    prometheus: str | None
    unanswered: list[str]
    """Questions in the middle of the run that should have had an answer."""

    @property
    def summary(self) -> dict[str, Any]:
        """The run's summary."""
        document: dict[str, Any] = json.loads((self.folder / "summary.json").read_text())
        return document

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What Prometheus answers."""
        return answer(str(self.prometheus), expression)

    def over(self, expression: str) -> list[dict[str, Any]]:
        """What Prometheus answers for every half second from a minute before the run to its end."""
        (begin,) = self.last["loadgen_run_start_timestamp_seconds"].values()
        (end,) = self.last["loadgen_run_end_timestamp_seconds"].values()
        times = {"start": begin - 60, "end": end + 1, "step": 0.5}
        asked = urllib.parse.urlencode({"query": expression, **times})
        found: list[dict[str, Any]] = get(f"{self.prometheus}/api/v1/query_range?{asked}")["data"]["result"]
        return found


def get(url: str) -> dict[str, Any]:
    """A JSON document."""
    with urllib.request.urlopen(url) as reply:  # noqa: S310 - loopback
        document: dict[str, Any] = json.loads(reply.read())
    return document


def page(text: str) -> Page:
    """A page of metrics."""
    values: Page = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{name}={sample.labels[name]}" for name in sorted(sample.labels))
            values.setdefault(sample.name, {})[labels] = sample.value
    return values


def scrape(port: int) -> str:
    """The page as it is now."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        text: str = reply.read().decode()
    return text


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def scraped_to_the_end(url: str) -> None:
    """Return once Prometheus has the last values: it scrapes twice a second."""
    asked = urllib.parse.urlencode({"query": "loadgen_run_end_timestamp_seconds"})
    patience = time.monotonic() + 20
    while not get(f"{url}/api/v1/query?{asked}")["data"]["result"]:
        assert time.monotonic() < patience, "nobody scraped the end"


def scraping(url: str) -> None:
    """Return once Prometheus has its target: it looks for new ones every 5 seconds, and a run here takes as long."""
    patience = time.monotonic() + 20
    while not get(f"{url}/api/v1/targets")["data"]["activeTargets"]:
        assert time.monotonic() < patience, "it has no target"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str | None]]:
    """The port that it scrapes, and its address; null where this machine has none."""
    port, folder = free_port(), tmp_path_factory.mktemp("prometheus")
    if found("prometheus") is None:
        yield port, None
        return
    own = free_port()
    (folder / "prometheus.yml").write_text(CONFIG.format(port=port, rules=Path("dashboards/prometheus").resolve()))
    server = Server(
        "prometheus",
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{own}",
        ready="Server is ready to receive web requests",
    )
    scraping(f"http://127.0.0.1:{own}")
    yield port, f"http://127.0.0.1:{own}"
    server.close()


def unanswered(url: str, known: Page) -> list[str]:
    """Puts every question of Live and Decision to Prometheus now; none may err.

    Those about metrics that a page already had, asked as they are, must have an answer once it was scraped: the ones
    that have none are returned.
    """
    missing = []
    queries = [query for board in (LIVE, DECISION) for panel in board.panels for query in panel.queries]
    for query in queries:
        expression = asked(query.expression)
        plain = "[" not in expression and "offset" not in expression and not query.may_be_empty
        due = plain and all(name in known for name in re.findall(r"(loadgen_\w+)\{", expression))
        patience = time.monotonic() + (5 if due else 0)
        while not (found := answer(url, expression)) and time.monotonic() < patience:
            pass
        if due and not found:
            missing.append(expression)
    for board in (LIVE, DECISION):
        if board.boundaries is not None:
            answer(url, asked(board.boundaries))
    return missing


def answer(url: str, expression: str) -> list[dict[str, Any]]:
    """What Prometheus answers now. Raises where the question is none."""
    found: list[dict[str, Any]] = get(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")["data"][
        "result"
    ]
    return found


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, command: list[str], prometheus: tuple[int, str | None]) -> Lived:
    """A short run of two variants, scraped in its middle and behind its end, which Ctrl-C then ends."""
    folder = tmp_path_factory.mktemp("metrics")
    port, url = prometheus
    options = [
        "--workload",
        "demo",
        "--check-output",
        "off",
        "-c",
        "2",
        "--rounds",
        "1",
        "--time-budget",
        "1s",
        "--warmup",
        "0.3s",
    ]
    metrics = ["--metrics", f"127.0.0.1:{port}", "--metrics-linger", "60s", "--series", "nightly"]
    outlets = ["--push-gateway", f"http://me:{API_KEY}@127.0.0.1:1", "--metrics-textfile", str(folder)]
    running = Running(
        "ab", *options, *metrics, *outlets, "--slo", "ttft=1234ms", "--out", str(folder / "run"), *command
    )
    try:
        running.until("plan: ")
        running.until("round 1: ")
        early = scrape(port)
        missing = unanswered(url, page(early)) if url is not None else []
        running.until("metrics stay at ")
        text = scrape(port)
        if url is not None:
            scraped_to_the_end(url)
        running.process.send_signal(signal.SIGINT)
        result = running.finish()
    finally:
        running.process.kill()
        running.process.communicate()
    file = next(iter(folder.glob("*.prom")))
    return Lived(folder / "run", file, page(early), page(text), text, result, url, missing)


def test_the_run_is_seen_while_it_goes_on(lived: Lived) -> None:
    """In its middle: the run, its plan, trials done, agents asked for, and requests of pilot and segments."""
    assert next(iter(lived.early["loadgen_run_info"])).count("series=nightly") == 1
    assert lived.early["loadgen_run_trials_planned"] == {"series=nightly": 2}
    assert 1 <= lived.early["loadgen_run_trials_done"]["series=nightly"] <= 2
    phases = {labels.partition("phase=")[2].partition(",")[0] for labels in lived.early["loadgen_requests_total"]}
    assert {"pilot", "segment"} <= phases
    assert "loadgen_run_end_timestamp_seconds" not in lived.early
    assert "loadgen_tasks_per_hour" not in lived.early


def test_the_last_page_has_the_figures_of_the_report(lived: Lived) -> None:
    """Requests of the segments, results, and the edge of the objective: the same numbers as in summary.json."""
    for cell in lived.summary["cells"]:
        where = f"concurrency=2,series=nightly,variant={cell['variant']},workload=demo"
        ok = f"concurrency=2,outcome=ok,phase=segment,series=nightly,variant={cell['variant']},workload=demo"
        assert lived.last["loadgen_requests_total"][ok] == cell["outcomes"]["ok"]
        assert lived.last["loadgen_time_to_first_token_seconds_count"][where] == cell["outcomes"]["ok"]
        assert lived.last["loadgen_trials"][where] == cell["trials"]
        # On a machine that is busy otherwise no trial may count: then there is no rate, here and there.
        assert lived.last.get("loadgen_tasks_per_hour", {}).get(where) == cell["tasks_per_hour"]["value"]
        edge = f"concurrency=2,le=1.234,series=nightly,variant={cell['variant']},workload=demo"
        assert edge in lived.last["loadgen_time_to_first_token_seconds_bucket"]
    assert lived.last["loadgen_run_trials_done"] == {"series=nightly": 2}
    assert set(lived.last["loadgen_requests_in_flight"].values()) == {0}
    assert set(lived.last["loadgen_phase"].values()) == {0}
    assert len(lived.last["loadgen_run_end_timestamp_seconds"]) == 1


def test_only_what_drafts_has_drafts(lived: Lived) -> None:
    """`off` has no series of drafts; those of mtp are the server's counters, by position."""
    for name in ("loadgen_draft_tokens_total", "loadgen_draft_tokens_accepted_per_position_total"):
        assert lived.last[name]
        assert not any("variant=off" in labels for labels in lived.last[name])


def test_the_file_for_node_exporter_is_the_last_page(lived: Lived) -> None:
    """Named by the series, with the same values."""
    assert lived.textfile.name == "loadgen-nightly.prom"
    written = page(lived.textfile.read_text())
    assert written["loadgen_requests_total"] == lived.last["loadgen_requests_total"]
    assert set(written) == set(lived.last)


def test_a_gateway_that_is_down_costs_a_line_and_nothing_else(lived: Lived) -> None:
    """It is said without the password; the report is printed, and Ctrl-C behind the run leaves its exit code."""
    assert "push gateway: http://127.0.0.1:1 did not take the metrics" in lived.result.err
    assert "tasks/h" in lived.result.out
    assert lived.result.code == (4 if "no valid trials" in lived.result.err else 0)


def test_the_key_is_nowhere_in_the_metrics(lived: Lived) -> None:
    """Neither the server's key nor the gateway's password is served, written or said."""
    assert API_KEY not in lived.text + lived.textfile.read_text() + lived.result.err + lived.result.out


def test_an_exported_run_ends_with_the_same_figures(lived: Lived, tmp_path: Path) -> None:
    """What was served at the end stands in the file of the finished run, but for what only a live run can tell."""
    file = tmp_path / "run.om"
    assert invoked("export", "openmetrics", str(lived.folder), "-o", str(file)).code == 0
    lines = file.read_text().splitlines()
    for name in ("loadgen_requests_total", "loadgen_trials", "loadgen_time_per_output_token_seconds_count"):
        ends = {line.rsplit(" ", 2)[0]: float(line.rsplit(" ", 2)[1]) for line in lines if line.startswith(f"{name}{{")}
        assert sorted(ends.values()) == sorted(lived.last[name].values())


def test_requests_trials_and_cells_are_exported_as_rows(lived: Lived, tmp_path: Path) -> None:
    """One line of names, one line each; stdout where no file is named."""
    counts = {}
    for what in ("requests", "trials", "cells"):
        file = tmp_path / f"{what}.csv"
        assert invoked("export", "csv", str(lived.folder), "--what", what, "-o", str(file)).code == 0
        counts[what] = len(file.read_text().splitlines()) - 1
        assert invoked("export", "csv", str(lived.folder), "--what", what).out == file.read_text()
    assert (counts["trials"], counts["cells"]) == (2, 2)
    assert counts["requests"] == len((lived.folder / "requests.jsonl").read_text().splitlines())


@needs("promtool")
def test_promtool_accepts_the_page_and_the_export(lived: Lived, tmp_path: Path) -> None:
    """The linter has nothing to say of a real scrape, and blocks can be made of the export."""
    assert run("promtool", "check", "metrics", text=lived.text) == ""
    file = tmp_path / "run.om"
    invoked("export", "openmetrics", str(lived.folder), "-o", str(file))
    run("promtool", "tsdb", "create-blocks-from", "openmetrics", file, tmp_path / "data")


@needs("prometheus")
def test_prometheus_has_the_run_after_it_has_gone(lived: Lived) -> None:
    """A real one scraped it: the results still answer when loadgen has ended, and every rule could be evaluated."""
    for cell in lived.summary["cells"]:
        (one,) = lived.query(f'last_over_time(loadgen_trials{{variant="{cell["variant"]}"}}[5m])')
        assert float(one["value"][1]) == cell["trials"]
    assert {one["metric"]["phase"] for one in lived.query("max_over_time(loadgen_phase[5m]) == 1")} & set(PHASES)
    groups = get(f"{lived.prometheus}/api/v1/rules")["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}


def asked(expression: str) -> str:
    """A panel's question as Grafana asks it: everything is chosen, and a run of seconds was scraped twice a second."""
    replaced = {"$series": ".*", "$workload": ".*", "$variant": ".*", "$instance": ".*"}
    replaced |= {"$__rate_interval": "10s", "$__range": "5m", "$__interval": "2s"}
    for variable, value in replaced.items():
        expression = expression.replace(variable, value)
    return expression


@needs("prometheus")
def test_every_panel_can_be_asked_while_the_run_goes_on(lived: Lived) -> None:
    """In its middle no question errs, and none about what was served by then is empty."""
    assert lived.unanswered == []


@needs("prometheus")
@pytest.mark.parametrize("board", [LIVE, DECISION], ids=lambda board: board.uid)
def test_every_panel_has_an_answer_after_the_run(lived: Lived, board: Board) -> None:
    """Over the time of the run none of the questions errs, and none whose metrics were there is empty."""
    for panel in board.panels:
        for query in panel.queries:
            found = lived.over(asked(query.expression)) if not query.instant else lived.query(asked(query.expression))
            names = re.findall(r"(loadgen_\w+)\{", query.expression)
            if all(name in lived.last or name in lived.early for name in names) and not query.may_be_empty:
                assert found, f"{panel.title}: {query.expression}"
    assert board.boundaries is None or lived.over(asked(board.boundaries))


@needs("prometheus")
def test_questions_to_llama_server_are_valid(lived: Lived) -> None:
    """Nobody scrapes the server here: no question errs, and all are empty."""
    for panel in LLAMA_SERVER.panels:
        for query in panel.queries:
            assert lived.over(asked(query.expression)) == []
