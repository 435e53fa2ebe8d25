"""Which variants are never recommended, and what a recommendation takes for granted."""

from typing import Any

import pytest

from loadgen.analysis.capacity.standing import excluded, not_known
from loadgen.analysis.diagnostic import Diagnostic
from tests.analysis.decision_grounds import check, memory


def summary(**changes: Any) -> dict[str, Any]:
    """`mtp` with 3 valid trials, safe memory and a check that passed."""
    cell = {"variant": "mtp", "concurrency": 4, "trials": 3, "valid_trials": 3}
    plain: dict[str, Any] = {
        "cells": [cell], "memory": [{**memory("mtp"), "leak": False}], "output_check": [check("mtp")], "given_up": [],
        "invalid": [],
    }  # fmt: skip
    return {**plain, **changes}


def test_a_variant_that_is_well_may_be_recommended_without_more() -> None:
    """Nothing excludes it, and nothing is taken for granted."""
    assert excluded(summary(), {}, "mtp") == []
    assert not_known(summary(), "mtp", check_asked=True) == []


def test_every_reason_is_said() -> None:
    """Wrong answers, memory, no trial and what a diagnostic is for, all at once."""
    cell = {"variant": "mtp", "concurrency": 4, "trials": 2, "valid_trials": 0}
    plain = {"variant": "mtp", "round": 1}
    invalid = [{**plain, "reasons": ["failures", "unaccounted"]}, {**plain, "round": 2, "reasons": ["failures"]}]
    invalid += [{**plain, "round": 0, "reasons": ["failures"]}]
    found = excluded(
        summary(
            cells=[cell],
            invalid=[*invalid, {"variant": "off", "round": 1, "reasons": ["aborted"]}],
            memory=[memory("mtp", "unsafe")],
            output_check=[check("mtp", "failed", "slot 1 accepted nothing")],
        ),
        {"mtp": Diagnostic.SYNTHETIC},
        "mtp",
    )
    assert [one.partition(",")[0] for one in found] == [
        "The output check failed for mtp: slot 1 accepted nothing.",
        "mtp is unsafe in memory",
        "No trial of mtp counts",
        "mtp is a diagnostic: its acceptance was set.",
    ]
    assert found[2] == "No trial of mtp counts, of 2 (failures in 2, unaccounted in 1)."


def test_what_was_never_measured_says_why_where_that_is_known() -> None:
    """A server that never came up was given up."""
    lost = [{"variant": "mtp", "reason": "it did not come up."}]
    assert excluded(summary(cells=[], given_up=lost), {}, "mtp") == ["mtp was never measured: it did not come up."]
    assert excluded(summary(cells=[]), {}, "mtp") == ["mtp was never measured."]


@pytest.mark.parametrize(
    ("changes", "asked", "clause"),
    [
        ({"memory": []}, True, "whether memory suffices for mtp (no memory was seen)"),
        (
            {"memory": [{**memory("mtp", "unknown"), "leak": None}]},
            True,
            "whether memory suffices for mtp (no budget was given to hold it against)",
        ),
        (
            {"memory": [{**memory("mtp"), "leak": True}]},
            True,
            "that mtp is restarted in time: its memory keeps growing",
        ),
        (
            {"output_check": []},
            True,
            "whether answers of mtp keep to their session (the output check was not made)",
        ),
        ({"output_check": []}, False, "whether answers of mtp keep to their session (the output check was off)"),
        (
            {"output_check": [check("mtp", "n/a", "nothing was asked")]},
            True,
            "whether answers of mtp keep to their session (nothing was asked)",
        ),
        (
            {"output_check": [check("mtp", "n/a")]},
            True,
            "whether answers of mtp keep to their session (the output check could not tell)",
        ),
        (
            {"given_up": [{"variant": "mtp", "reason": "its server died."}]},
            True,
            "that mtp stays up: the run gave it up (its server died)",
        ),
        (
            {"given_up": [{"variant": "mtp", "reason": None}]},
            True,
            "that mtp stays up: the run gave it up (no reason is known)",
        ),
    ],
)
def test_what_is_not_known_is_a_clause(changes: dict[str, Any], asked: bool, clause: str) -> None:
    """With the reason."""
    assert not_known(summary(**changes), "mtp", check_asked=asked) == [clause]
