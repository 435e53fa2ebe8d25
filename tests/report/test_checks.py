"""The lines of what was checked."""

from typing import Any

import pytest

from loadgen.report.checks import answers_text, drift_text


def entry(variant: str, result: str, *reasons: str, answers: Any = None) -> dict[str, Any]:
    """An output check as the summary holds it."""
    return {
        "variant": variant, "concurrency": 4, "result": result, "reasons": list(reasons), "drafted": None,
        "accepted": None, "answers": answers,
    }  # fmt: skip


def test_the_output_check_is_one_line() -> None:
    """Who passed is named, who didn't with the reasons; variants with the same reasons share them."""
    assert answers_text([]) == "output check: not made"
    assert answers_text([entry("off", "passed"), entry("mtp", "passed")]) == "output check: off passed, mtp passed"
    assert answers_text([entry("off", "n/a", "random weights"), entry("mtp", "n/a", "random weights")]) == (
        "output check: off and mtp n/a (random weights)"
    )
    assert answers_text([entry("off", "passed"), entry("mtp", "failed", "a is empty", "slot 1 is dead")]) == (
        "output check: off passed, mtp failed (a is empty; slot 1 is dead)"
    )


def test_changed_answers_are_told_with_their_proportions() -> None:
    """Both shares, their difference and its interval; the baseline has no call."""
    estimate = {"value": 0.15, "low": 0.07, "high": 0.29, "n": 40}
    noise = {"agents": 4, "changed": estimate, "batch_noise": estimate, "difference": {"value": None}, "call": None}
    changes = {
        "agents": 4, "changed": {**estimate, "value": 0.2}, "batch_noise": estimate,
        "difference": {"value": 0.05, "low": -0.04, "high": 0.14, "n": 40}, "call": "no",
    }  # fmt: skip
    assert answers_text([entry("off", "passed", answers=noise), entry("mtp", "passed", answers=changes)]) == (
        "output check: off passed, mtp passed; mtp changes answers beyond batch noise: no (20.0 % of 40 at 4 agents, "
        "batching alone 15.0 %; difference 5.00 %, 95 % interval -4.00 % to 14.0 %)"
    )


@pytest.mark.parametrize(("exceeds", "ending"), [(False, ""), (True, ": more than noise explains")])
def test_drift_is_told_beside_what_noise_explains(exceeds: bool, ending: str) -> None:
    """A ratio and the range on both sides of 1."""
    drift = {"variant": "off", "concurrency": 1, "ratio": 0.9, "limit": 1.25, "exceeds": exceeds}
    assert drift_text(drift) == (
        "off at 1 agent, the first trial, repeated at the end: 0.900 times its tasks per hour; noise explains 0.800 "
        f"to 1.250{ending}"
    )
