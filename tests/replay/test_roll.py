"""Who still takes part in a run."""

from typing import Any

import pytest

from loadgen.records.model import TrialRecord
from loadgen.replay.ending import Ending
from loadgen.replay.roll import Roll


def roll(*names: str) -> tuple[Roll, list[str]]:
    """A roll of variants, the first being the baseline, and what it has written."""
    said: list[str] = []
    return Roll(
        names, names[0], say=lambda what, detail: said.append(f"{what} {detail}"), note=lambda _text: None
    ), said


def record(variant: str = "mtp", **changes: Any) -> TrialRecord:
    """A trial without an answer on a server that lives."""
    values: dict[str, Any] = {
        "run": "run", "trial": "t", "round": 1, "variant": variant, "level": 1, "order": 0, "turns_per_agent": 1,
        "short": True, "start_ns": 0, "measured_ns": None, "end_ns": 1, "complete": False, "aborted": "5 turns failed",
        "server_alive": True, "segments": [], "counters_before": None, "counters_after": None, "client": None,
    }  # fmt: skip
    return TrialRecord(**(values | changes))


def test_the_rest_goes_on_without_a_variant() -> None:
    """One candidate of two is given up: no ending, and a mark in the journal."""
    found, said = roll("off", "mtp", "ngram")
    assert found.give_up("server_died", "mtp", "its server died more than once") is None
    assert found.left == ["off", "ngram"]
    assert said == ["given_up mtp: its server died more than once"]


@pytest.mark.parametrize(
    ("names", "lost"), [(("off", "mtp"), "mtp"), (("off", "mtp", "ngram"), "off"), (("server",), "server")]
)
def test_a_run_ends_where_nothing_is_left_to_compare(names: tuple[str, ...], lost: str) -> None:
    """Without the baseline, without a candidate, or without the only variant."""
    found, _ = roll(*names)
    assert found.give_up("gave_up", lost, "no answer") == Ending("gave_up", f"{lost}: no answer")


def test_a_failed_check_takes_a_variant_out() -> None:
    """It is no variant that was given up: its answers are wrong."""
    found, said = roll("off", "mtp")
    found.failed_check("mtp", "agent 1 got an empty answer")
    assert found.is_over
    assert found.out == {"mtp": "agent 1 got an empty answer"}
    assert said == ["answers_failed mtp: agent 1 got an empty answer"]


def test_two_silent_trials_in_a_row_are_enough() -> None:
    """An answer in between starts the count anew, and a dead server is not silent but dead."""
    found, _ = roll("off", "mtp")
    assert not found.is_silent(record())
    assert not found.is_silent(record(aborted=None))
    assert not found.is_silent(record())
    assert not found.is_silent(record(variant="off"))
    assert not found.is_silent(record(variant="off", server_alive=False))
    assert found.is_silent(record())
