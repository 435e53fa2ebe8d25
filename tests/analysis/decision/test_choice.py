"""Which variant is kept: only one of which everything that must be known is known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.decision.choice import Answer, Choice, Standing, choose
from loadgen.analysis.diagnostic import Diagnostic
from tests.analysis.decision_grounds import (
    COSTS,
    OPEN,
    PAYS,
    SAME,
    check,
    equal_memory,
    grounds,
    memory,
    objective,
)


def chosen(choice: Choice) -> tuple[str, str | None, str | None]:
    """Answer, what is kept, and the variant in focus."""
    return choice.answer.value, choice.keep, choice.focus


@pytest.mark.parametrize(
    ("logs", "known", "answer"),
    [
        (PAYS, {}, ("keep", "mtp", "mtp")),
        (COSTS, {}, ("baseline", "off", "mtp")),
        (SAME, {}, ("baseline", "off", "mtp")),
        (OPEN, {}, ("unresolved", None, "mtp")),
        (PAYS[:1], {}, ("unresolved", None, "mtp")),
        ((), {}, ("no_pair", None, "mtp")),
        (PAYS, {"memory": [memory("mtp", "unknown")]}, ("condition", None, "mtp")),
        (PAYS, {"memory": []}, ("condition", None, "mtp")),
        (PAYS, {"memory": [memory("mtp", "unsafe"), memory("off")]}, ("baseline", "off", "mtp")),
        (PAYS, {"memory": [memory("mtp", "unsafe"), memory("off", "unknown")]}, ("baseline", "off", "mtp")),
        (PAYS, {"memory": [memory("mtp", "unsafe"), memory("off", "unsafe")]}, ("nothing", None, "mtp")),
        (OPEN, {"memory": [memory("mtp", "unsafe"), memory("off")]}, ("baseline", "off", "mtp")),
        (COSTS, {"memory": [memory("mtp"), memory("off", "unsafe")]}, ("nothing", None, "mtp")),
        (COSTS, {"memory": []}, ("baseline", "off", "mtp")),
        (PAYS, {"output_check": []}, ("keep", "mtp", "mtp")),
        (PAYS, {"output_check": [check("mtp", "n/a", "r")]}, ("keep", "mtp", "mtp")),
        (PAYS, {"output_check": [check("mtp", "failed", "r")]}, ("baseline", "off", None)),
        (PAYS, {"output_check": [check("off", "failed", "r")]}, ("failed", None, "mtp")),
        (PAYS, {"diagnostics": {"mtp": Diagnostic.SYNTHETIC}}, ("alone", None, None)),
        (PAYS, {"agents": 8}, ("not_measured", None, "mtp")),
    ],
)
def test_a_variant_is_kept_only_where_everything_is_known(logs: Any, known: Any, answer: Any) -> None:
    """It pays, its memory is safe, and its answers weren't found wrong; else the baseline, or nothing."""
    assert chosen(choose(grounds({("mtp", 4): logs}, **known))) == answer


@pytest.mark.parametrize(
    ("mtp", "off", "logs", "answer"),
    [
        (("yes", 0.97, None), ("yes", 0.97, None), PAYS, ("keep", "mtp")),
        (("no", 0.8, "ttft_s"), ("yes", 0.97, None), PAYS, ("baseline", "off")),
        (("no", 0.8, "ttft_s"), ("yes", 0.97, None), OPEN, ("baseline", "off")),
        (("no", 0.8, "ttft_s"), ("no", 0.8, "ttft_s"), PAYS, ("nothing", None)),
        (("yes", 0.97, None), ("no", 0.8, "ttft_s"), PAYS, ("keep", "mtp")),
        (("yes", 0.97, None), ("no", 0.8, "ttft_s"), COSTS, ("nothing", None)),
        (("unresolved", 0.96, None), ("yes", 0.97, None), PAYS, ("keep", "mtp")),
        (("unresolved", 0.94, "ttft_s"), ("yes", 0.97, None), PAYS, ("condition", None)),
    ],
)
def test_an_objective_that_is_missed_is_never_kept(mtp: Any, off: Any, logs: Any, answer: Any) -> None:
    """One that falls short by less than can be told is a condition; the baseline is held to it too."""
    entries = [
        objective(name, 4, meets, value, binds=binds) for name, (meets, value, binds) in (("mtp", mtp), ("off", off))
    ]
    assert chosen(choose(grounds({("mtp", 4): logs}, goodput=entries)))[:2] == answer


def test_of_several_that_pay_the_largest_lower_bound_is_kept() -> None:
    """Not the largest speed-up: that of b is larger, and its interval wider."""
    logs = {("a", 4): (0.30, 0.31, 0.32), ("b", 4): (0.20, 0.40, 0.60), ("c", 4): (0.10, 0.11, 0.12)}
    choice = choose(grounds({**logs, ("b", 4): (0.28, 0.35, 0.42)}))
    assert chosen(choice) == ("keep", "a", "a")
    assert choice.standings == {"a": Standing.KEEP, "b": Standing.KEEP, "c": Standing.KEEP}


def test_one_that_is_safe_goes_before_a_faster_one_that_may_not_be() -> None:
    """Unknown is never safe."""
    logs = {("a", 4): PAYS, ("b", 4): (0.10, 0.11, 0.12)}
    choice = choose(grounds(logs, memory=[memory("a", "unknown"), memory("b")]))
    assert chosen(choice) == ("keep", "b", "b")
    assert choice.of(Standing.IF_MEMORY) == ["a"]


def test_an_open_question_keeps_nothing() -> None:
    """One variant costs, of another nothing is known: which of it and the baseline to run can't be said."""
    for logs, answer in ((OPEN, "unresolved"), ((), "no_pair")):
        assert chosen(choose(grounds({("a", 4): COSTS, ("b", 4): logs}))) == (answer, None, "b")


def test_less_than_its_memory_does_as_slots_is_not_kept() -> None:
    """Where that was measured; a prediction doesn't decide. What ran with the slots may be kept itself."""
    beaten = equal_memory("mtp", "measured", 0.8, 0.9, "off-np6")
    assert chosen(choose(grounds({("mtp", 4): PAYS}, equal_memory=[beaten]))) == ("beaten", None, "mtp")
    both = {("mtp", 4): PAYS, ("off-np6", 4): (0.40, 0.41, 0.42)}
    assert chosen(choose(grounds(both, equal_memory=[beaten]))) == ("keep", "off-np6", "off-np6")
    for entry in (equal_memory("mtp", "predicted", 0.8, 0.9), equal_memory("mtp", "measured", 0.9, 1.1)):
        assert chosen(choose(grounds({("mtp", 4): PAYS}, equal_memory=[entry]))) == ("keep", "mtp", "mtp")
    unknown = {**beaten, "speedup": {"value": 0.8, "low": None, "high": None}}
    assert choose(grounds({("mtp", 4): PAYS}, equal_memory=[unknown])).answer is Answer.KEEP


_LOGS = st.sampled_from([PAYS, COSTS, SAME, OPEN, PAYS[:1], (), (0.3, 0.3, 0.3), (0.0, 0.0, 0.0)])
_SAFETY = st.sampled_from(["safe", "unsafe", "unknown"])
_CHECKS = st.sampled_from(["passed", "failed", "n/a"])
_MEETS = st.sampled_from(["yes", "no", "unresolved"])


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.tuples(_LOGS, _SAFETY, _CHECKS, _MEETS), min_size=1))
def test_what_is_kept_pays_is_safe_and_neither_wrong_nor_late(variants: Any) -> None:
    """Or it is the baseline: whatever a run found."""
    names = list(variants)
    choice = choose(
        grounds(
            {(name, 4): variants[name][0] for name in names},
            memory=[memory("off"), *(memory(name, variants[name][1]) for name in names)],
            output_check=[check("off"), *(check(name, variants[name][2], "r") for name in names)],
            goodput=[objective(name, 4, variants[name][3]) for name in names],
        )
    )
    if choice.keep not in (None, "off"):
        logs, safety, checked, meets = variants[choice.keep]
        assert logs in (PAYS, (0.3, 0.3, 0.3))
        assert (safety, checked == "failed", meets == "no") == ("safe", False, False)
    if choice.keep == "off":
        assert not choice.of(Standing.KEEP, Standing.UNRESOLVED, Standing.IF_MEMORY, Standing.NO_PAIR)
