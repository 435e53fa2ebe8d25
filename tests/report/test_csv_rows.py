"""Rules of rows for spreadsheets."""

import pytest

from loadgen.analysis.summary import summarise
from loadgen.records.run import Run
from loadgen.report.csv_rows import What, rows
from tests.analysis.conftest import Maker

MAKE = Maker()


@pytest.fixture(scope="module")
def run() -> Run:
    """Three rounds of `off` and `mtp` at one agent: 10 and 20 tasks per hour."""
    return MAKE.run({("off", 1): [10.0] * 3, ("mtp", 1): [20.0] * 3}, starts=[MAKE.start("off")])


def test_requests_are_rows_in_the_order_in_which_they_ended(run: Run) -> None:
    """Times in seconds, the end as a time of day; what was not measured is null and no 0."""
    found = rows(What.REQUESTS, run, summarise(run))
    assert len(found) == 6
    first = found[0]
    assert (first["variant"], first["concurrency"], first["outcome"], first["depth"]) == ("off", 1, "ok", 100)
    assert (first["ttft_s"], first["e2e_s"], first["ended_at"]) == (0.1, 360.0, "2026-01-01T00:06:00.000+00:00")
    assert (first["cached_tokens"], first["drafted_tokens"], first["queue_wait_s"]) == (None, None, None)
    assert not {"error", "target", "root"} & set(first)


def test_trials_say_why_they_do_not_count(run: Run) -> None:
    """A trial that was aborted is there, with its reason; its rate is its own, not the cell's."""
    broken = [*run.trials[:-1], MAKE.record(trial="r3-n1-mtp", round=3, variant="mtp", aborted="the server died")]
    found = rows(What.TRIALS, Run(manifest=run.manifest, trials=broken, requests=run.requests), summarise(run))
    assert (found[0]["trial"], found[0]["valid"]) == ("r1-n1-off", True)
    assert found[0]["tasks_per_hour"] == pytest.approx(10)
    (row,) = [row for row in found if row["aborted"] is not None]
    assert (row["valid"], row["reasons"].split()[0], row["aborted"]) == (False, "aborted", "the server died")


def test_cells_have_the_summarys_figures_in_columns(run: Run) -> None:
    """Nested figures are joined by dots; the speed-up of the headline and its call stand beside them."""
    summary = summarise(run)
    found = rows(What.CELLS, run, summary)
    mtp = next(row for row in found if row["variant"] == "mtp")
    (cell,) = [cell for cell in summary["cells"] if cell["variant"] == "mtp"]
    assert mtp["tasks_per_hour.value"] == cell["tasks_per_hour"]["value"]
    assert mtp["ttft_s.p95.high"] == cell["ttft_s"]["p95"]["high"]
    assert (mtp["speedup.value"], mtp["call"]) == (pytest.approx(2), "pays")
    off = next(row for row in found if row["variant"] == "off")
    assert (off["speedup.value"], off["call"]) == (None, None)
    assert list(off) == list(mtp)
