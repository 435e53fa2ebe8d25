"""What llama-server passes over in silence is said before it starts."""

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.traps import check_speculation


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("-m a -md d.gguf", "loaded into memory but never used: add --spec-type draft-simple"),
        ("-m a -hfd org/repo", "loaded into memory but never used"),
        ("-m a -md d.gguf --spec-type none", "loaded into memory but never used"),
        ("-m a --spec-type draft-simple", "starts with speculation off: add -md"),
        ("-m a --spec-type draft-mtp --spec-draft-n-max 0", "--spec-draft-n-max 0 does not switch speculation off"),
        ("-m a --spec-type ngram-mod,draft-mtp --spec-draft-n-max=0", "--spec-draft-n-max 0 does not switch"),
        ("-m a --draft-max 8 --spec-type draft-mtp", "no longer takes --draft-max: use --spec-draft-n-max or"),
        ("-m a --draft_min=8", "no longer takes --draft-min: use --spec-draft-n-min or"),
        ("-m a --spec-ngram-size-n 8", "no longer takes --spec-ngram-size-n: use the respective"),
        ("-m a --spec-synth-len 3", "--spec-synth-len sets the acceptance of drafts, but no --spec-type makes any"),
        ("-m a --spec-type none --spec-synth-rates 1,1", "--spec-synth-rates sets the acceptance of drafts"),
        ("-m a --spec-draft-n-max 4", "--spec-draft-n-max does nothing without --spec-type"),
    ],
)
def test_each_trap_has_its_own_message(args: str, message: str) -> None:
    """The variant is named, and what to write instead."""
    with pytest.raises(ExperimentError) as caught:
        check_speculation(args.split(), {}, "fast")
    assert str(caught.value).startswith("variant 'fast': ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("args", "env", "message"),
    [
        ("-m a", {"LLAMA_ARG_SPEC_DRAFT_MODEL": "d.gguf"}, "loaded into memory but never used"),
        ("-m a", {"LLAMA_ARG_SPEC_TYPE": "draft-simple"}, "starts with speculation off"),
        ("-m a --spec-type draft-mtp", {"LLAMA_ARG_SPEC_DRAFT_N_MAX": "0"}, "does not switch speculation off"),
        ("-m a", {"LLAMA_ARG_SPEC_SYNTH_LEN": "3"}, "sets the acceptance of drafts"),
        (
            "-m a --spec-type draft-mtp",
            {"LLAMA_ARG_DRAFT_MAX": "8"},
            "no longer takes the variable LLAMA_ARG_DRAFT_MAX: use LLAMA_ARG_SPEC_DRAFT_N_MAX",
        ),
    ],
)
def test_variables_are_arguments_too(args: str, env: dict[str, str | None], message: str) -> None:
    """llama-server reads LLAMA_ARG_…, and falls into the same traps."""
    with pytest.raises(ExperimentError) as caught:
        check_speculation(args.split(), env)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("args", "env", "program"),
    [
        ("-m a", {}, "llama-server"),
        ("-m a --spec-type draft-mtp --spec-draft-n-max 1", {}, "llama-server"),
        ("-m a --spec-type draft-simple -md d.gguf", {}, "llama-server"),
        ("-m a --spec-type draft-simple", {"LLAMA_ARG_SPEC_DRAFT_MODEL": "d.gguf"}, "llama-server"),
        ("-m a --spec-type ngram-simple --spec-draft-n-max 0", {}, "llama-server"),
        ("-m a --spec-default", {}, "embedded"),
        ("-m a --spec-type draft-mtp --spec-synth-len 3", {}, "llama-server"),
        ("-m a --spec-draft-n-max 4", {"LLAMA_ARG_SPEC_TYPE": "draft-mtp"}, "llama-server"),
        ("-m a --spec-type draft-mtp --spec-draft-n-max 3", {"LLAMA_ARG_SPEC_DRAFT_N_MAX": "0"}, "llama-server"),
        ("-m a --spec-type draft-mtp", {"LLAMA_ARG_DRAFT_MAX": None}, "llama-server"),
        ("-md 0 llama-server -m a", {}, "numactl"),
    ],
)
def test_what_works_passes(args: str, env: dict[str, str | None], program: str) -> None:
    """Arguments win over variables, null removes one, n-gram types need no n_max, and a wrapper's words don't count."""
    check_speculation(args.split(), env, program=program)
