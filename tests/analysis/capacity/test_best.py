"""The best variant at a level, of those that keep the limits there."""

from itertools import combinations

import pytest

from loadgen.analysis.capacity.best import Rivals, Stands, best_by_level, pick
from loadgen.analysis.capacity.rates import Rates
from loadgen.analysis.estimators.comparison import Call
from loadgen.analysis.speed.rate_curve import Curve

ABC = ("off", "a", "b")


def calls(**said: str) -> dict[tuple[str, str], Call]:
    """Calls by `a_off="pays"`; pairs that aren't named are unresolved."""
    found = {tuple(pair.split("_")): Call(call) for pair, call in said.items()}
    given = {(one, other): call for (one, other), call in found.items()}
    pairs = {pair: Call.UNRESOLVED for pair in combinations(ABC, 2) if pair not in given and pair[::-1] not in given}
    return {**pairs, **given}


@pytest.mark.parametrize(
    ("said", "keep", "stands", "among"),
    [
        ({"a_off": "pays", "a_b": "pays"}, "a", Stands.BEST, ()),
        ({"off_a": "costs", "b_a": "costs", "b_off": "same"}, "a", Stands.BEST, ()),
        ({"a_off": "costs", "b_off": "costs"}, "off", Stands.BEST, ()),
        ({"a_off": "same", "b_off": "costs", "a_b": "pays"}, "off", Stands.ALIKE, ("off", "a")),
        ({"a_off": "pays", "b_off": "pays", "a_b": "same"}, "a", Stands.ALIKE, ("a", "b")),
        ({"a_off": "pays", "b_off": "pays"}, None, Stands.UNRESOLVED, ("a", "b")),
        ({}, None, Stands.UNRESOLVED, ABC),
        ({"a_off": "pays", "off_b": "pays", "b_a": "pays"}, None, Stands.UNRESOLVED, ABC),
    ],
)
def test_the_best_surely_does_more_or_as_much(
    said: dict[str, str], keep: str | None, stands: Stands, among: tuple[str, ...]
) -> None:
    """Than each of the others; the baseline goes first where it is alike; else those that nothing beats stay open."""
    found = pick(ABC, "off", calls(**said))
    assert (found.keep, found.stands, found.among) == (keep, stands, among)


def test_one_alone_is_best_and_of_none_there_is_none() -> None:
    """Nothing to compare."""
    assert (pick(["a"], "off", {}).keep, pick(["a"], "off", {}).stands) == ("a", Stands.ALONE)
    assert (pick([], "off", {}).keep, pick([], "off", {}).stands) == (None, Stands.NONE)


def known(rounds: dict[int, list[float]]) -> Rates:
    """Rates by level, a round each."""
    return Rates({}, Curve({level: dict(enumerate(found, start=1)) for level, found in rounds.items()}), {})


SUMMARY = {
    "run": {"baseline": "off"},
    "comparisons": [
        {"variant": "a", "baseline": "off", "concurrency": 4, "metric": "tasks_per_hour", "call": "pays"},
        {"variant": "b", "baseline": "off", "concurrency": 4, "metric": "tasks_per_hour", "call": "pays"},
    ],
}


def test_calls_against_the_baseline_are_those_of_the_run() -> None:
    """In both directions; what was never compared is unresolved."""
    rivals = Rivals(SUMMARY, {"off": known({}), "a": known({}), "b": known({})}, 0.05)
    assert (rivals.call("a", "off", 4), rivals.call("off", "a", 4)) == (Call.PAYS, Call.COSTS)
    assert (rivals.call("a", "off", 8), rivals.call("a", "b", 4)) == (Call.UNRESOLVED, Call.UNRESOLVED)


def test_other_variants_are_compared_with_each_other() -> None:
    """Paired by round: 20 % more in every round is surely more, a wide spread isn't, and equal rounds are the same."""
    rates = {
        "off": known({4: [50.0] * 4}),
        "a": known({4: [100.0, 110.0, 90.0, 100.0], 8: [100.0] * 4, 16: [100.0] * 4}),
        "b": known({4: [120.0, 132.0, 108.0, 120.1], 8: [60.0, 160.0, 90.0, 110.0], 16: [100.0] * 4}),
    }
    rivals = Rivals(SUMMARY, rates, 0.05)
    assert [rivals.call("b", "a", level) for level in (4, 8, 16)] == [Call.PAYS, Call.UNRESOLVED, Call.SAME]
    assert rivals.call("a", "b", 4) is Call.COSTS


def test_what_may_keep_the_limits_leaves_the_best_open() -> None:
    """Unless it does no more anyway; the variant that does most of all is told beside."""
    rivals = Rivals(SUMMARY, {name: known({}) for name in ABC}, 0.05)
    found = best_by_level(
        {
            4: {"off": None, "a": True},
            8: {"off": True, "a": None},
            16: {"off": None, "a": None, "b": False},
            32: {"off": False, "a": False},
        },
        rivals,
        "off",
    )
    assert found == [
        {"concurrency": 4, "keep": "a", "call": "alone", "among": [], "not_told": ["off"], "most": "a"},
        {"concurrency": 8, "keep": None, "call": "unresolved", "among": ["off", "a"], "not_told": ["a"], "most": None},
        {
            "concurrency": 16, "keep": None, "call": "unresolved", "among": ["off", "a"], "not_told": ["off", "a"],
            "most": None,
        },
        {"concurrency": 32, "keep": None, "call": "none", "among": [], "not_told": [], "most": None},
    ]  # fmt: skip
