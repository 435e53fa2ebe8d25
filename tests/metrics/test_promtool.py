"""What Prometheus' own checks say of rules, names and files."""

import re
from pathlib import Path

import pytest
import yaml

from loadgen.analysis.summary import summarise
from loadgen.metrics.exposition import Exposition
from loadgen.metrics.openmetrics import openmetrics
from loadgen.metrics.store import Store
from loadgen.metrics.table import BY_NAME, METRICS, Kind
from tests.metrics.programs import needs
from tests.metrics.programs import run as told
from tests.metrics.test_openmetrics import START, run

RULES = Path("dashboards/prometheus")


def expressions() -> list[str]:
    """Every expression of a rule."""
    files = (RULES / "recording.yml", RULES / "alerts.yml")
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def full() -> Store:
    """A store in which every metric has a series."""
    store = Store()
    for metric in METRICS:
        labels = tuple(f"a {label}" for label in metric.labels)
        if metric.kind is Kind.HISTOGRAM:
            store.observe(metric.name, labels, [0.1])
        else:
            store.set(metric.name, labels, 1)
    return store


@pytest.mark.parametrize("expression", expressions())
def test_rules_ask_only_for_what_there_is(expression: str) -> None:
    """Every metric of an expression is in the table, or recorded by a rule."""
    recorded = set(re.findall(r"record: (\S+)", (RULES / "recording.yml").read_text()))
    for name in re.findall(r"(?:cell:)?loadgen_[a-z0-9_:]+", expression):
        assert name in recorded or name.removesuffix("_bucket") in BY_NAME


@needs("promtool")
def test_the_names_pass_the_linter() -> None:
    """`promtool check metrics` has nothing to say of a page with every metric."""
    assert told("promtool", "check", "metrics", text=Exposition(full()).text()) == ""


@needs("promtool")
def test_rules_and_configuration_are_valid() -> None:
    """`promtool check rules` and `check config` accept what stands in dashboards/prometheus."""
    told("promtool", "check", "rules", RULES / "recording.yml", RULES / "alerts.yml")
    told("promtool", "check", "config", RULES / "prometheus.yml")


@needs("promtool")
def test_rules_do_what_their_tests_say() -> None:
    """`promtool test rules`: each alert fires where it should, and not before."""
    assert "SUCCESS" in told("promtool", "test", "rules", RULES / "rules_test.yml")


@needs("promtool")
def test_a_backfilled_run_has_its_true_times_and_values(tmp_path: Path) -> None:
    """What promtool makes of the file, read back from the blocks: 4 requests at 60 s of the run, not now."""
    facts, file = run(), tmp_path / "run.om"
    file.write_text("".join(openmetrics(facts, summarise(facts), 5.0)))
    told("promtool", "tsdb", "create-blocks-from", "openmetrics", file, tmp_path / "data")
    (tmp_path / "data" / "wal").mkdir()  # `dump` looks for it
    dumped = told("promtool", "tsdb", "dump", tmp_path / "data")
    lines = [line for line in dumped.splitlines() if '__name__="loadgen_requests_total"' in line and "segment" in line]
    points = {int(line.split()[-1]): float(line.split()[-2]) for line in lines}
    assert points[(START + 60) * 1000] == 4
    assert (min(points), max(points)) == ((START + 10) * 1000, (START + 420) * 1000)
