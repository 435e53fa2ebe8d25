"""Arguments of files: three ways to write them, and a variant's over the base's."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.arguments import comparable, merged, parse_arguments, parts, words_of


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["-m", "a b.gguf", "-np", 4, "--temp", 0.5], "-m|a b.gguf|-np|4|--temp|0.5"),
        ("-m 'a b.gguf' -np 4 \\\n  --metrics", "-m|a b.gguf|-np|4|--metrics"),
        ({"-m": "a b.gguf", "-np": "4", "--metrics": True, "-c": None, "-kvu": False}, "-m|a b.gguf|-np|4|--metrics"),
        ({"--lora": ["a", "b"]}, "--lora|a|--lora|b"),
        ([], ""),
    ],
)
def test_arguments_are_words_a_text_or_a_mapping(written: Any, words: str) -> None:
    """All ways give the words that the program gets."""
    assert "|".join(words_of(parse_arguments(written))) == words


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("-m 'a", "not words as a shell reads them: No closing quotation"),
        ([["a"]], "is no word"),
        ([True], "True is no word"),
        ({"np": "4"}, "np is no argument: write it with its dashes"),
        ({"--lora": []}, "--lora has an empty list"),
        ({"--lora": [None]}, "--lora: None is no value"),
        ({"-np": {"a": 1}}, "-np takes a value"),
        (4, "a list of words, one text, or a mapping"),
    ],
)
def test_other_arguments_are_refused(written: Any, message: str) -> None:
    """What is wrong is said."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_arguments(written)


BASE = "-m a.gguf --parallel 4 -kvu -ngl -1 --lora x --lora y --flag=1 -c 8192"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ("-np 6", "-m a.gguf -np 6 -kvu -ngl -1 --lora x --lora y --flag=1 -c 8192"),
        ("--no-kv-unified", "-m a.gguf --parallel 4 --no-kv-unified -ngl -1 --lora x --lora y --flag=1 -c 8192"),
        ("--lora z", "-m a.gguf --parallel 4 -kvu -ngl -1 --lora z --flag=1 -c 8192"),
        ("--gpu_layers 9 --flag 2", "-m a.gguf --parallel 4 -kvu --gpu_layers 9 --lora x --lora y --flag 2 -c 8192"),
        ("--spec-type draft-mtp", f"{BASE} --spec-type draft-mtp"),
        ("", BASE),
        ({"-c": None, "--lora": None, "--nothing": None}, "-m a.gguf --parallel 4 -kvu -ngl -1 --flag=1"),
    ],
)
def test_the_same_argument_is_replaced_under_whichever_name(changes: Any, expected: str) -> None:
    """Others follow at the end, and null takes one out."""
    assert " ".join(words_of(merged(parse_arguments(BASE), parse_arguments(changes)))) == expected


def test_other_names_of_arguments_compare_equal() -> None:
    """Names don't count; order, values and the direction of switches do."""
    assert comparable(["-np", "4", "--ctx-size=8"]) == comparable(["--parallel", "4", "-c", "8"])
    assert comparable(["-np", "4"]) != comparable(["-np", "6"])
    assert comparable(["-kvu"]) != comparable(["-no-kvu"])


_words = st.lists(st.sampled_from(["-m", "a", "-np", "4", "--parallel", "-1", "-kvu", "--x=1", "-", "b c"]), max_size=9)


@given(_words, _words)
def test_cutting_and_merging_lose_no_word(base: list[str], changes: list[str]) -> None:
    """Words come back from their parts, and every word of the changes is in the result."""
    assert words_of(parts(base)) == tuple(base)
    result = list(words_of(merged(parts(base), parts(changes))))
    for word in changes:
        result.remove(word)


@given(_words, _words)
def test_merging_twice_changes_nothing_more(base: list[str], changes: list[str]) -> None:
    """Named arguments that were put over the base are there."""
    named = [part for part in parts(changes) if part.name is not None]
    once = merged(parts(base), named)
    assert sorted(words_of(merged(once, named))) == sorted(words_of(once))
