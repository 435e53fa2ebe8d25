"""A tuning run in the report."""

from loadgen.report.tuning_lines import command_line, tuning_lines


def test_a_run_that_tunes_nothing_has_no_lines() -> None:
    """Neither lines nor a command; the key may be missing in older summaries."""
    assert tuning_lines({"tuning": None}) == tuning_lines({}) == []
    assert command_line({"tuning": None}) is None


def test_the_race_and_the_command() -> None:
    """One line a happening, and the command in one piece."""
    entry = {
        "agents": 3,
        "baseline": "off",
        "candidates": [{"variant": "off"}, {"variant": "a"}],
        "dropped": [],
        "absent": [],
        "pruned": [],
        "not_pruned": None,
        "command": "llama-server -m m",
    }
    assert tuning_lines({"tuning": entry})[0] == "2 candidates raced at 3 agents: off, a."
    assert command_line({"tuning": entry}) == "llama-server -m m"
