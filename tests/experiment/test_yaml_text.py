"""YAML in experiment files: version 1.2's literals, no repeats, and lines."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.yaml_text import read_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("off", "off"),
        ("on", "on"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("010", 10),
        ("0x10", 16),
        ("0o10", 8),
        ("1_000", "1_000"),
        ("15:30", "15:30"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("2026-01-01", "2026-01-01"),
        ("'true'", "true"),
    ],
)
def test_literals_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    """Only true and false are booleans; times, dates and on/off are texts."""
    content = read_yaml(f"x: {text}", name="f").content
    assert content == {"x": value}
    assert type(content["x"]) is type(value)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("args: [--temp, 0.60, -v]", {"args": ["--temp", "0.60", "-v"]}),
        ("args: {-kvu: true, -np: null, -c: 0x10}", {"args": {"-kvu": True, "-np": None, "-c": "0x10"}}),
        ("env: {A: 0, B: true, C: null, D: off}", {"env": {"A": "0", "B": "true", "C": None, "D": "off"}}),
        ("name: 7\nbaseline: off", {"name": "7", "baseline": "off"}),
        ("body: {temperature: 0.60, name: 3}", {"body": {"temperature": 0.6, "name": 3}}),
    ],
)
def test_numbers_stay_as_written_where_they_are_words(text: str, content: Any) -> None:
    """Arguments, variables and names keep their spelling; request fields are JSON values."""
    assert read_yaml(text, name="f").content == content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "f, line 3: a is given twice"),
        ("x:\n  - {a: 1, a: 2}", "f, line 2: a is given twice"),
        ("a: &x 1\nb: *x", "f, line 1: anchors and aliases are not taken"),
        ("a: !!python/name:os 1", "f, line 1: the tag"),
        ("[a]: 1", "f, line 1: a key must be a word"),
        ("? [a]\n: 1", "f, line 1: a key must be a word"),
        ("a: [", "f, line 1: not YAML"),
        ("a: 1\n---\nb: 2", "f, line 2: not YAML"),
        ("a: \x07", "f: not YAML"),
        ("[" * 5000, "f: not YAML"),
        ('a: "\\ud800"', "f, line 1: a text with half a character"),
    ],
)
def test_other_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    """A usage error says where."""
    with pytest.raises(ExperimentError) as caught:
        read_yaml(text, name="f")
    assert message in str(caught.value)


def test_every_value_has_a_line() -> None:
    """Lines are known by keys and positions, and of what isn't there the nearest holder's is given."""
    text = read_yaml("a:\n  - x\n  - b:\n      c: 1\n", name="f")
    assert text.where(("a", 1, "b", "c")) == "f, line 4"
    assert text.where(("a", 1, "b", "nowhere", 3)) == "f, line 3"
    assert text.where(()) == "f, line 1"


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fail in another way."""
    with contextlib.suppress(ExperimentError):
        read_yaml(text, name="f")
