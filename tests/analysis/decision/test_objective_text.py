"""An objective in sentences: a share never reads as the one asked for unless it is that."""

from typing import Any

import pytest

from loadgen.analysis.decision.objective_text import objective, percent
from tests.analysis.decision_grounds import objective as entry
from tests.analysis.decision_grounds import task_limit


@pytest.mark.parametrize(
    ("x", "beside", "text"),
    [
        (0.95, 0.95, "95 %"),
        (0.9496, 0.95, "94.96 %"),
        (0.95004, 0.95, "95.004 %"),
        (0.9500001, 0.95, "just above 95 %"),
        (0.9499999, 0.95, "just below 95 %"),
        (0.9496, None, "95 %"),
        (1.0, 0.95, "100 %"),
        (0.9996, 0.95, "99.96 %"),
        (0.9999999, None, "just below 100 %"),
        (0.0, 0.95, "0 %"),
        (0.0004, 0.95, "0.04 %"),
        (0.875, 0.95, "87.5 %"),
        (0.1, 0.95, "10 %"),
    ],
)
def test_a_share_shows_on_which_side_it_lies(x: float, beside: float | None, text: str) -> None:
    """Of 0, of 100 and of the share asked for."""
    assert percent(x, beside) == text


@pytest.mark.parametrize(
    ("meets", "value", "share", "said"),
    [
        (
            "yes",
            0.97,
            "97 % of 200 requests of mtp keep every limit (95 % interval 96 % to 98 %)",
            "it meets the objective",
        ),
        (
            "no",
            0.8,
            "80 % of 200 requests of mtp keep every limit (95 % interval 79 % to 81 %)",
            "it misses the objective",
        ),
        (
            "unresolved",
            0.94,
            "94 % of 200 requests of mtp keep every limit (95 % interval 89 % to 96 %)",
            "whether it meets the objective is unresolved",
        ),
    ],
)
def test_attainment_is_said_with_what_was_asked_for(meets: str, value: float, share: str, said: str) -> None:
    """With its interval, which agrees with what is said of it."""
    text = f"{share}, 95 % are asked for; 1,200 good requests per hour: {said}."
    assert objective(entry("mtp", 4, meets, value)) == text


def test_without_a_valid_trial_nothing_is_known() -> None:
    """No share, and no rate."""
    assert objective(entry("mtp", 4, None, None)) == (
        "Whether mtp meets the objective is unknown: no valid trial of it is left."
    )


def _tasks(**fields: Any) -> str:
    of = entry("mtp", 4, "no")
    estimated = fields.pop("task_s_estimated", {"value": 750.0, "low": 700.0, "high": 800.0})
    limit = task_limit(estimated=True, **fields)
    parts = objective({**of, "limits": [*of["limits"], limit], "task_s_estimated": estimated}).split("; ")
    return parts[1]


def test_tasks_are_judged_whole_or_estimated_from_their_turns() -> None:
    """And it says which; without either, that nothing was seen."""
    share = {"value": 0.875, "low": 0.529, "high": 0.978, "n": 8}
    assert _tasks(attainment=share, attempted=8) == (
        "87.5 % of its 8 whole tasks keep 600 s (95 % interval 52.9 % to 97.8 %)"
    )
    assert _tasks(attainment={**share, "low": None, "high": None}, attempted=8) == (
        "87.5 % of its 8 whole tasks keep 600 s (without an interval)"
    )
    assert _tasks() == (
        "no whole task was seen to hold against 600 s, and by its turns one takes 750 s on average (estimated, 95 % "
        "interval 700 to 800 s)"
    )
    single = {"value": 750.0, "low": None, "high": None}
    assert _tasks(task_s_estimated=single).endswith("takes 750 s on average (estimated)")
    nothing = {"value": None, "low": None, "high": None}
    assert _tasks(task_s_estimated=nothing) == "no whole task was seen to hold against 600 s"
