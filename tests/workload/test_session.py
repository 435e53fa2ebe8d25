"""Sessions, prompts and the digest."""

from dataclasses import replace

import pytest

from loadgen.workload import library
from loadgen.workload.session import Session, Turn, digest, prompt, spread_text


def turn(text: str, answer: str, *, first: bool = False) -> Turn:
    """A turn with one user message, after a system message if it is the first."""
    system = ({"role": "system", "content": "Be brief."},) if first else ()
    return Turn(
        messages=(*system, {"role": "user", "content": text}),
        answer=answer,
        wait_s=0.0 if first else 0.5,
        wait_kind=None if first else "tool",
        output_tokens=8,
        kind="prose",
        depth=10,
    )


MINE = {"role": "assistant", "content": "mine"}
SESSION = Session("s-0", (turn("one", "first answer", first=True), turn("two", "second answer"), turn("three", "end")))


def test_turn_0_is_the_salt_a_line_end_and_its_messages() -> None:
    """The salt stands on a line of its own in front of the very first message and nowhere else."""
    assert prompt(SESSION, 0, salt="0a1b2c3d", answers={}) == [
        {"role": "system", "content": "0a1b2c3d\nBe brief."},
        {"role": "user", "content": "one"},
    ]


def test_earlier_answers_stand_between_the_turns() -> None:
    """Given answers go back into the prompt; the recorded ones fill the gaps."""
    assert prompt(SESSION, 2, salt="0a1b2c3d", answers={1: {"role": "assistant", "content": "live"}}) == [
        {"role": "system", "content": "0a1b2c3d\nBe brief."},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "first answer"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "live"},
        {"role": "user", "content": "three"},
    ]


def test_answers_of_this_and_later_turns_are_left_out() -> None:
    """A prompt never holds the answer that it asks for."""
    assert prompt(SESSION, 0, salt="", answers={0: MINE, 1: MINE}) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "one"},
    ]


def test_changing_a_prompt_leaves_the_session_alone() -> None:
    """Prompts are new objects, so that no trial can spoil the pool for the next."""
    prompt(SESSION, 2, salt="aaaaaaaa", answers={})[0]["content"] = "spoilt"
    assert SESSION.turns[0].messages[0]["content"] == "Be brief."


@pytest.mark.parametrize("index", [-1, 3])
def test_a_turn_that_is_not_there_is_an_index_error(index: int) -> None:
    """A negative turn doesn't count from the end."""
    with pytest.raises(IndexError, match=f"session s-0 has turns 0 to 2, not {index}"):
        prompt(SESSION, index, salt="", answers={})


def test_the_digest_changes_with_every_field_of_a_turn() -> None:
    """Two pools that differ in anything that is played have different digests."""
    first = SESSION.turns[0]
    variants = [
        replace(first, messages=({"role": "system", "content": "Be brief."}, {"role": "user", "content": "onE"})),
        replace(first, messages=({"role": "user", "content": "Be brief."}, {"role": "user", "content": "one"})),
        replace(first, answer="other"),
        replace(first, wait_s=0.000001),
        replace(first, wait_kind="user"),
        replace(first, output_tokens=9),
        replace(first, kind="edit"),
        replace(first, depth=11),
    ]
    sessions = [SESSION, *(Session("s-0", (changed, *SESSION.turns[1:])) for changed in variants)]
    sessions += [Session("s-1", SESSION.turns), Session("s-0", SESSION.turns[:2])]
    assert len({digest([session]) for session in sessions}) == len(sessions) == 11


def test_the_digest_is_64_hex_digits_and_the_same_for_equal_sessions() -> None:
    """It is a SHA-256 of the content and not of the objects."""
    copy = Session("s-0", tuple(replace(step) for step in SESSION.turns))
    assert digest([SESSION]) == digest([copy])
    assert len(bytes.fromhex(digest([SESSION]))) == 32


def test_depths_follow_sessions_and_turns() -> None:
    """`depths[s][t]` is the depth of turn t of session s."""
    workload = replace(library.load("demo", seed=1), sessions=(SESSION, Session("s-1", SESSION.turns[:1])))
    assert workload.depths == ((10, 10, 10), (10,))


def test_spread_text_is_of_pieces_at_equal_distances() -> None:
    """The back of a recording counts as much as its front; a short one is taken whole, and pieces don't mix texts."""
    session = Session("s-0", (turn("a" * 100, "b" * 100), turn("c" * 100, "d" * 100)))
    workload = replace(library.load("demo", seed=1), sessions=(session,))
    assert spread_text(workload, characters=40, windows=8) == "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
    assert spread_text(workload, characters=240, windows=3) == "a" * 80 + "b" * 67 + "c" * 34
    assert spread_text(workload) == "\n".join(letter * 100 for letter in "abcd")
