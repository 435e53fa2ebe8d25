"""agentic-bench's sessions."""

from typing import Any

import pytest

from loadgen.workload.formats import abench, recognise
from tests.workload.formats.reading import only, read, texts


def step(index: int = 0, **more: Any) -> dict[str, Any]:
    """A turn in agentic-bench's shape."""
    return {
        "index": index,
        "input_delta": [{"role": "user", "content": "hi"}],
        "assistant_text": "ok",
        "input_tokens": 10,
        "output_tokens": 3,
        "cached_tokens": 0,
        "pre_gap_ms": 0.0,
        "tool_calls": [],
        **more,
    }


def row(*steps: Any, name: Any = "s1", **more: Any) -> dict[str, Any]:
    """A session in agentic-bench's shape."""
    source = {"dataset": "deepswe", "agent": "swe", "model": "m", "trial": 2}
    return {"session_id": name, "source": source, "system_prompt": "", "turns": list(steps) or [step()], **more}


def test_a_row_is_a_session_with_its_counts() -> None:
    """And with where it comes from; its waits are marked as partly assumed."""
    session = only(abench, row(step(), step(1, input_tokens=20, cached_tokens=13)))
    assert session.session_id == "s1"
    assert session.source == {
        "name": "deepswe",
        "model": "m",
        "harness": "swe",
        "trial": 2,
        "delays": "pre_gap_ms less output_tokens / 140 tokens/s (assumed)",
    }
    first, second = session.turns
    assert first.messages == [{"role": "user", "content": "hi"}]
    assert first.assistant == {"role": "assistant", "content": "ok"}
    assert (first.input_tokens, first.output_tokens, first.cached_tokens, first.kind) == (10, 3, 0, "prose")
    assert (second.input_tokens, second.cached_tokens, second.delay_kind) == (20, 13, "user")


@pytest.mark.parametrize(
    ("gap_ms", "tokens", "delay_s"),
    [(3000.0, 140, 2.0), (3000.0, 0, 3.0), (500.0, 140, 0.0), (0.0, 5, 0.0), (1500, None, 1.5), (None, 140, 0.0)],
)
def test_the_wait_is_the_gap_without_the_time_of_its_answer(
    gap_ms: float | None, tokens: int | None, delay_s: float
) -> None:
    """140 tokens are taken to have been written in one second; a wait is never below 0."""
    (_, second) = only(abench, row(step(), step(1, pre_gap_ms=gap_ms, output_tokens=tokens))).turns
    assert second.delay_s == pytest.approx(delay_s)


def test_calls_stand_in_the_answers_text_and_results_come_as_the_users() -> None:
    """A result has no id by which it could answer a call."""
    result = [{"role": "tool", "content": "a.py"}]
    first, second = only(
        abench, row(step(assistant_text="<call>ls", tool_calls=[{"name": "ls"}]), step(1, input_delta=result))
    ).turns
    assert (first.assistant, first.kind) == ({"role": "assistant", "content": "<call>ls"}, "tool_call")
    assert (second.messages, second.delay_kind) == ([{"role": "user", "content": "a.py"}], "tool")


def test_an_answer_without_text_is_not_known() -> None:
    """Its length is."""
    (turn,) = only(abench, row(step(assistant_text=""))).turns
    assert (turn.assistant, turn.kind, turn.output_tokens) == (None, None, 3)


def test_a_system_prompt_that_was_taken_out_is_made_up() -> None:
    """As long as what the first prompt counts beyond its messages: 900 tokens less 6 characters at 3 a token."""
    session = only(abench, row(step(input_delta=[{"role": "user", "content": "hi you"}], input_tokens=900)))
    assert session.turns[0].messages[0] == {"role": "system", "tokens": 898, "corpus": "prose", "seed": "system"}
    assert session.source["system_prompt"] == "made up: 898 tokens"


def test_a_system_prompt_that_is_there_is_taken() -> None:
    """Then nothing is made up, whatever the file counts."""
    session = only(abench, row(step(input_tokens=900), system_prompt="You fix."))
    assert session.turns[0].messages[0] == {"role": "system", "content": "You fix."}
    assert "system_prompt" not in session.source


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "the row is no JSON object"),
        (row(name=None), "session_id is missing"),
        (row(name=5), "session_id is no text"),
        (row(), "session_id 's1' stands on line 1 already"),
        (row(name="s2", turns=[]), "turns is empty"),
        (row(5, name="s2"), "turns is no list of objects"),
        (row(step(input_delta=[]), name="s2"), "turns[0].input_delta is empty"),
        (row(step(input_delta="x"), name="s2"), "turns[0].input_delta is no list of objects"),
        (row(step(), step(input_delta=[{}]), name="s2"), "turns[1].input_delta[0].role is missing"),
        (row(step(input_delta=[{"role": "user", "content": []}]), name="s2"), "turns[0].input_delta[0].content is no"),
        (row(step(pre_gap_ms=-1), name="s2"), "turns[0].pre_gap_ms is no time from 0 on"),
        (row(step(pre_gap_ms=float("inf")), name="s2"), "turns[0].pre_gap_ms is no time from 0 on"),
        (row(step(output_tokens=1.5), name="s2"), "turns[0].output_tokens is no whole number from 0 on"),
        (row(step(input_tokens=-2), name="s2"), "turns[0].input_tokens is no whole number from 0 on"),
        (row(step(assistant_text=["x"]), name="s2"), "turns[0].assistant_text is no text"),
        (row(name="s2", system_prompt=1), "system_prompt is no text"),
    ],
)
def test_bad_rows_are_skipped_with_the_field_that_is_wrong(value: Any, what: str) -> None:
    """And the others are read."""
    sessions, (problem,) = read(abench, row(), value)
    assert len(sessions) == 1
    assert str(problem).startswith(f"rows.jsonl:2: skipped: {what}")


def test_unknown_fields_are_told_once() -> None:
    """Of rows and of turns, with their place."""
    assert texts(abench, row(step(a=1), step(1, a=1), b=2), row(name="s2", b=2)) == [
        "rows.jsonl:1: the unknown field 'b' is left out (here and further on)",
        "rows.jsonl:1: the unknown field 'turns.a' is left out (here and further on)",
    ]


def test_its_rows_are_recognised() -> None:
    """By a session_id, and turns with an input_delta."""
    found = recognise(row())
    assert found is not None
    assert found.name == "abench"
    assert not abench.looks_like({"session_id": "s", "turns": [{"text": "a"}]})
