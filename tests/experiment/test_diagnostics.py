"""Set acceptance and idle speculation, as a file asks for them."""

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.document import parse_experiment
from loadgen.experiment.model import Experiment


def read(variants: str, rest: str = "") -> tuple[Experiment, tuple[str, ...]]:
    """The experiment and notes of a file with these variants."""
    text = f"base: {{kind: embedded, args: -m a}}\nvariants: {variants}\n{rest}"
    fields, notes = parse_experiment(text, name="f")
    return Experiment(**{"levels": (1,), **fields}), notes


def commands(asked: Experiment) -> dict[str, str]:
    """Names with the arguments behind the base's."""
    return {one.name: " ".join(one.model_dump()["args"]).removeprefix("-m a").strip() for one in asked.variants}


def test_acceptance_lengths_take_the_place_of_the_variant() -> None:
    """One variant for each, named by it; what the variant set itself is replaced."""
    asked, _ = read(
        "[{name: off}, {name: mtp, args: {--spec-type: draft-mtp, --spec-synth-rates: '1,1,1'},"
        " synthetic_acceptance: [1, 2.5, 4.0]}]"
    )
    assert commands(asked) == {
        "off": "",
        "mtp-L1": "--spec-type draft-mtp --spec-synth-len 1",
        "mtp-L2.5": "--spec-type draft-mtp --spec-synth-len 2.5",
        "mtp-L4": "--spec-type draft-mtp --spec-synth-len 4",
    }


@pytest.mark.parametrize(
    ("args", "length", "limit"),
    [
        ("--spec-type draft-mtp", 4.5, "1 to 4"),
        ("--spec-type draft-mtp", 0.5, "1 to 4"),
        ("--spec-type draft-mtp --spec-draft-n-max 7", 8.1, "1 to 8"),
        ("--spec-type ngram-simple", 50, "1 to 49"),
        ("--spec-type ngram-map-k --spec-ngram-map-k-size-m 8", 10, "1 to 9"),
        ("--spec-type ngram-mod", 66, "1 to 65"),
        ("--spec-type ngram-cache", 10, "1 to 9"),
        ("--spec-type draft-mtp,ngram-mod", 66, "1 to 65"),
    ],
)
def test_a_length_must_be_reachable(args: str, length: float, limit: str) -> None:
    """The bounds are those with which the server exits (seen on b11549)."""
    with pytest.raises(ExperimentError, match=f"f, line 2: variant x: .* it must be {limit} "):
        read(f"[{{name: x, args: '{args}', synthetic_acceptance: [{length}]}}]")


def test_a_matrix_leaves_out_lengths_that_it_cannot_reach() -> None:
    """With a note; what is without speculation stays as it is."""
    asked, notes = read(
        "[{name: mtp, args: --spec-type draft-mtp, synthetic_acceptance: [2, 3.5]}]",
        "matrix: {--spec-draft-n-max: [0, 1, 3]}",
    )
    assert list(commands(asked)) == ["off", "mtp-n1-L2", "mtp-n3-L2", "mtp-n3-L3.5"]
    reason = "mtp-n1 can't accept 3.5 tokens a step: it must be 1 to 2 (its longest draft + 1)"
    assert notes == (f"{reason}; that combination is left out",)


def test_overhead_adds_a_variant_that_loads_and_drafts_nothing() -> None:
    """Every type of a speculation is kept from drafting by its own argument; set acceptance does not go with it."""
    asked, _ = read(
        "[{name: off}, {name: both, overhead: true, synthetic_acceptance: [2],"
        " args: {--spec-type: 'draft-mtp,ngram-mod', --draft-p-min: 0.5}}]"
    )
    assert commands(asked) == {
        "off": "",
        "both-L2": "--spec-type draft-mtp,ngram-mod --draft-p-min 0.5 --spec-synth-len 2",
        "both-overhead": "--spec-type draft-mtp,ngram-mod --spec-draft-p-min 2 --spec-ngram-mod-n-match 1024",
    }
    assert [(one.overhead, one.speculative) for one in asked.variants] == [(False, False), (False, True), (True, True)]


def test_a_matrix_has_an_overhead_for_every_speculation() -> None:
    """Memory for rollback depends on the draft length, so each length has its own; `off` has none."""
    asked, _ = read(
        "[{name: mtp, overhead: true, args: --spec-type draft-mtp}]", "matrix: {--spec-draft-n-max: [0, 1, 7]}"
    )
    assert list(commands(asked)) == ["off", "mtp-n1", "mtp-n1-overhead", "mtp-n7", "mtp-n7-overhead"]


def test_a_server_that_is_not_ours_can_be_the_overhead() -> None:
    """Other kinds have no arguments to derive it from: the mark is for the variant itself."""
    asked, _ = read("[{name: off, url: 'http://h:1'}, {name: idle, url: 'http://h:2', overhead: true}]")
    assert [(one.name, one.overhead) for one in asked.variants] == [("off", False), ("idle", True)]


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("{name: x, overhead: true}", "overhead needs speculation"),
        ("{name: x, synthetic_acceptance: [2]}", "synthetic_acceptance needs speculation"),
        ("{name: x, overhead: true, args: --spec-type ngram-cache}", "ngram-cache has no argument that keeps it"),
        ("{name: x, url: 'http://h', synthetic_acceptance: [2]}", "kind url has no arguments to set"),
        ("{name: x, args: --spec-type draft-mtp, synthetic_acceptance: []}", "synthetic_acceptance: one at least"),
    ],
)
def test_what_is_wrong_is_said(variant: str, message: str) -> None:
    """With the variant's name and line."""
    with pytest.raises(ExperimentError, match="f, line 2: variant x: ") as caught:
        read(f"[{variant}]")
    assert message in str(caught.value)
