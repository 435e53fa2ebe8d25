"""The two sides of a gate, put together from what is typed."""

import shlex

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.llama_flags import VARIABLES
from loadgen.experiment.sides import are_equal, sides, under_test
from loadgen.experiment.variant import LaunchVariant


def both(good: str, new: str, common: str) -> tuple[LaunchVariant, LaunchVariant]:
    """The sides of texts as a shell reads them."""
    return sides(shlex.split(good), shlex.split(new), shlex.split(common))


def command(variant: LaunchVariant) -> str:
    """Program and arguments."""
    return shlex.join([variant.program, *variant.args])


@pytest.mark.parametrize(
    ("good", "new", "common", "commands"),
    [
        ("v1/llama-server", "v2/llama-server", "-m a", ["v1/llama-server -m a", "v2/llama-server -m a"]),
        ("v1/llama-server -fa off", "v2/mine -fa on", "-m a", ["v1/llama-server -fa off -m a", "v2/mine -fa on -m a"]),
        ("", "-fa on", "llama-server -m a", ["llama-server -m a", "llama-server -m a -fa on"]),
        ("-t 4", "-t 8", "embedded -m a", ["embedded -m a -t 4", "embedded -m a -t 8"]),
        ("numactl -N 0", "nice", "llama-server -m a", ["numactl -N 0 llama-server -m a", "nice llama-server -m a"]),
        ("", "GGML_X=1", "llama-server -m a", ["llama-server -m a", "llama-server -m a"]),
    ],
)  # fmt: skip
def test_a_side_is_a_program_or_arguments_or_what_stands_before_it(
    good: str, new: str, common: str, commands: list[str]
) -> None:
    """Programs, wrappers and variables go before the common arguments, bare arguments behind them."""
    variants = both(good, new, common)
    assert [one.name for one in variants] == ["good", "new"]
    assert [command(one) for one in variants] == commands


def test_variables_of_a_side_are_set_for_its_server() -> None:
    """A driver under test is a variable; what loadgen's own environment says of speculation is kept away."""
    good, new = both("LD_LIBRARY_PATH=/a", "env LD_LIBRARY_PATH=/b", "llama-server -m a")
    assert (good.env["LD_LIBRARY_PATH"], new.env["LD_LIBRARY_PATH"]) == ("/a", "/b")
    assert all(good.env[name] is None for name in VARIABLES)


@pytest.mark.parametrize(
    ("good", "new", "common", "message"),
    [
        ("", "b", "", "--good names no program"),
        ("a", "", "-m a", "--new names no program"),
        ("-t 1", "-t 2", "-m a", "--good names no program"),
        ("v1/llama-server", "v2/llama-server", "llama-server -m a", "--good and the arguments behind -- both name"),
        ("X=1 -fa on", "", "llama-server -m a", "-fa stands where the program must"),
        ("a --draft-max 3", "a", "-m a", "--draft-max"),
        ("a -md d", "a", "-m a", "a draft model alone"),
    ],
)
def test_a_side_has_one_program_and_no_trap(good: str, new: str, common: str, message: str) -> None:
    """None or two are refused by the option's name, and so is speculation that would silently be off."""
    with pytest.raises(ExperimentError, match=message):
        both(good, new, common)


@pytest.mark.parametrize(
    ("good", "new", "common", "fields"),
    [
        ("v1/llama-server", "v2/llama-server", "-m a", ("build",)),
        ("", "-np 8", "llama-server -m a -np 4", ("build", "context_per_slot", "slots")),
        ("-t 4 -fa on", "-t 4 -fa off", "llama-server -m a", ("build", "kv")),
        ("", "--threads 4", "llama-server -m a -t 4", ("build", "threads")),
        ("--spec-type draft-mtp", "--spec-type draft-mtp --spec-draft-n-max 5", "llama-server -m a", ("build",)),
        ("", "LLAMA_ARG_BATCH=64", "llama-server -m a", ("batch", "build")),
        ("", "-m b", "llama-server -m a", ("build",)),
    ],
)
def test_what_is_under_test_is_what_the_sides_give_differently(
    good: str, new: str, common: str, fields: tuple[str, ...]
) -> None:
    """The build always; an argument or variable brings what it changes; another model must be allowed by name."""
    assert under_test(*both(good, new, common)) == fields


def test_equal_sides_are_seen() -> None:
    """A binary against itself."""
    assert are_equal(*both("a", "a", "-m m"))
    assert not are_equal(*both("a", "b", "-m m"))
    assert not are_equal(*both("X=1", "X=2", "llama-server -m m"))
