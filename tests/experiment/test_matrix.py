"""A matrix over arguments becomes variants with short names."""

from typing import Any

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.document import parse_experiment


def variants(text: str) -> dict[str, str]:
    """The variants of a file and their arguments."""
    fields, _ = parse_experiment(text, name="f")
    return {variant["name"]: " ".join(variant["args"]) for variant in fields["variants"]}


def notes(text: str) -> tuple[str, ...]:
    """What the file's reader says."""
    return parse_experiment(text, name="f")[1]


MTP = "base: {program: llama-server, args: -m a -np 4}\nvariants: [{name: mtp, args: --spec-type draft-mtp}]\n"
OFF_AND_MTP = MTP.replace("[{name: mtp", "[{name: off}, {name: mtp")


def test_every_combination_is_a_variant() -> None:
    """Length 0 is the command without speculation, and the base's slots are replaced."""
    assert variants(MTP + "matrix: {--spec-draft-n-max: [0, 1, 3], --parallel: [4, 6]}") == {
        "off-np4": "-m a --parallel 4",
        "off-np6": "-m a --parallel 6",
        "mtp-n1-np4": "-m a --parallel 4 --spec-type draft-mtp --spec-draft-n-max 1",
        "mtp-n1-np6": "-m a --parallel 6 --spec-type draft-mtp --spec-draft-n-max 1",
        "mtp-n3-np4": "-m a --parallel 4 --spec-type draft-mtp --spec-draft-n-max 3",
        "mtp-n3-np6": "-m a --parallel 6 --spec-type draft-mtp --spec-draft-n-max 3",
    }


def test_equal_commands_become_one_under_the_written_name() -> None:
    """`off` of the file and the matrix's `off-np4` run once; it is said."""
    text = OFF_AND_MTP + "matrix: {--spec-draft-n-max: [0, 7], -np: [4, 6]}"
    assert list(variants(text)) == ["off", "off-np6", "mtp-n7-np4", "mtp-n7-np6"]
    assert notes(text) == ("off-np4 is the same command as off: it runs once",)
    fields, _ = parse_experiment(text, name="f")
    assert fields["baseline"] == "off"
    assert fields["under_test"] == ("slots", "context_per_slot")


def test_a_written_name_wins_wherever_it_stands() -> None:
    """The baseline written behind the matrix keeps its name."""
    text = MTP.replace("}]", "}, {name: plain}]") + "matrix: {--spec-draft-n-max: [0, 1]}"
    assert list(variants(text)) == ["plain", "mtp-n1"]


def test_a_variants_own_matrix_takes_the_place_of_the_files() -> None:
    """One of its own, or null for none; what does not speculate is varied by its own alone."""
    text = """
base: {program: llama-server, args: -m a}
matrix: {--spec-draft-n-max: [1]}
variants:
  - {name: off, matrix: {-np: [4, 6]}}
  - {name: mtp, args: --spec-type draft-mtp}
  - {name: own, args: --spec-type draft-mtp, matrix: {-kvu: [true, false]}}
  - {name: ngram, args: --spec-type ngram-mod, matrix: null}
"""
    assert variants(text) == {
        "off-np4": "-m a -np 4",
        "off-np6": "-m a -np 6",
        "mtp-n1": "-m a --spec-type draft-mtp --spec-draft-n-max 1",
        "own-kvu": "-m a --spec-type draft-mtp -kvu",
        "own-no-kvu": "-m a --spec-type draft-mtp",
        "ngram": "-m a --spec-type ngram-mod",
    }


def test_what_speculation_does_not_read_is_not_varied() -> None:
    """The draft length of models means nothing to n-grams: left out there, with a note, and no `off` is made of it."""
    text = """
base: {program: llama-server, args: -m a}
matrix: {--spec-draft-n-max: [0, 2], --spec-ngram-mod-n-max: [8]}
variants: [{name: mtp, args: --spec-type draft-mtp}, {name: mod, args: --spec-type ngram-mod}]
"""
    assert list(variants(text)) == ["off", "mtp-n2", "mod-ngram-mod-n-max8"]
    assert notes(text) == (
        "mtp does not read --spec-ngram-mod-n-max: it is not varied there",
        "mod does not read --spec-draft-n-max: it is not varied there",
    )


def test_types_can_be_varied() -> None:
    """`none` is the command without speculation, and values that are words are named by themselves."""
    text = MTP + "matrix: {--spec-type: [none, draft-mtp, ngram-simple], -ctk: [q8_0]}"
    assert list(variants(text)) == ["off-ctk-q8_0", "mtp-mtp-ctk-q8_0", "mtp-ngram-simple-ctk-q8_0"]


def test_two_baselines_of_the_matrix_have_two_names() -> None:
    """`off` of two variants with other arguments gets a number."""
    text = """
base: {program: llama-server, args: -m a}
matrix: {--spec-draft-n-max: [0, 1]}
variants:
  - {name: a, args: --spec-type draft-mtp}
  - {name: b, args: --spec-type draft-mtp -c 99}
"""
    assert variants(text) == {
        "off": "-m a",
        "a-n1": "-m a --spec-type draft-mtp --spec-draft-n-max 1",
        "off-2": "-m a -c 99",
        "b-n1": "-m a --spec-type draft-mtp -c 99 --spec-draft-n-max 1",
    }


def test_long_names_are_cut_and_stay_apart() -> None:
    """A name has 64 characters at most."""
    text = MTP.replace("name: mtp", f"name: {'x' * 64}") + "matrix: {-np: [4, 6, 8]}"
    names = list(variants(text))
    assert [len(name) for name in names] == [64, 64, 64]
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MTP + "matrix: {-np: []}", "f, line 3: matrix: -np needs a list with one value"),
        (MTP + "matrix: {}", "f, line 3: matrix: write a mapping"),
        (MTP + "matrix: [4]", "f, line 3: matrix: write a mapping"),
        (MTP + "matrix: {np: [4]}", "f, line 3: matrix: np is no argument"),
        (MTP + "matrix: {-np: [[4]]}", "f, line 3: matrix: -np: a value is a word"),
        (MTP + "matrix: {-np: [4], --parallel: [6]}", "varies one argument under two names"),
        ("variants: [{name: a, url: http://h, matrix: {-np: [4]}}]", "kind url has no arguments for a matrix"),
        ("variants: [{name: a, url: http://h}]\nmatrix: {-np: [4]}", "f, line 2: matrix: no variant is a launched one"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said(text: str, message: str) -> None:
    """Empty lists, kinds without arguments, and slips."""
    with pytest.raises(ExperimentError) as caught:
        parse_experiment(text, name="f")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "under_test"),
    [
        ("-np: [4, 6]", ("slots", "context_per_slot")),
        ("-c: [99]", ("context_per_slot",)),
        ("-kvu: [true]", ("context_per_slot", "kv")),
        ("--cache-ram: [0]", ("cache",)),
        ("-t: [2]", ("threads",)),
        ("-ub: [256]", ("batch",)),
        ("-ngl: [9]", ("device",)),
        ("-m: [a, b]", ()),
    ],
)
def test_what_a_matrix_varies_is_meant(values: str, under_test: tuple[Any, ...]) -> None:
    """Differences that it makes don't stop the run; another model always does."""
    fields, _ = parse_experiment(f"{OFF_AND_MTP}matrix: {{{values}}}", name="f")
    assert fields["under_test"] == under_test
