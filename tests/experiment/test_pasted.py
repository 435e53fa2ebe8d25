"""A user's command becomes two variants that differ in speculation only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import ExperimentError
from loadgen.experiment.llama_flags import VARIABLES
from loadgen.experiment.pasted import prepared, variants_from_command

UNSET: dict[str, str | None] = dict.fromkeys(VARIABLES)


def test_the_command_is_split_into_on_and_off() -> None:
    """`on` keeps everything but the address; `off` lacks speculation in arguments and variables."""
    command = "llama-server -m a.gguf --port 9 -np 4 --spec-type draft-mtp --spec-draft-n-max 7 --host 0.0.0.0 -fa on"
    on, off = variants_from_command(command.split())
    assert (on.name, on.program, on.speculative, on.env) == ("mtp-7", "llama-server", True, {})
    assert " ".join(on.args) == "-m a.gguf -np 4 --spec-type draft-mtp --spec-draft-n-max 7 -fa on"
    assert (off.name, off.program, off.speculative, off.env) == ("off", "llama-server", False, UNSET)
    assert off.args == ("-m", "a.gguf", "-np", "4", "-fa", "on")


@pytest.mark.parametrize("prefix", [[], ["env"], ["/usr/bin/env"]])
def test_variables_before_the_program_are_kept(prefix: list[str]) -> None:
    """`VAR=x` words become the environment; those of speculation are removed for `off`, even unlisted ones."""
    words = ["CUDA_VISIBLE_DEVICES=0", "LLAMA_ARG_SPEC_TYPE=ngram-mod", "LLAMA_ARG_SPEC_X=1", "llama-server", "-m", "a"]
    on, off = variants_from_command([*prefix, *words])
    assert on.env == {"CUDA_VISIBLE_DEVICES": "0", "LLAMA_ARG_SPEC_TYPE": "ngram-mod", "LLAMA_ARG_SPEC_X": "1"}
    assert (on.name, on.args) == ("ngram-mod", ("-m", "a"))
    assert off.env == {"CUDA_VISIBLE_DEVICES": "0", "LLAMA_ARG_SPEC_X": None, **UNSET}


def test_env_can_unset() -> None:
    """`env -u NAME` becomes a removed variable."""
    on, _ = variants_from_command(["env", "-u", "A", "-u", "B", "C=1", "llama-server", "--spec-default"])
    assert on.env == {"A": None, "B": None, "C": "1"}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("--spec-type draft-mtp", "mtp"),
        ("--spec-type draft-mtp --spec-draft-n-max 3", "mtp-3"),
        ("--spec-type draft-eagle3 -md d.gguf", "eagle3"),
        ("--spec-type draft-simple -md d.gguf --spec-draft-n-max 8", "draft-8"),
        ("--spec-type ngram-simple", "ngram-simple"),
        ("--spec-type ngram-simple --spec-draft-n-max 8", "ngram-simple"),
        ("--spec-type draft-mtp,ngram-mod --spec-draft-n-max 2", "mtp_ngram-mod-2"),
        ("--spec-default", "ngram-mod"),
        ("--spec-type mtp+/tree", "mtp-tree"),
        (f"--spec-type {'x' * 80}", "x" * 64),
        ("--spec-type +", "on"),
    ],
)
def test_the_variant_is_named_from_its_speculation(arguments: str, name: str) -> None:
    """Type without `draft-`, then the draft length where it is given and used."""
    on, off = variants_from_command(["llama-server", "-m", "a", *arguments.split()])
    assert (on.name, off.args) == (name, ("-m", "a"))


def test_a_wrappers_words_stay() -> None:
    """Words before llama-server are not read as its arguments."""
    command = "numactl --port 1 -md 0 llama-server --port 2 -m a --spec-type draft-mtp"
    on, off = variants_from_command(command.split())
    assert (on.program, off.program) == ("numactl", "numactl")
    assert " ".join(on.args) == "--port 1 -md 0 llama-server -m a --spec-type draft-mtp"
    assert " ".join(off.args) == "--port 1 -md 0 llama-server -m a"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "the command is empty"),
        ("env A=1", "the command is empty"),
        ("llama-server -m a", "no speculation to compare: add --spec-type"),
        ("llama-server -m a --spec-type none", "no speculation to compare: add --spec-type"),
        ("llama-server -m a -md d.gguf", "loaded into memory but never used: add --spec-type draft-simple"),
        ("llama-server -m a -md d.gguf --spec-type none", "loaded into memory but never used"),
        ("llama-server -m a --spec-type draft-simple", "starts with speculation off: add -md"),
        ("llama-server -m a --spec-type draft-mtp --spec-draft-n-max 0", "does not switch speculation off"),
        ("llama-server -m a --draft-max 8", "no longer takes --draft-max: use --spec-draft-n-max"),
        ("llama-server -m a --draft-min=8", "no longer takes --draft-min: use --spec-draft-n-min"),
        ("llama-server --fim-qwen-7b-spec", "--fim-qwen-7b-spec loads a model together with its draft"),
    ],
)
def test_commands_without_a_fair_comparison_are_refused(command: str, message: str) -> None:
    """What llama-server would pass over in silence is said, each with what to do."""
    with pytest.raises(ExperimentError) as caught:
        variants_from_command(command.split())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("words", "program", "expected"),
    [
        ("-m a", "llama-server", "-m a --host 127.0.0.1 --port 9 --metrics -lv 4"),
        (
            "--port 1 -m a --metrics -v --host=::",
            "llama-server",
            "--port 9 -m a --metrics -v --host 127.0.0.1",
        ),
        (
            "-lv 5 -m a",
            "embedded",
            "-lv 5 -m a --host 127.0.0.1 --port 9 --metrics",
        ),
        ("-p 1 llama-server -m a", "nice", "-p 1 llama-server -m a --host 127.0.0.1 --port 9 --metrics -lv 4"),
    ],
)
def test_what_loadgen_needs_is_added_once(words: str, program: str, expected: str) -> None:
    """The address is ours; metrics and the log level are added where the user gave none."""
    assert " ".join(prepared(words.split(), host="127.0.0.1", port=9, program=program)) == expected


WORDS = ["-m", "a", "-np", "4", "--spec-default", "--spec-draft-p-min", "0.1", "-ngld", "9", "-c", "8"]
_words = st.lists(st.sampled_from(WORDS), max_size=9)


@given(_words)
def test_off_is_on_without_speculation(words: list[str]) -> None:
    """Both variants have the same program and, speculation aside, the same words in the same order."""
    on, off = variants_from_command(["llama-server", *words, "--spec-type", "ngram-mod"])
    rest = iter(on.args)
    assert all(word in rest for word in off.args)
    assert (on.program, off.program) == ("llama-server", "llama-server")
