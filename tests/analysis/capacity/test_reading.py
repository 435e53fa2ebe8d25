"""Limits held against the figures of a summary: kept, missed, or not to be told."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from loadgen.analysis.capacity.limit import Limits, parse_limits
from loadgen.analysis.capacity.reading import ATTAINMENT, MEAN_TASK, TASKS, TRIALS, Reading, overall, readings
from loadgen.analysis.decision.goodput import Meets
from tests.analysis.decision_grounds import objective, task_limit

NULL = {"value": None, "low": None, "high": None, "n": 0, "estimable": False}


def estimate(value: float | None, low: float | None, high: float | None, n: int = 100) -> dict[str, Any]:
    """As it stands in a summary."""
    return {"value": value, "low": low, "high": high, "n": n}


def cell(level: int = 4, *, valid: int = 3, **quantiles: Any) -> dict[str, Any]:
    """A cell with these p95 and maxima; without them nothing was measured of a quantity."""
    plain = {f"{name}_s": {"p95": NULL, "max": NULL} for name in ("ttft", "tpot", "task")}
    given = {
        f"{name}_s": {"p95": found, "max": {**found, "low": None, "high": None}} for name, found in quantiles.items()
    }
    return {
        "variant": "off", "concurrency": level, "trials": 3, "valid_trials": valid, "started": 100, "classes": [],
        **plain, **given,
    }  # fmt: skip


def read(
    cells: Sequence[Mapping[str, Any]], limits: Limits | str, goodput: Sequence[Mapping[str, Any]] = ()
) -> dict[str, list[Reading]]:
    """The readings of `off`, in a summary of these cells."""
    summary = {"cells": cells, "goodput": goodput, "output_check": [], "run": {"baseline": "off"}}
    return readings(summary, parse_limits(limits) if isinstance(limits, str) else limits, "off")


@pytest.mark.parametrize(
    ("figure", "excess", "best", "worst", "meets"),
    [
        (estimate(1.0, 0.5, 1.5), math.log(0.5), math.log(0.25), math.log(0.75), Meets.YES),
        (estimate(2.0, 1.0, 2.0), 0.0, math.log(0.5), 0.0, Meets.YES),
        (estimate(1.9, 1.5, 2.1), math.log(0.95), math.log(0.75), math.log(1.05), Meets.UNRESOLVED),
        (estimate(4.0, 3.0, 8.0), math.log(2.0), math.log(1.5), math.log(4.0), Meets.NO),
        (estimate(4.0, 3.0, None), math.log(2.0), math.log(1.5), math.inf, Meets.NO),
        (estimate(1.0, 0.5, None, 20), None, math.log(0.25), None, Meets.UNRESOLVED),
        (estimate(1.0, None, None, 1), None, None, None, Meets.UNRESOLVED),
        (estimate(0.0, 0.0, 1.0), math.log(5e-10), math.log(5e-10), math.log(0.5), Meets.YES),
    ],
)
def test_a_percentile_is_kept_by_its_upper_bound(
    figure: dict[str, Any], excess: float | None, best: float | None, worst: float | None, meets: Meets
) -> None:
    """Held against 2 s: without an upper bound it isn't kept, and missed only where the lower one is beyond."""
    (found,) = read([cell(ttft=figure)], "ttft_p95<2s")["ttft_p95<2s"]
    assert (found.excess, found.best, found.worst) == (
        excess if excess is None else pytest.approx(excess),
        best if best is None else pytest.approx(best),
        worst if worst is None else pytest.approx(worst),
    )
    assert (found.meets, found.asked) == (meets, 2.0)


def test_too_few_values_are_counted() -> None:
    """So that the reader knows what more would tell."""
    limits = "ttft_p95<2s,task_p95<5m"
    found = read([cell(ttft=estimate(1.0, 0.5, None, 20), task=estimate(60.0, 50.0, None, 8))], limits)
    assert found["ttft_p95<2s"][0].reason == "20 values are too few for p95"
    assert found["task_p95<5m"][0].reason == "8 whole tasks are too few for p95"


def test_a_maximum_needs_no_interval() -> None:
    """It was seen."""
    (found,) = read([cell(ttft=estimate(1.0, 0.5, None, 20))], "ttft_max<2s")["ttft_max<2s"]
    assert (found.meets, found.excess, found.worst) == (Meets.YES, math.log(0.5), math.log(0.5))


def test_what_was_not_measured_is_neither_kept_nor_missed() -> None:
    """With the reason of the figure."""
    (found,) = read([cell()], "tpot_p95<80ms")["tpot_p95<80ms"]
    assert (found.meets, found.excess, found.reason) == (None, None, "tpot.p95 was not measured of off at 4")


def test_a_cell_without_a_valid_trial_tells_nothing() -> None:
    """However its figures would look; levels come out ascending."""
    found = read([cell(8, valid=0), cell(4)], Limits())
    assert list(found) == [TRIALS]
    assert [(one.concurrency, one.meets, one.reason) for one in found[TRIALS]] == [
        (4, Meets.YES, None),
        (8, None, "none of its 3 trials counts"),
    ]


def test_a_task_that_nobody_saw_whole_may_still_be_missed_by_its_mean() -> None:
    """600 s on average are no 300; 100 s on average say nothing of the slowest, so that it can't be told."""
    slow = objective("off", 8, "no", task_s_estimated=estimate(600.0, 580.0, 620.0))
    quick = objective("off", 4, "yes", task_s_estimated=estimate(100.0, 90.0, 110.0))
    found = read([cell(4), cell(8)], "task_p95<5m", [quick, slow])
    assert [one.meets for one in found["task_p95<5m"]] == [None, None]
    assert [one.meets for one in found[MEAN_TASK]] == [Meets.YES, Meets.NO]
    assert [one.excess for one in found[MEAN_TASK]] == [pytest.approx(math.log(1 / 3)), pytest.approx(math.log(2))]
    by_level = [[one[place] for one in found.values()] for place in (0, 1)]
    assert [overall(of) for of in by_level] == [Meets.UNRESOLVED, Meets.NO]


def test_where_tasks_are_told_their_mean_is_not_asked() -> None:
    """Whole ones say more."""
    assert MEAN_TASK not in read([cell(task=estimate(60.0, 50.0, 80.0))], "task_p95<5m")


def test_a_mean_without_a_credit_tells_nothing() -> None:
    """No goodput at the level, or nothing earned."""
    nothing = objective("off", 4, None, task_s_estimated=NULL)
    found = read([cell(4), cell(8)], "task_p95<5m", [nothing])[MEAN_TASK]
    assert [(one.meets, one.reason) for one in found] == [(None, "no turn earned anything")] * 2


@pytest.mark.parametrize(
    ("share", "excess", "best", "worst", "meets"),
    [
        (estimate(0.99, 0.96, 1.0), -0.04, -0.05, -0.01, Meets.YES),
        (estimate(0.96, 0.90, 0.99), -0.01, -0.04, 0.05, Meets.UNRESOLVED),
        (estimate(0.80, 0.70, 0.90), 0.15, 0.05, 0.25, Meets.NO),
        (estimate(1.0, None, None), -0.05, None, None, Meets.UNRESOLVED),
    ],
)
def test_an_attainment_is_kept_by_its_lower_bound(
    share: dict[str, Any], excess: float, best: float | None, worst: float | None, meets: Meets
) -> None:
    """95 % are asked for; without an interval nothing is sure."""
    entry = objective("off", 4, "yes")
    entry["requests"]["attainment"] = share
    (found,) = read([cell()], "ttft=2s", [entry])[ATTAINMENT]
    assert found.meets is meets
    assert found.excess == pytest.approx(excess)
    assert (found.best, found.worst) == (
        best if best is None else pytest.approx(best),
        worst if worst is None else pytest.approx(worst),
    )


def test_a_limit_that_nothing_was_measured_of_can_not_be_kept() -> None:
    """All requests are good then, for want of a value."""
    entry = objective("off", 4, "unresolved", 1.0)
    entry["limits"] = [{**entry["limits"][0], "attainment": NULL}]
    (found,) = read([cell()], "ttft=2s", [entry])[ATTAINMENT]
    assert (found.excess, found.meets, found.reason) == (None, Meets.UNRESOLVED, "no request has a ttft")


def test_tasks_have_an_attainment_of_their_own() -> None:
    """Whole ones by their share, else the mean by their turns; without a limit on requests only theirs is held."""
    whole = objective("off", 4, "yes")
    whole["limits"] = [task_limit(estimated=False, attainment=estimate(0.99, 0.97, 1.0))]
    found = read([cell()], "task=10m", [whole])
    assert list(found) == [TRIALS, TASKS]
    assert found[TASKS][0].meets is Meets.YES
    partly = objective("off", 4, "no", task_s_estimated=estimate(1200.0, 1100.0, 1300.0))
    partly["limits"] = [*partly["limits"], task_limit(estimated=True)]
    both = read([cell()], "ttft=2s,task=10m", [partly])
    assert list(both) == [TRIALS, ATTAINMENT, TASKS, MEAN_TASK]
    assert (both[TASKS][0].meets, both[TASKS][0].reason) == (None, "no whole task was seen")
    assert both[MEAN_TASK][0].excess == pytest.approx(math.log(2))


def test_without_a_valid_trial_there_is_no_attainment() -> None:
    """Null, and no crash."""
    empty = objective("off", 4, None, None)
    (found,) = read([cell(valid=0)], "ttft=2s", [empty])[ATTAINMENT]
    assert (found.meets, found.reason) == (None, "no attempt counts")
    assert read([cell(valid=0)], "ttft=2s")[ATTAINMENT][0].meets is None


def test_a_level_is_within_where_every_limit_is_kept() -> None:
    """Missed where one is, unresolved where one is open, null where nothing was measured."""

    def of(*parts: tuple[float | None, float | None]) -> Meets | None:
        return overall([Reading("a", 4, best=best, worst=worst) for best, worst in parts])

    yes, no, null = (-2.0, -1.0), (1.0, 2.0), (None, None)
    assert [of(yes, yes), of(yes, no), of(null, no), of(yes, null), of(null, null)] == [
        Meets.YES,
        Meets.NO,
        Meets.NO,
        Meets.UNRESOLVED,
        None,
    ]


def shared(level: int, **classes: Any) -> dict[str, Any]:
    """A cell of a mix: each class with its p95 of the time to the first token."""
    entries = [{"name": name, "agents": 2, **cell(level, ttft=found)} for name, found in classes.items()]
    return {**cell(level, ttft=estimate(9.0, 8.0, 10.0)), "classes": entries}


def test_each_class_of_a_mix_is_held_against_the_limits_that_apply_to_it() -> None:
    """A percentile without a class is for each; one with a class for that alone, at the levels where it has agents."""
    quick, slow = estimate(1.0, 0.9, 1.1), estimate(4.0, 3.9, 4.1)
    cells = [shared(1, chat=quick), shared(4, chat=quick, batch=slow)]
    each = read(cells, "ttft_p95<2s")
    assert {name: [(one.concurrency, one.meets) for one in of] for name, of in each.items() if name != TRIALS} == {
        "chat: ttft_p95<2s": [(1, Meets.YES), (4, Meets.YES)],
        "batch: ttft_p95<2s": [(4, Meets.NO)],
    }
    assert list(read(cells, "chat:ttft_p95<2s")) == [TRIALS, "chat:ttft_p95<2s"]


def test_each_class_of_a_mix_has_its_own_attainment() -> None:
    """Which is not that of all requests together; a class without a limit is not held against any."""
    entry = objective("off", 4, "yes")
    chat = objective("off", 4, "no", task_s_estimated=estimate(700.0, 650.0, 750.0))
    chat["requests"]["attainment"] = estimate(0.5, 0.4, 0.6)
    entry["classes"] = [{"work_class": "chat", **chat}]
    cells = [shared(4, chat=estimate(1.0, 0.9, 1.1), batch=estimate(1.0, 0.9, 1.1))]
    found = read(cells, "chat:ttft=1s,chat:task=5m", [entry])
    assert list(found) == [TRIALS, f"chat: {ATTAINMENT}", f"chat: {TASKS}", f"chat: {MEAN_TASK}"]
    assert found[f"chat: {ATTAINMENT}"][0].excess == pytest.approx(0.45)
    assert found[f"chat: {MEAN_TASK}"][0].meets is Meets.NO
