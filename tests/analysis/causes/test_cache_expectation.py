"""Rules of cached tokens by turn: expected, found, flagged, and what missing ones cost."""

from typing import Any

import pytest

from loadgen.analysis.causes.cache_expectation import cache_expectation
from loadgen.analysis.measured.cached import is_flagged


def session(make: Any, *cached: int, name: str = "s", timed: bool = True, **fields: Any) -> list[Any]:
    """Turns of 1000, 2000 … prompt tokens of which so many were cached, read at 2 ms a token."""
    return [
        make.request(
            start=turn, first=turn + 0.5, last=turn + 1, turn=turn, turns=len(cached), session=name,
            prompt_tokens=1000 * (turn + 1), cached_tokens=kept, completion_tokens=101,
            timings={"prompt_n": 1000 * (turn + 1) - kept, "prompt_ms": 2.0 * (1000 * (turn + 1) - kept)}
            if timed
            else None,
            **fields,
        )
        for turn, kept in enumerate(cached)
    ]  # fmt: skip


def test_turns_under_90_percent_are_flagged_with_the_seconds_they_lost(make: Any) -> None:
    """Of 1000, 2000 and 3000 expected, 950, 1700 and 3000 are found: one turn misses 300 tokens, 0.6 s at 2 ms."""
    found = cache_expectation([make.trial(session(make, 0, 950, 1700, 3000))])
    assert found is not None
    assert (found["turns"], found["expected_tokens"], found["cached_tokens"]) == (3, 6000, 5650)
    assert found["flagged"] == {"turns": 1, "share": pytest.approx(1 / 3), "tokens": 300, "seconds": pytest.approx(0.6)}


def test_turns_are_told_apart_by_their_place_in_the_session(make: Any) -> None:
    """Means over the sessions of the cell; the first turn expects nothing and has no entry."""
    requests = [*session(make, 0, 1000, 2000), *session(make, 0, 500, name="t")]
    found = cache_expectation([make.trial(requests)])
    assert found is not None
    assert found["by_turn"] == [
        {"turn": 1, "turns": 2, "expected_tokens": 1000, "cached_tokens": 750, "flagged": 1},
        {"turn": 2, "turns": 1, "expected_tokens": 2000, "cached_tokens": 2000, "flagged": 0},
    ]


def test_trials_have_their_own_speed(make: Any) -> None:
    """Each trial's missing tokens are timed by its own answers: 1000 · 2 ms + 500 · 4 ms."""
    slow = [
        make.request(
            start=turn, last=turn + 1, turn=turn, turns=2, prompt_tokens=1000 * (turn + 1), cached_tokens=kept,
            timings={"prompt_n": 1000, "prompt_ms": 4000.0},
        )
        for turn, kept in enumerate((0, 500))
    ]  # fmt: skip
    found = cache_expectation([make.trial(session(make, 0, 0)), make.trial(slow, round=2)])
    assert found is not None
    assert (found["flagged"]["tokens"], found["flagged"]["seconds"]) == (1500, pytest.approx(4.0))


def test_without_timings_the_seconds_are_null_where_something_is_missing(make: Any) -> None:
    """And 0 where nothing is."""
    missing = cache_expectation([make.trial(session(make, 0, 0, timed=False))])
    assert missing is not None
    assert (missing["flagged"]["turns"], missing["flagged"]["seconds"]) == (1, None)
    whole = cache_expectation([make.trial(session(make, 0, 1000, timed=False))])
    assert whole is not None
    assert whole["flagged"] == {"turns": 0, "share": 0.0, "tokens": 0, "seconds": 0.0}


@pytest.mark.parametrize(
    ("expected", "cached", "flagged"),
    [(1000, 900, False), (1000, 899, True), (40, 32, False), (40, 31, True), (0, 0, False), (100, 200, False)],
)
def test_a_flag_needs_a_tenth_and_more_than_the_tail_of_a_template(expected: int, cached: int, flagged: bool) -> None:
    """Of a short prompt the head of the answer is more than a tenth: 8 tokens are never a loss."""
    assert is_flagged(expected - cached, expected) is flagged


def test_answers_are_counted_where_they_were_compared(make: Any) -> None:
    """Turns without a history tell that too; null where none was compared, and no entry where nothing is known."""
    compared = cache_expectation([make.trial(session(make, 0, answer_equal=True, answer_kept=False))])
    assert compared is not None
    assert (compared["answers_equal"], compared["answers_compared"]) == (1, 1)
    assert (compared["answers_kept"], compared["answers_known"]) == (0, 1)
    live = cache_expectation([make.trial(session(make, 0, answer_kept=True))])
    assert live is not None
    assert (live["answers_equal"], live["answers_compared"], live["answers_kept"], live["answers_known"]) == (
        None, None, 1, 1,
    )  # fmt: skip
    assert (compared["turns"], compared["flagged"]["share"], compared["by_turn"]) == (0, None, [])
    plain = cache_expectation([make.trial(session(make, 0, 1000))])
    assert plain is not None
    assert (plain["answers_equal"], plain["answers_compared"], plain["answers_kept"]) == (None, None, None)
    assert cache_expectation([make.trial(session(make, 0))]) is None
    assert cache_expectation([]) is None


def test_an_answer_that_stays_is_expected_in_the_cache(make: Any) -> None:
    """1000 of the prompt and 100 of the answer's 101 tokens: a template that drops them is flagged."""
    dropped = cache_expectation([make.trial(session(make, 0, 980, answer_kept=True))])
    assert dropped is not None
    assert (dropped["expected_tokens"], dropped["flagged"]["tokens"]) == (1100, 120)
