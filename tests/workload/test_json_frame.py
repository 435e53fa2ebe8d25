"""What of a JSON text stays when its words are replaced."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from loadgen.workload.copy_rate import UNIT
from loadgen.workload.json_frame import framed


def frame(text: str) -> list[tuple[str, str]] | None:
    """Kind and unit."""
    units = [(unit.start(), unit.end()) for unit in UNIT.finditer(text)]
    found = framed(text, units)
    return (
        None if found is None else [(one.kind, text[begin:end]) for one, (begin, end) in zip(found, units, strict=True)]
    )


def test_marks_keys_numbers_and_texts_are_told_apart() -> None:
    """Quotes and brackets stay, and so do true, false and null."""
    assert frame('{"a b": [1.5, true, "x, 2"]}') == [
        *[("mark", "{"), ("mark", '"'), ("key", "a"), ("key", "b"), ("mark", '"'), ("mark", ":"), ("mark", "[")],
        *[
            ("number", "1"),
            ("mark", "."),
            ("number", "5"),
            ("mark", ","),
            ("mark", "true"),
            ("mark", ","),
            ("mark", '"'),
        ],
        *[("text", "x"), ("text", ","), ("text", "2"), ("mark", '"'), ("mark", "]"), ("mark", "}")],
    ]


def test_escapes_stay_and_bind_what_stands_behind_them() -> None:
    """A line end in front of a word is a word with an `n`; a quote stays one; other characters become line ends."""
    text = r'{"k": "\nif \"x\" \u00e9a \\ \t"}'
    units = [(unit.start(), unit.end()) for unit in UNIT.finditer(text)]
    found = framed(text, units)
    assert found is not None
    told = [(text[begin:end], one.kind, one.letter) for one, (begin, end) in zip(found, units, strict=True)][6:-2]
    assert told == [
        *[("\\", "mark", ""), ("nif", "text", "n"), ("\\", "mark", ""), ('"', "mark", ""), ("x", "text", "")],
        *[("\\", "mark", ""), ('"', "mark", ""), ("\\", "mark", ""), ("u00e9a", "text", "n"), ("\\", "mark", "")],
        *[("\\", "mark", ""), ("\\", "mark", ""), ("t", "mark", "")],
    ]


def test_what_is_no_object_has_no_frame() -> None:
    """Lists, texts, and what is no JSON."""
    assert [frame(text) for text in ("[1]", '"a"', "{", "go", '{"a": 1} b')] == [None] * 5


@given(
    value=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=9), lambda one: st.lists(one, max_size=3)
        ),
        max_size=4,
    ),
    ascii_only=st.booleans(),
)
def test_what_stays_with_words_in_between_is_json(value: dict[str, Any], ascii_only: bool) -> None:
    """Whatever the texts were: with `w` for every unit of a text, behind the letter that it must begin with."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    units = [(unit.start(), unit.end()) for unit in UNIT.finditer(text)]
    found = framed(text, units)
    assert found is not None
    out, before = "", 0
    for one, (begin, end) in zip(found, units, strict=True):
        own = {"mark": text[begin:end], "key": one.key and "w", "number": text[begin:end], "text": f"{one.letter}w"}
        out += text[before:begin] + own[one.kind]
        before = end
    assert len(json.loads(out + text[before:])) <= len(value)
