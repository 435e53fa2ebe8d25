"""Several pasted commands against one baseline, and a command against itself."""

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.candidates import twice, variants_from_commands
from loadgen.experiment.llama_flags import VARIABLES

MTP = "llama-server -m a --port 1 --spec-type draft-mtp"


def test_commands_are_compared_with_the_first_without_its_speculation() -> None:
    """Each is named by its speculation, and equal names get numbers."""
    commands = [MTP, f"{MTP} --spec-draft-p-min 0.5", "llama-server -m a -c 9 --spec-type ngram-mod"]
    variants = variants_from_commands([command.split() for command in commands])
    assert [(one.name, " ".join(one.args)) for one in variants] == [
        ("off", "-m a"),
        ("mtp", "-m a --spec-type draft-mtp"),
        ("mtp-2", "-m a --spec-type draft-mtp --spec-draft-p-min 0.5"),
        ("ngram-mod", "-m a -c 9 --spec-type ngram-mod"),
    ]


def test_long_names_are_numbered_within_64_characters() -> None:
    """The number takes the place of the end."""
    types = [f"--spec-type {'x' * 70}", f"--spec-type {'x' * 71}"]
    names = [one.name for one in variants_from_commands([f"llama-server {one}".split() for one in types])]
    assert names == ["off", "x" * 64, "x" * 62 + "-2"]


def test_the_same_command_twice_is_refused() -> None:
    """It would be measured twice for nothing."""
    with pytest.raises(ExperimentError, match="two commands are the same"):
        variants_from_commands([MTP.split(), MTP.split()])


def test_a_candidate_without_speculation_is_refused() -> None:
    """There is nothing in it to compare."""
    with pytest.raises(ExperimentError, match="no speculation to compare"):
        variants_from_commands([MTP.split(), ["llama-server", "-m", "a"]])


@pytest.mark.parametrize(
    ("command", "name", "args", "env"),
    [
        (MTP, "mtp", "-m a --spec-type draft-mtp", {}),
        ("A=1 llama-server -m a --host h", "off", "-m a", {**dict.fromkeys(VARIABLES), "A": "1"}),
    ],
)
def test_a_command_against_itself(command: str, name: str, args: str, env: dict[str, str | None]) -> None:
    """With speculation or without; both are the same server under two names."""
    one, again = twice(command.split())
    assert (one.name, " ".join(one.args), one.env, one.speculative) == (name, args, env, name != "off")
    assert again == one.model_copy(update={"name": f"{name}-again"})


def test_traps_are_seen_in_a_comparison_with_itself_as_well() -> None:
    """A draft model that is never used is no server that anybody means."""
    with pytest.raises(ExperimentError, match="never used"):
        twice(["llama-server", "-m", "a", "-md", "d"])
