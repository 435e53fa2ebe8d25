"""Sessions without their content: what goes, what stays, and how closely."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.workload.copy_rate import UNIT, copy_rate, hash_of, rolling, text_of
from loadgen.workload.corpus.library import standard
from loadgen.workload.draws import rng
from loadgen.workload.fresh_text import KINDS, FreshText
from loadgen.workload.recorded import Cancel, RecordedSession, RecordedTurn
from loadgen.workload.redacted import Lengths, redacted, texts_of
from loadgen.workload.redacted_names import Names
from loadgen.workload.redacted_text import RedactedText
from loadgen.workload.session_check import checked
from loadgen.workload.token_pace import guessed

SMALL = replace(standard(), sources=standard().sources[:2], pages=standard().pages[:2])
"""Enough for a few texts, and read at once."""

SECRETS = ("alice", "hunter2", "/home/", "issue-4711", "4711", "fetch_mail", "mailbox_path", "acme")
CALL = {
    "id": "toolu_alice_1",
    "type": "function",
    "function": {
        "name": "fetch_mail",
        "arguments": '{"mailbox_path": "/home/alice/mail", "limit": 4711, "deep": [true, null, 0.25]}',
    },
}
TOOL = {
    "type": "function",
    "function": {
        "name": "fetch_mail",
        "description": "Fetches mail of acme users like alice.",
        "parameters": {
            "type": "object",
            "properties": {
                "mailbox_path": {"type": "string", "description": "Such as /home/alice", "default": "/home/alice"},
                "limit": {"type": "integer", "minimum": 1},
                "order": {"enum": ["alice_first", "acme_first"]},
                "inner": {"$ref": "#/$defs/acme_thing"},
            },
            "required": ["mailbox_path"],
            "$defs": {"acme_thing": {"type": "array", "items": {"type": "string"}}},
        },
    },
}


def prose(seed: str, count: int) -> str:
    """So many words of a vocabulary of our own, in sentences, none of which comes twice."""
    source = rng(1, seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(letters[int(source.random() * 26)] for _ in range(6)) for _ in range(count)]
    return " ".join(word + (".\n" if number % 9 == 8 else "") for number, word in enumerate(words))


def session() -> RecordedSession:
    """A session full of secrets."""
    source = {"name": "mine", "model": "/home/alice/models/m.gguf", "user": "alice"}
    return RecordedSession(
        session_id="alice-1", task="issue-4711", source=source, tools=[TOOL], turns=spoken(), extra={"note": "alice"}
    )


def spoken() -> list[RecordedTurn]:
    """Its turns, whose answers copy from what it read."""
    listing = f"/home/alice/mail holds hunter2 for issue-4711 of acme:\n{prose('listing', 300)}"
    quote = listing[200:900]
    return [
        RecordedTurn(
            messages=[
                {"role": "system", "content": f"You serve alice of acme. {prose('system', 120)}"},
                {"role": "user", "content": [{"type": "text", "text": f"Look into issue-4711. {prose('user', 60)}"}]},
            ],
            assistant={
                "role": "assistant",
                "content": "",
                "reasoning_content": f"alice wants {prose('thought', 40)}",
                "tool_calls": [CALL],
            },
            input_tokens=400,
            output_tokens=70,
            extra={"rows": ["alice"], "reasoning_content": "alice"},
        ),
        RecordedTurn(
            messages=[{"role": "tool", "tool_call_id": CALL["id"], "content": listing, "name": "fetch_mail"}],
            assistant={"role": "assistant", "content": f"It says: {quote}"},
            delay_s=0.5,
            delay_kind="tool",
            cancel=Cancel(after_tokens=9, then="drop"),
            spawn=["alice-2"],
        ),
        RecordedTurn(
            messages=[{"role": "user", "content": f"Say it again: {quote}"}],
            assistant={"role": "assistant", "content": f"{quote} {prose('end', 100)}"},
            join=["alice-2"],
        ),
    ]


def child() -> RecordedSession:
    """A sub-agent of it, with the same system prompt up to a point."""
    system = f"You serve alice of acme. {prose('system', 90)}"
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {"role": "user", "tokens": 40, "corpus": "code", "seed": "alice"},
    ]
    return RecordedSession(session_id="alice-2", parent_session_id="alice-1", turns=[RecordedTurn(messages=messages)])


@pytest.fixture(scope="module")
def pair() -> tuple[list[RecordedSession], list[RecordedSession]]:
    """Sessions before and after."""
    before = [session(), child()]
    return before, redacted(before)


Pair = tuple[list[RecordedSession], list[RecordedSession]]


def test_nothing_that_was_said_is_left(pair: Pair) -> None:
    """No word, name, number or path, wherever it stood."""
    text = repr(pair[1]).lower()
    assert not [secret for secret in SECRETS if secret in text]
    words = {word for text in texts_of(pair[0]) for word in UNIT.findall(text) if len(word) == 6 and word.isalpha()}
    assert len(words) > 500
    assert len([word for word in words if word in text]) <= len(words) // 100  # `return` is six letters too


def test_the_shape_stays(pair: Pair) -> None:
    """Roles, calls and their results, waits, counts, families, and what can't be played isn't made."""
    (before, _), (after, other) = pair
    assert checked(pair[1], "f") == (pair[1], [])
    assert after.source == {"name": "mine", "model": "m.gguf", "redacted": True}
    assert [[one["role"] for one in turn.messages] for turn in after.turns] == [
        [one["role"] for one in turn.messages] for turn in before.turns
    ]
    for was, now in zip(before.turns, after.turns, strict=True):
        for name in ("delay_s", "delay_kind", "input_tokens", "output_tokens", "cancel", "kind"):
            assert getattr(was, name) == getattr(now, name)
    assert after.turns[1].spawn == after.turns[2].join == [other.session_id]
    assert other.parent_session_id == after.session_id
    called = (after.turns[0].assistant or {})["tool_calls"][0]
    assert called["id"] == after.turns[1].messages[0]["tool_call_id"]
    assert other.turns[0].messages[1] == {"role": "user", "tokens": 40, "corpus": "code", "seed": "seed_1"}


def test_arguments_keep_their_shape_and_their_names_agree_with_the_definition(pair: Pair) -> None:
    """Values of the same kind, numbers of as many digits, blanks as they were."""
    after = pair[1][0]
    called = (after.turns[0].assistant or {})["tool_calls"][0]["function"]
    assert after.tools is not None
    function = after.tools[0]["function"]
    assert called["name"] == function["name"] == "tool_1"
    arguments = json.loads(called["arguments"])
    path, limit, deep = arguments
    assert isinstance(arguments[path], str)
    assert len(str(arguments[limit])) == 4
    assert arguments[deep][:2] == [True, None]
    assert called["arguments"].startswith(f'{{"{path}": "')
    parameters = function["parameters"]
    assert list(parameters["properties"])[:2] == [path, limit]
    assert parameters["required"] == [path]
    assert set(parameters["properties"][path]) == {"type", "description"}
    assert parameters["properties"][limit] == {"type": "integer", "minimum": 1}
    reference = list(parameters["properties"].values())[3]["$ref"]
    assert reference.removeprefix("#/$defs/") in parameters["$defs"]


def test_texts_are_as_long_as_they_were(pair: Pair) -> None:
    """In tokens as they are guessed: all of them within 3 %, and each about."""
    before, after = (
        [
            guessed(text_of(message))
            for one in sessions
            for turn in one.turns
            for message in (*turn.messages, *([turn.assistant] if turn.assistant else []))
            if "tokens" not in message
        ]
        for sessions in pair
    )
    assert abs(sum(after) / sum(before) - 1) < 0.03
    for was, now in zip(before, after, strict=True):
        assert abs(was - now) <= max(20, 0.15 * was)


def test_what_was_copied_is_copied_still(pair: Pair) -> None:
    """Gram for gram: the copy rate of every answer is the same."""
    before, after = copy_rate(pair[0]), copy_rate(pair[1])
    assert before.copied[1] > 90
    assert after == before


def test_prompts_share_the_beginnings_that_they_shared(pair: Pair) -> None:
    """Two system prompts that differ behind a point: the shared part is as long, to a tenth."""
    shares = []
    for sessions in pair:
        one, other = (found.turns[0].messages[0]["content"] for found in sessions)
        alike = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
        shares.append(next(alike, min(len(one), len(other))) / len(one))
    assert abs(shares[0] - shares[1]) < 0.1


def test_the_same_sessions_are_redacted_alike(pair: Pair) -> None:
    """In any process."""
    assert redacted(pair[0]) == pair[1]


def test_lengths_are_kept_in_tokens_where_they_were_counted() -> None:
    """A text of twice the tokens becomes one twice as long."""
    text = prose("counted", 200)
    samples = {kind: round(guessed(FreshText(standard()).sample(kind))) for kind in KINDS}
    made = [RedactedText(standard(), Lengths({text: tokens}, samples)).replaced(text) for tokens in (400, 800)]
    assert [abs(guessed(one) / tokens - 1) < 0.03 for one, tokens in zip(made, (400, 800), strict=True)] == [True, True]


def test_the_corpus_gives_nothing_twice_and_begins_again_with_other_words() -> None:
    """Eight units in a row come once, also when more is taken than there is."""
    count = sum(len(UNIT.findall(line)) for document in SMALL.sources for line in document.pieces)
    units = [unit for _, unit in FreshText(SMALL).take("code", 2 * count)]
    grams = rolling([hash_of(unit) for unit in units])
    assert len(units) == 2 * count
    assert len(set(grams)) == len(grams)


def test_arguments_that_were_also_said_stay_json() -> None:
    """What stands for a text in a message doesn't stand for it in a call."""
    text = RedactedText(SMALL, Lengths())
    said, called = text.replaced('{"a": "look at it"}'), text.replaced_object('{"a": "look at it"}', Names())
    assert list(json.loads(called)) == ["arg_1"]
    assert said != called


def test_a_text_of_one_unit_and_one_of_blanks() -> None:
    """The first becomes another, the second stays."""
    text = RedactedText(standard(), Lengths())
    assert text.replaced(" \n\t") == " \n\t"
    one = text.replaced("  hunter2\n")
    assert one.startswith("  ")
    assert one.endswith("\n")
    assert "hunter2" not in one


@settings(max_examples=25)
@given(texts=st.lists(st.text(st.sampled_from("ab(_ \n"), max_size=80), max_size=6))
def test_any_text_becomes_another_with_as_many_copies(texts: list[str]) -> None:
    """Blanks around it stay, and the same text becomes the same."""
    text = RedactedText(SMALL, Lengths())
    made = [text.replaced(one) for one in texts]
    for was, now in zip(texts, made, strict=True):
        assert bool(UNIT.search(was)) == bool(UNIT.search(now))
        assert now[: len(now) - len(now.lstrip())] == was[: len(was) - len(was.lstrip())]
    assert [text.replaced(one) for one in texts] == made


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
)
@settings(max_examples=25)
def test_any_definition_and_any_arguments_are_redacted(value: Any) -> None:
    """Whatever others write there, arguments stay JSON."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps({"value": value})}}
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": value, "anyOf": value}}}
    turn = RecordedTurn(
        messages=[{"role": "user", "content": "go"}],
        assistant={"role": "assistant", "content": None, "tool_calls": [call]},
    )
    (found,) = redacted([RecordedSession(session_id="a", tools=[tool], turns=[turn])], library=SMALL)
    json.loads((found.turns[0].assistant or {})["tool_calls"][0]["function"]["arguments"])
