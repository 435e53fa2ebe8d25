"""What a turn should find in the cache: what the turn before it left there."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.analysis.measured.cached import Expectation, cache_use, expectations
from loadgen.analysis.measured.cell import cell
from loadgen.records.model import Outcome, Phase


def turns(make: Any, *fields: dict[str, Any]) -> list[Any]:
    """Turns 0, 1, … of one session, each of 100 more prompt tokens and with an answer of 10."""
    return [
        make.request(
            start=number, last=number + 1, turn=number, turns=len(fields),
            **{"prompt_tokens": 100 * (number + 1), "cached_tokens": 0, **own},
        )
        for number, own in enumerate(fields)
    ]  # fmt: skip


def test_the_prompt_before_is_expected_with_its_answer_where_that_stays(make: Any) -> None:
    """100 tokens; and 9 of the 10 of an answer that later prompts have, the last of which was never evaluated."""
    found = list(expectations(turns(make, {"answer_kept": True}, {"answer_kept": False, "cached_tokens": 109}, {}, {})))
    assert found == [Expectation(1, 109, 109), Expectation(2, 200, 0), Expectation(3, 300, 0)]


def test_of_an_answer_that_was_not_compared_nothing_is_expected(make: Any) -> None:
    """As in runs that did not write it down: the prompt before alone."""
    assert list(expectations(turns(make, {}, {}))) == [Expectation(1, 100, 0)]


def test_a_prompt_that_begins_anew_expects_nothing_and_is_gone_on_from(make: Any) -> None:
    """What was summed up shares nothing with the history before; what follows shares the summary."""
    found = list(expectations(turns(make, {}, {"begins_anew": True, "prompt_tokens": 50}, {"cached_tokens": 50})))
    assert found == [Expectation(2, 50, 50)]
    trial = make.trial(turns(make, {}, {"begins_anew": True, "prompt_tokens": 50}))
    assert trial.redone == (0, 0)


def test_no_more_than_the_prompt_is_expected(make: Any) -> None:
    """A template that drops reasoning makes the next prompt shorter than what was left."""
    assert list(expectations(turns(make, {"prompt_tokens": 500}, {"prompt_tokens": 300}))) == [Expectation(1, 300, 0)]


def test_more_than_expected_may_be_found(make: Any) -> None:
    """Answers that differ may begin alike: nothing is missing then."""
    (use,) = cache_use(turns(make, {}, {"cached_tokens": 105})).values()
    assert (use.turns, use.expected, use.missing) == (1, 100, 0)


@pytest.mark.parametrize(
    "broken",
    [
        {"outcome": Outcome.CANCELLED},
        {"cached_tokens": None},
        {"session": "other"},
        {"agent": 1},
    ],
)
def test_only_what_follows_a_turn_whose_cache_is_known_is_expected(make: Any, broken: dict[str, Any]) -> None:
    """Turn 1 is missing between 0 and 2: nobody knows what it left."""
    assert list(expectations(turns(make, {}, broken, {}))) == []


def test_only_turns_of_the_segment_count_and_those_before_them_are_known(make: Any) -> None:
    """The warm-up leaves the prompt so far."""
    requests = turns(make, {"phase": Phase.WARMUP}, {}, {"phase": Phase.DRAIN})
    assert list(expectations(requests)) == [Expectation(1, 100, 0)]


def test_an_answer_that_is_asked_for_again_expects_what_the_first_call_did(make: Any) -> None:
    """A cancelled call and its repetition are one turn."""
    first, second = turns(make, {}, {"attempt": 2, "cached_tokens": 100})
    cancelled = make.request(start=0.5, turn=1, turns=2, outcome=Outcome.CANCELLED, prompt_tokens=None)
    assert list(expectations([first, cancelled, second])) == [Expectation(1, 100, 100)]


def test_a_cell_has_the_share_that_was_found_and_the_share_of_equal_answers(make: Any) -> None:
    """150 of 309 tokens; 2 of 3 answers that were compared, of four."""
    requests = turns(
        make,
        {"answer_equal": True, "answer_kept": True},
        {"answer_equal": False, "answer_kept": False, "cached_tokens": 150},
        {"answer_equal": True, "cached_tokens": 50},
        {"cached_tokens": 309},
    )
    found = make.strict_json(cell([make.trial(requests[:3])]))
    assert found["expected_cached_share"]["value"] == pytest.approx((109 + 50) / 309)
    assert found["answers_equal_share"]["value"] == pytest.approx(2 / 3)
    assert cell([make.trial(requests)])["answers_equal_share"]["value"] == pytest.approx(2 / 3)
    unknown = cell([make.trial(turns(make, {"cached_tokens": None}))])
    assert (unknown["expected_cached_share"]["value"], unknown["answers_equal_share"]["value"]) == (None, None)


REQUESTS = st.lists(
    st.fixed_dictionaries(
        {
            "prompt_tokens": st.none() | st.integers(0, 999),
            "cached_tokens": st.none() | st.integers(0, 999),
            "completion_tokens": st.none() | st.integers(0, 99),
            "turn": st.integers(0, 3),
            "answer_kept": st.none() | st.booleans(),
            "begins_anew": st.none() | st.booleans(),
            "session": st.sampled_from(["a", "b"]),
        }
    ),
    max_size=8,
)


@given(REQUESTS)
def test_whatever_is_recorded_nothing_negative_is_expected(make: Any, fields: list[dict[str, Any]]) -> None:
    """Nor more than the whole prompt, and what is missing was expected."""
    requests = [make.request(**one) for one in fields]
    most = max((one.prompt_tokens or 0 for one in requests), default=0)
    uses = cache_use(requests)
    assert list(uses) == sorted(uses)
    for one in uses.values():
        assert 0 <= one.flagged_missing <= one.missing <= one.expected <= one.turns * most
        assert one.flagged <= one.turns
