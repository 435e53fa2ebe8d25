"""Frozen history on the command line and in an experiment file."""

from pathlib import Path

from tests.cli.invoked import invoked

LINE = "history: frozen; the answers of off are recorded first, for 1:00 min at most"


def test_a_dry_run_says_what_is_recorded_first() -> None:
    """Whose answers, and a quarter of the time budget; nothing is said of other histories."""
    server = ("sweep", "--variant", "off=http://127.0.0.1:1", "--time-budget", "4m", "--dry-run")
    assert LINE in invoked(*server, "--history", "frozen").out
    assert "history:" not in invoked(*server, "--history", "live").out


def test_a_file_may_ask_for_it_too(tmp_path: Path) -> None:
    """Under the name of the option."""
    file = tmp_path / "mine.yaml"
    file.write_text("history: frozen\ntime_budget: 4m\nvariants: [{name: off, url: 'http://127.0.0.1:1'}]\n")
    assert LINE in invoked("sweep", str(file), "--dry-run").out
