"""How many tokens a text has, and texts cut to so many."""

import re
from collections.abc import Sequence
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.records.sizes import Sizes
from loadgen.workload.corpus import CORPORA
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.server_sizer import ServerSizer, UnsizedError, splits_at_lines
from loadgen.workload.sizing import Ratio, Sizer, Words

TEXTS = st.text(st.characters(codec="utf-8"), max_size=400)


class Tokenizer:
    """Splits a text before every blank and after every six letters. Knows what it was asked."""

    def __init__(self, *, in_front: bytes = b"") -> None:
        self.asked: list[str] = []
        self._in_front = in_front

    def __call__(self, text: str) -> Sequence[bytes]:
        """The pieces."""
        self.asked.append(text)
        pieces = [piece.encode() for piece in re.findall(r"\s?[^\s]{1,6}|\s", text)]
        return [self._in_front + pieces[0], *pieces[1:]] if pieces else []


def sizer(ask: Tokenizer | None = None, sizes: Sizes | None = None) -> ServerSizer:
    """A sizer that asks."""
    return ServerSizer(sizes or Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3), ask)


@given(st.floats(0.5, 20), st.integers(0, 3000), TEXTS)
def test_an_average_is_applied_to_characters(ratio: float, tokens: int, text: str) -> None:
    """Tokens are characters over the average, rounded up; a cut has the rounded number of characters."""
    measure = Ratio(ratio)
    assert measure.tokens(text) == ceil(len(text) / ratio)
    assert measure.cut(text, tokens) == text[: max(1, round(tokens * ratio)) if tokens else 0]
    assert measure.measured(text) == len(text)
    assert not measure.exact


@pytest.mark.parametrize("ratio", [0.0, -1.0, float("nan"), float("inf")])
def test_an_average_is_a_positive_number(ratio: float) -> None:
    """A broken measurement is refused rather than played."""
    with pytest.raises(ValueError, match="characters a token must be above 0"):
        Ratio(ratio)


@given(st.lists(st.sampled_from(["cat", "dog", "owl"]), max_size=30), st.integers(0, 40))
def test_words_are_counted_and_cut_as_words(words: list[str], tokens: int) -> None:
    """Each is a token."""
    measure = Words()
    text = " ".join(words)
    assert measure.tokens(text) == len(words)
    assert measure.cut(text, tokens) == " ".join(words[:tokens])
    assert measure.exact


@given(TEXTS, st.integers(0, 80))
def test_a_cut_by_the_tokenizer_is_where_a_token_ends(text: str, tokens: int) -> None:
    """The beginning of the text, of as many tokens as asked for or all that there are; its count needs no question."""
    ask = Tokenizer()
    measure = sizer(ask)
    cut = measure.cut(text, tokens)
    assert text.startswith(cut)
    asked = len(ask.asked)
    count = measure.tokens(cut)
    assert len(ask.asked) == asked <= 1
    assert count == len(Tokenizer()(cut)) == min(tokens, len(Tokenizer()(text)))


def test_a_cut_prefers_the_end_of_a_line_within_a_hundredth() -> None:
    """Of 300 tokens up to 3 more or fewer; of 50 none."""
    text = " ".join(["word"] * 298) + "\n" + " ".join(["more"] * 200)
    assert sizer(Tokenizer()).cut(text, 300) == " ".join(["word"] * 298)
    assert sizer(Tokenizer()).cut(text, 295) == " ".join(["word"] * 295)
    short = " ".join(["word"] * 49) + "\nmore and more"
    assert sizer(Tokenizer()).cut(short, 50) == " ".join(["word"] * 49) + "\nmore"


def test_a_blank_that_the_tokenizer_puts_in_front_is_no_part_of_the_text() -> None:
    """Some vocabularies begin every text with one."""
    assert sizer(Tokenizer(in_front=b" ")).cut("one two three four", 2) == "one two"


def test_a_tokenizer_that_changes_the_text_is_followed_by_shares() -> None:
    """Where the pieces aren't the text (all in lower case), as large a share of the characters is taken."""

    def lower(text: str) -> list[bytes]:
        return [word.lower().encode() for word in text.split()]

    measure = ServerSizer(Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3), lower)
    assert measure.cut("ONE TWO SIX TEN ", 2) == "ONE TWO "


def test_a_character_of_several_tokens_is_not_cut_through() -> None:
    """A byte tokenizer ends tokens within characters: the whole ones before are kept."""

    def by_bytes(text: str) -> list[bytes]:
        return [bytes([byte]) for byte in text.encode()]

    measure = ServerSizer(Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3), by_bytes)
    assert [measure.cut("aé\U0001f600b", tokens) for tokens in range(9)] == [
        "", "a", "a", "aé", "aé", "aé", "aé", "aé\U0001f600", "aé\U0001f600b",
    ]  # fmt: skip


def test_lone_surrogates_are_sized_as_they_are_sent() -> None:
    """As U+FFFD; the text keeps them."""
    ask = Tokenizer()

    def as_sent(text: str) -> Sequence[bytes]:
        return ask(text.replace("\ud800", "\ufffd"))

    measure = ServerSizer(Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3), as_sent)
    assert measure.cut("one \ud800 two three", 2) == "one \ud800"


@given(st.sampled_from([one for one in CORPORA if one != "words"]), st.integers(0, 50), st.integers(1, 700))
def test_texts_of_every_kind_have_the_tokens_asked_for(corpus: str, seed: int, tokens: int) -> None:
    """Within the hundredth that a line end is worth, in two questions at most where the average is right."""
    ask = Tokenizer()
    text = made(corpus, rng(seed), tokens, sizer(ask)).text
    assert abs(len(Tokenizer()(text)) - tokens) <= tokens // 100
    assert len(ask.asked) <= 2


@given(st.integers(0, 50), st.integers(1, 500))
def test_what_was_said_is_enough_to_make_the_text_again(seed: int, tokens: int) -> None:
    """Without the tokenizer; of another text nothing is known."""
    sizes = Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3)
    text = made("code", rng(seed), tokens, sizer(Tokenizer(), sizes)).text
    known: Sizer = sizer(None, sizes)
    assert made("code", rng(seed), tokens, known).text == text
    assert known.tokens(text) == sizer(Tokenizer()).tokens(text)
    with pytest.raises(UnsizedError):
        known.tokens(f"{text} and more")


def test_a_text_is_asked_about_once() -> None:
    """However often it is counted or cut."""
    ask = Tokenizer()
    measure = sizer(ask)
    for _ in range(3):
        assert measure.tokens("one two three") == 3
        assert measure.cut("one two three", 2) == "one two"
        assert measure.tokens("one two") == 2
    assert ask.asked == ["one two three"]


def test_a_tokenizer_that_does_not_say_ends_it() -> None:
    """Whoever makes the workload then has to do without."""
    measure = ServerSizer(Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3), lambda _text: None)
    with pytest.raises(UnsizedError):
        measure.tokens("one")
    assert measure.tokens("") == 0
    assert measure.cut("one", 0) == ""


@given(st.lists(st.sampled_from(["", "  ", "one two", "    three(four)", "\tfive", "é\U0001f600"]), max_size=30))
def test_lines_counted_apart_are_the_text(lines: list[str]) -> None:
    """Where a token ends at every line's end, counts and cuts by line are those of whole texts."""
    text = "\n".join(lines)
    ask = lines_apart
    assert not text or splits_at_lines(text, ask(text))
    whole, by_line = (
        ServerSizer(Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3, by_line=way), ask)
        for way in (False, True)
    )
    assert by_line.tokens(text) == whole.tokens(text) == len(ask(text))
    for tokens in range(12):
        assert by_line.cut(text, tokens) == whole.cut(text, tokens)


def lines_apart(text: str) -> list[bytes]:
    """Blank lines belong to the end of the line before, as tokenizers have it."""
    return [piece.encode() for piece in re.findall(r"[^\S\n]*\n(?:[^\S\n]*\n)*|[^\S\n]?[^\s]{1,6}|[^\S\n]+", text)]


def test_lines_that_are_known_are_not_asked_about_again() -> None:
    """All new ones of a text in one question."""
    asked: list[str] = []

    def ask(text: str) -> list[bytes]:
        asked.append(text)
        return lines_apart(text)

    measure = ServerSizer(Sizes(chars_per_token=4.0, message_tokens=5, prompt_tokens=3, by_line=True), ask)
    measure.tokens("one\ntwo\nthree")
    measure.tokens("two\nfour\n\none\nfive\nthree")
    assert asked == ["one\ntwo\nthree", "four\n\nfive\n"]


@pytest.mark.parametrize(
    ("pieces", "splits"),
    [([b"a", b"\n", b"b"], True), ([b"a\n", b"b"], True), ([b"a", b"\nb"], False), ([b"A", b"\n", b"b"], False)],
)
def test_a_tokenizer_that_joins_lines_is_told_by_a_sample(pieces: list[bytes], splits: bool) -> None:
    """A token over the end of a line, or tokens that aren't the text: then texts are asked about whole."""
    assert splits_at_lines("a\nb", pieces) is splits
