"""The figures of a file of sessions."""

from typing import Any

import pytest

from loadgen.workload.recorded import Cancel, RecordedSession, RecordedTurn
from loadgen.workload.session_stats import TurnSize, describe, sizes

TOOLS = [{"type": "function", "function": {"name": "ls"}}]
"""50 characters as JSON."""


def turn(length: int, answer: int, **changes: Any) -> RecordedTurn:
    """A turn with a message and an answer of so many characters."""
    return RecordedTurn(
        messages=[{"role": "user", "content": "x" * length}],
        assistant={"role": "assistant", "content": "y" * answer} if answer else None,
        **changes,
    )


def session(*turns: RecordedTurn, name: str = "a", **changes: Any) -> RecordedSession:
    """A session of these turns."""
    return RecordedSession(session_id=name, turns=list(turns), **changes)


def test_tokens_are_estimated_by_characters() -> None:
    """Two characters a token, and 5 tokens around each message: 10 + 5 and 3; then 18 + 2 + 5."""
    assert sizes(session(turn(20, 6), turn(3, 4)), 2.0) == [
        TurnSize(prompt=15, added=15, output=3, counted=False),
        TurnSize(prompt=25, added=7, output=2, counted=False),
    ]


def test_tools_stand_in_front_of_the_first_prompt() -> None:
    """50 characters of tools are 25 tokens more, once."""
    first, second = sizes(session(turn(20, 6), turn(4, 4), tools=TOOLS), 2.0)
    assert (first.prompt, first.added) == (40, 40)
    assert (second.prompt, second.added) == (50, 7)


def test_what_the_file_counts_goes_before_estimates() -> None:
    """What is new is then the prompt less the one before and its answer; never below 0."""
    counted = session(
        turn(20, 6, input_tokens=100, output_tokens=10),
        turn(20, 6, input_tokens=130, output_tokens=20),
        turn(20, 6, input_tokens=120, output_tokens=5),
    )
    assert sizes(counted, 2.0) == [
        TurnSize(100, 100, 10, counted=True),
        TurnSize(130, 20, 20, counted=True),
        TurnSize(120, 0, 5, counted=True),
    ]


def test_a_count_of_answers_alone_counts_for_the_prompts_behind_them() -> None:
    """15 + 40 + 15 tokens."""
    assert [size.prompt for size in sizes(session(turn(20, 6, output_tokens=40), turn(20, 6)), 2.0)] == [15, 70]


def test_a_reset_begins_anew() -> None:
    """The prompt is what the turn holds, with the tools, and all of it is new."""
    compacted = sizes(session(turn(20, 6), turn(8, 6, history_reset="compact"), tools=TOOLS), 2.0)
    assert compacted[1] == TurnSize(prompt=34, added=34, output=3, counted=False)


def test_made_up_texts_have_the_tokens_that_they_name() -> None:
    """Messages and answers of which only the length is known."""
    made_up = RecordedTurn(
        messages=[{"role": "user", "tokens": 90, "corpus": "code"}], assistant={"role": "assistant", "tokens": 30}
    )
    assert sizes(session(made_up, made_up), 2.0) == [
        TurnSize(95, 95, 30, counted=False),
        TurnSize(220, 95, 30, counted=False),
    ]


def test_all_figures_of_a_small_file() -> None:
    """Every figure, by hand. Prompts 15, 25, 15; answers 3, 2, 0; deepest 27 and 15."""
    parent = session(
        turn(20, 6, kind="prose", spawn=["b"]),
        turn(3, 4, delay_s=1.5, delay_kind="tool", kind="tool_call", cancel=Cancel(after_tokens=1)),
    )
    child = session(turn(20, 0), name="b", parent_session_id="a")
    found = describe([parent, child], chars_per_token=2.0)
    three = {"p5": 15, "p25": 15, "p50": 15, "p75": 25, "p90": 25, "p95": 25, "max": 25}
    assert found["prompt_tokens"] == {"mean": pytest.approx(55 / 3), **three}
    assert found["added_tokens"]["mean"] == pytest.approx(37 / 3)
    assert found["output_tokens"] == {
        "mean": pytest.approx(5 / 3),
        "p5": 0,
        "p25": 0,
        "p50": 2,
        "p75": 3,
        "p90": 3,
        "p95": 3,
        "max": 3,
    }
    assert found["turns_per_session"]["max"] == 2
    assert found["first_prompt_tokens"]["mean"] == 15
    assert (found["deepest_tokens"]["p50"], found["deepest_tokens"]["max"]) == (15, 27)
    assert list(found["waits_s"]) == ["tool"]
    assert set(found["waits_s"]["tool"].values()) == {1.5}
    assert found["kinds"] == {"prose": 1, "tool_call": 1, "unknown": 1}
    assert found["prefix_reuse"] == pytest.approx(1 - 37 / 55)
    assert found["copy_rate"]["overall"] is None
    assert set(found["copy_rate"]["by_turn"].values()) == {None}
    assert found["fits"] == dict.fromkeys(("4096", "8192", "16384", "32768", "65536", "131072"), 2)
    counts = ("sessions", "roots", "turns", "sub_agents", "cancelled", "history_resets")
    assert [found[name] for name in counts] == [2, 1, 3, 1, 1, 0]
    assert (found["tokens"], found["chars_per_token"]) == ("estimated", 2.0)


def test_a_file_that_counts_all_its_tokens_says_so() -> None:
    """One estimated turn makes it *estimated*."""
    counted = turn(20, 6, input_tokens=100, output_tokens=10)
    assert describe([session(counted)])["tokens"] == "counted"
    assert describe([session(counted, turn(20, 6))])["tokens"] == "estimated"


def test_a_session_fits_a_context_that_holds_its_deepest_turn_with_the_answer() -> None:
    """4,096 tokens fit into 4,096; one more doesn't."""
    deep = [
        session(turn(1, 1, input_tokens=4000, output_tokens=answer), turn(1, 1, input_tokens=9, output_tokens=1))
        for answer in (96, 97)
    ]
    fits = describe(deep)["fits"]
    assert (fits["4096"], fits["8192"]) == (1, 2)


def test_the_wait_before_a_first_turn_counts_where_there_is_one() -> None:
    """0 seconds before the first call are no wait; 0 seconds later are."""
    found = describe([session(turn(1, 1), turn(1, 1, delay_kind="user")), session(turn(1, 1, delay_s=2.0), name="b")])
    assert {kind: (spread["p5"], spread["max"]) for kind, spread in found["waits_s"].items()} == {
        "arrival": (2.0, 2.0),
        "user": (0.0, 0.0),
    }


def test_a_file_without_sessions_has_no_figures() -> None:
    """Null, never 0 or an error."""
    found = describe([])
    assert (found["sessions"], found["prefix_reuse"], found["prompt_tokens"]["p50"]) == (0, None, None)
