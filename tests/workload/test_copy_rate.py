"""How much of an answer stands earlier in its session."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.copy_rate import CopyRate, N, content_text, copy_rate, hash_of, rolling, text_of
from loadgen.workload.recorded import RecordedSession, RecordedTurn


def words(first: int, last: int) -> str:
    """The words w1 w2 …, both ends included."""
    return " ".join(f"w{number}" for number in range(first, last + 1))


def turn(given_text: str, answer: str, **changes: Any) -> RecordedTurn:
    """A turn with these texts."""
    return RecordedTurn(
        messages=[{"role": "user", "content": given_text}],
        assistant={"role": "assistant", "content": answer},
        **changes,
    )


def of(*turns: RecordedTurn) -> CopyRate:
    """The copy rate of one session of these turns."""
    return copy_rate([RecordedSession(session_id="a", turns=list(turns))])


def test_an_answer_that_repeats_its_prompt_is_all_copied() -> None:
    """Ten words have three runs of eight; all stood in the prompt."""
    assert of(turn(words(1, 10), words(1, 10))) == CopyRate((3,), (3,))


def test_runs_that_are_partly_new_are_no_copies() -> None:
    """Of words 5 to 14, behind 1 to 12, only the run 5 to 12 stood there: one of three."""
    found = of(turn(words(1, 12), words(5, 14)))
    assert found == CopyRate((3,), (1,))
    assert found.overall == 1 / 3
    assert found.by_turn == [1 / 3]


def test_punctuation_counts_and_blanks_do_not() -> None:
    """`a(b)` has four units whatever blanks stand between them."""
    assert of(turn("a(b)\n c [d]", "a (b) c[ d ]")) == CopyRate((1,), (1,))


def test_what_an_answer_says_twice_counts_for_the_next_one_only() -> None:
    """Within itself it isn't drawn from the context; a turn later it is."""
    twice = f"{words(1, 8)} {words(1, 8)}"
    assert of(turn("x", twice), turn("y", words(1, 8))) == CopyRate((9, 1), (0, 1))


def test_sessions_and_resets_begin_anew() -> None:
    """What stood in another session, or before a reset, isn't in the context."""
    a, b = turn(words(1, 9), "ok"), turn("x", words(1, 9))
    assert of(a, b) == CopyRate((2,), (2,))
    assert of(a, turn("x", words(1, 9), history_reset="compact")) == CopyRate((2,), (0,))
    apart = [RecordedSession(session_id=name, turns=[one]) for name, one in (("a", a), ("b", b))]
    assert copy_rate(apart) == CopyRate((2,), (0,))


def test_short_and_missing_answers_have_no_share() -> None:
    """Seven words have no run of eight; without a share there is no overall either."""
    found = of(turn("x", words(1, 7)), RecordedTurn(messages=[{"role": "user", "content": "y"}]))
    assert (found, found.overall, found.by_turn) == (CopyRate((), ()), None, [])


def test_reasoning_and_the_arguments_of_calls_are_text_of_the_answer() -> None:
    """A file that is written back stands in a call's arguments; the call's name isn't counted."""
    call = {"id": "c", "type": "function", "function": {"name": "write", "arguments": words(1, 9)}}
    answer = {"role": "assistant", "reasoning_content": words(20, 27), "content": None, "tool_calls": [call]}
    assert text_of(answer) == f"{words(20, 27)}\nwrite\n{words(1, 9)}"
    assert text_of(answer, names=False) == f"{words(20, 27)}\n{words(1, 9)}"
    session = RecordedSession(
        session_id="a", turns=[RecordedTurn(messages=[{"role": "user", "content": words(1, 9)}], assistant=answer)]
    )
    # 17 words: 10 runs, of which the two of the arguments stood in the prompt.
    assert copy_rate([session]) == CopyRate((10,), (2,))


def test_text_is_taken_from_parts_and_from_nothing_else() -> None:
    """Images have none, and odd values none either."""
    assert content_text([{"type": "text", "text": "a"}, {"type": "image_url"}, "b", {"text": "c"}]) == "a\nc"
    assert content_text(None) == content_text(5) == ""
    assert text_of({"role": "assistant", "tool_calls": [None, {"function": "x"}, {}]}) == ""


@given(st.lists(st.integers(0, 3), max_size=40))
def test_the_rolling_hash_is_that_of_each_run(numbers: list[int]) -> None:
    """Equal runs have equal hashes, others different ones, and there is one for each place."""
    units = [hash_of(str(number)) for number in numbers]
    found = rolling(units)
    runs = [tuple(numbers[index : index + N]) for index in range(max(len(numbers) - N + 1, 0))]
    assert len(found) == len(runs)
    assert len(set(found)) == len(set(runs))
    assert all((found[a] == found[b]) == (runs[a] == runs[b]) for a in range(len(runs)) for b in range(a))


def test_shuffled_text_has_no_copies() -> None:
    """Random words, of which none is in order, aren't taken for copies by a hash that is too short."""
    draw = [" ".join(f"v{pow(base, number, 1009) % 50}" for number in range(2000)) for base in (11, 17)]
    assert of(turn(draw[0], draw[1])) == CopyRate((1993,), (0,))
