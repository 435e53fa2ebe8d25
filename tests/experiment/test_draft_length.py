"""Which argument sets the longest draft, and what changes with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.command import Command
from loadgen.experiment.draft_length import default_lengths, length_of, with_length


def command(text: str, **env: str | None) -> Command:
    """A command of llama-server."""
    return Command("llama-server", tuple(text.split()), env)


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ("--spec-type draft-mtp", ("--spec-draft-n-max", 3)),
        ("--spec-type draft-mtp --spec-draft-n-max 7", ("--spec-draft-n-max", 7)),
        ("--spec-type ngram-mod,draft-mtp", ("--spec-draft-n-max", 3)),
        ("--spec-type ngram-simple", ("--spec-ngram-simple-size-m", 48)),
        ("--spec-type ngram-map-k --spec-ngram-map-k-size-m 9", ("--spec-ngram-map-k-size-m", 9)),
        ("--spec-default", ("--spec-ngram-mod-n-max", 64)),
        ("--spec-type ngram-cache", None),
        ("--spec-type of-a-fork", None),
        ("", None),
    ],
)
def test_every_type_has_its_argument(args: str, found: tuple[str, int] | None) -> None:
    """With the length that it has now, llama-server's default where it isn't given."""
    assert length_of(command(args)) == found


def test_the_own_length_is_among_the_defaults() -> None:
    """1, 2, 3, 5 and 8 around it; n-gram drafts are tried longer."""
    assert default_lengths(command("--spec-type draft-mtp --spec-draft-n-max 4")) == (1, 2, 3, 4, 5, 8)
    assert default_lengths(command("--spec-type ngram-simple")) == (8, 16, 32, 48, 64)
    assert default_lengths(command("--spec-type ngram-cache")) == ()


@pytest.mark.parametrize(
    ("args", "length", "expected"),
    [
        ("--spec-type draft-mtp", 5, "--spec-type draft-mtp --spec-draft-n-max 5"),
        ("--spec-draft-n-max 3 --spec-type draft-mtp", 5, "--spec-draft-n-max 5 --spec-type draft-mtp"),
        ("--spec-type draft-mtp", 3, "--spec-type draft-mtp"),
        ("--spec-type ngram-cache", 5, "--spec-type ngram-cache"),
        (
            "--spec-type draft-mtp --spec-draft-n-min 4",
            2,
            "--spec-type draft-mtp --spec-draft-n-min 2 --spec-draft-n-max 2",
        ),
        (
            "--spec-type ngram-mod",
            16,
            "--spec-type ngram-mod --spec-ngram-mod-n-max 16 --spec-ngram-mod-n-min 16",
        ),
        ("--spec-type ngram-mod", 50, "--spec-type ngram-mod --spec-ngram-mod-n-max 50"),
    ],
)
def test_a_length_is_set_where_it_stood(args: str, length: int, expected: str) -> None:
    """Unless it is the command's own; a shortest draft above the longest is lowered, or nothing would be drafted."""
    assert " ".join(with_length(command(args), length).args) == expected


@pytest.mark.parametrize(
    ("given_mean", "length", "mean"),
    [("4", 1, "2.0000"), ("4", 5, "6.0000"), ("1", 5, "1.0000"), ("1.875", 1, "1.5000"), ("1.875", 5, "1.9688")],
)
def test_a_synthetic_mean_keeps_its_chance_a_token(given_mean: str, length: int, mean: str) -> None:
    """1.875 of at most 4 tokens a step is a chance of a half: 1.5 of at most 2, 1 + 1/2 + … + 1/32 of at most 6."""
    made = with_length(command(f"--spec-type draft-mtp --spec-synth-len {given_mean}"), length)
    assert made.args[-4:] == ("--spec-synth-len", mean, "--spec-draft-n-max", str(length))


def test_synthetic_chances_by_position_are_cut_or_carried_on() -> None:
    """As many as positions: llama-server takes no other number."""
    base = "--spec-type draft-mtp --spec-synth-rates 0.8,0.4,0.2"
    assert "0.8,0.4" in with_length(command(base), 2).args
    assert "0.8,0.4,0.2,0.1,0.05" in with_length(command(base), 5).args


def test_a_synthetic_acceptance_may_come_from_a_variable() -> None:
    """The argument then goes over it."""
    made = with_length(command("--spec-type draft-mtp", LLAMA_ARG_SPEC_SYNTH_LEN="4"), 1)
    assert made.args == ("--spec-type", "draft-mtp", "--spec-draft-n-max", "1", "--spec-synth-len", "2.0000")


def test_an_acceptance_that_is_no_number_is_refused() -> None:
    """It can't be carried over to another length."""
    with pytest.raises(ExperimentError, match="--spec-synth-len much in the command is no number"):
        with_length(command("--spec-type draft-mtp --spec-synth-len much"), 1)


@given(st.floats(1, 4), st.integers(1, 16))
def test_llama_server_takes_every_mean_that_comes_out(mean: float, length: int) -> None:
    """It lies between 1 and the longest draft + 1."""
    made = with_length(command(f"--spec-type draft-mtp --spec-synth-len {mean}"), length)
    assert 1 <= float(made.args[made.args.index("--spec-synth-len") + 1]) <= length + 1
