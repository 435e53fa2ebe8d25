"""What is refused before a run that wants metrics, and files that can't be exported."""

from pathlib import Path

import pytest

from loadgen.cli.live_metrics import LINGER_S, LiveMetrics, live_metrics
from loadgen.cli.options import METRICS_LINGER
from loadgen.cli.shared import Shared
from loadgen.units import parse_duration_s
from tests.analysis.conftest import Maker
from tests.cli.invoked import invoked
from tests.records.folder import written

MAKE = Maker()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metrics", "nowhere"], "--metrics 'nowhere' is no address; write HOST:PORT"),
        (["--metrics", "127.0.0.1:99999"], "is no address"),
        (["--metrics", ":0", "--metrics-linger", "soon"], "--metrics-linger: 'soon' is not a duration"),
        (["--push-gateway", "ftp://h"], "--push-gateway is no address"),
        (["--metrics-textfile", "/no/such/folder"], "--metrics-textfile /no/such/folder is no folder"),
        (["--series", " x"], "series: write a name of up to 64 characters on one line"),
        (["--series", "x" * 65], "series: write a name of up to 64 characters on one line"),
    ],
)
def test_wrong_options_end_with_2_before_anything_runs(options: list[str], message: str) -> None:
    """A usage error names the option, also in a dry run."""
    result = invoked("sweep", "http://127.0.0.1:1", "--dry-run", *options)
    assert result.code == 2
    assert message in result.err


def test_nothing_is_served_unless_it_is_asked_for() -> None:
    """Without an address, a gateway or a folder there are no metrics; the linger time alone asks for none."""
    assert live_metrics(Shared()) is None
    assert live_metrics(Shared(metrics_linger="5s")) is None
    assert live_metrics(Shared(metrics="127.0.0.1:0")) is not None
    assert parse_duration_s(METRICS_LINGER.show_default) == LINGER_S == 60


def test_a_port_in_use_is_said_and_the_run_goes_on() -> None:
    """The second of two runs says that it has no metrics; opening raises nothing."""
    with LiveMetrics() as unserved:
        unserved.open(lambda _: None)
    said: list[str] = []
    first = live_metrics(Shared(metrics="127.0.0.1:0"))
    assert first is not None
    with first:
        first.open(said.append)
        address = said[0].removeprefix("metrics: http://").removesuffix("/metrics")
        second = live_metrics(Shared(metrics=address))
        assert second is not None
        second.open(said.append)
    (second_said,) = said[1:]
    assert second_said == (
        f"metrics can't be served at {address} (Address already in use); name another --metrics address; "
        "the run goes on without"
    )


def test_an_export_of_no_run_is_a_usage_error(tmp_path: Path) -> None:
    """The message says what a run folder is."""
    for command in (["openmetrics"], ["csv"]):
        result = invoked("export", *command, str(tmp_path))
        assert (result.code, "is not a run folder" in result.err) == (2, True)


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    """Nothing half-written is left behind, and an earlier file stays as it was."""
    folder = written(tmp_path / "run", MAKE.run({("off", 1): [10.0]}))
    result = invoked("export", "csv", str(folder), "-o", str(tmp_path / "gone" / "x.csv"))
    assert (result.code, "can't be written: No such file or directory" in result.err) == (2, True)
    assert invoked("export", "openmetrics", str(folder), "--step", "0s").code == 2


def test_a_run_without_trials_exports_what_it_has(tmp_path: Path) -> None:
    """One line of nothing as CSV, and the run's info as OpenMetrics."""
    folder = written(tmp_path / "run", MAKE.run({("off", 1): []}))
    assert invoked("export", "csv", str(folder), "--what", "trials").out == "\n"
    text = invoked("export", "openmetrics", str(folder)).out
    assert "loadgen_run_info{" in text
    assert text.endswith("# EOF\n")
