"""The candidates of a tuning run."""

import pytest

from loadgen.errors import ExperimentError
from loadgen.experiment.tuning_grid import MOST, Varied, tried

MTP = "llama-server -m a.gguf -np 4 -c 8192 --spec-type draft-mtp --spec-draft-n-max 3"


def names(text: str, varied: Varied) -> list[str]:
    """The candidates' names in order."""
    return [one.candidate.variant for one in tried(text.split(), varied)]


def args(text: str, varied: Varied) -> dict[str, str]:
    """What is started, by name."""
    return {one.variant.name: " ".join(one.variant.args) for one in tried(text.split(), varied)}


def test_draft_lengths_are_tried_around_the_commands_own() -> None:
    """Without being asked for: 1, 2, 3, 5 and 8 with `off`, at the command's slots."""
    assert names(MTP, Varied()) == ["off", "mtp-n1", "mtp-n2", "mtp-n3", "mtp-n5", "mtp-n8"]
    four = MTP.replace("n-max 3", "n-max 4")
    assert names(four, Varied()) == ["off", "mtp-n1", "mtp-n2", "mtp-n3", "mtp-n4", "mtp-n5", "mtp-n8"]


def test_slots_multiply_and_off_is_there_at_every_number_of_them() -> None:
    """The baseline is `off` with the command's own slots, and each slot keeps its 2048 tokens."""
    assert args(MTP, Varied(n_max=(1, 3), slots=(8, 4))) == {
        "off-np4": "-m a.gguf -np 4 -c 8192",
        "off-np8": "-m a.gguf -np 8 -c 16384",
        "mtp-n1-np4": "-m a.gguf -np 4 -c 8192 --spec-type draft-mtp --spec-draft-n-max 1",
        "mtp-n1-np8": "-m a.gguf -np 8 -c 16384 --spec-type draft-mtp --spec-draft-n-max 1",
        "mtp-n3-np4": "-m a.gguf -np 4 -c 8192 --spec-type draft-mtp --spec-draft-n-max 3",
        "mtp-n3-np8": "-m a.gguf -np 8 -c 16384 --spec-type draft-mtp --spec-draft-n-max 3",
    }


def test_the_commands_own_slots_stay_the_baseline_when_others_are_asked_for() -> None:
    """The gain is one over what is there now."""
    assert names(MTP, Varied(n_max=(3,), slots=(2, 8))) == ["off-np4", "off-np2", "off-np8", "mtp-n3-np2", "mtp-n3-np8"]


def test_types_and_p_min_multiply_when_asked() -> None:
    """Only drafts with a model read p_min."""
    varied = Varied(n_max=(2, 4), types=("draft-mtp", "ngram-simple"), p_min=(0.0, 0.5))
    assert names(MTP, varied) == [
        "off",
        "mtp-n2-pmin0",
        "mtp-n2-pmin0.5",
        "mtp-n4-pmin0",
        "mtp-n4-pmin0.5",
        "ngram-simple-n2",
        "ngram-simple-n4",
    ]


def test_an_n_gram_type_loads_no_draft_model() -> None:
    """Its memory would be taken for nothing."""
    text = "llama-server -m a -md d --spec-type draft-simple"
    found = args(text, Varied(n_max=(4,), types=("draft-simple", "ngram-simple")))
    assert found["draft-n4"] == "-m a -md d --spec-type draft-simple --spec-draft-n-max 4"
    assert found["ngram-simple-n4"] == "-m a --spec-type ngram-simple --spec-ngram-simple-size-m 4"


def test_types_that_work_together_are_one_value() -> None:
    """Joined by a comma, as `--spec-type` takes them."""
    found = args(MTP, Varied(n_max=(1, 3), types=("draft-mtp,ngram-mod",)))
    assert found["mtp_ngram-mod-n1"].endswith("--spec-type draft-mtp,ngram-mod --spec-draft-n-max 1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("llama-server -m a -c 8192 --spec-type draft-mtp", "-m a -c 8192 -np 8 -kvu"),
        ("llama-server -m a -c 8192 -np 4 -kvu --spec-type draft-mtp", "-m a -c 8192 -np 8 -kvu"),
        ("llama-server -m a -np 4 --spec-type draft-mtp", "-m a -np 8"),
        (
            "llama-server -m a --parallel 4 --ctx-size 4096 -ctk odd --spec-type draft-mtp",
            "-m a -np 8 -c 8192 -ctk odd",
        ),
        (
            "LLAMA_ARG_N_PARALLEL=2 LLAMA_ARG_CTX_SIZE=2048 llama-server -m a --spec-type draft-mtp",
            "-m a -np 8 -c 8192",
        ),
    ],
)
def test_a_slot_keeps_its_context(text: str, expected: str) -> None:
    """A cache that all slots share stays one; without `-c` there is nothing to multiply."""
    assert args(text, Varied(n_max=(3,), slots=(8,)))["off-np8"] == expected


def test_facts_of_a_candidate() -> None:
    """What it is, and the command to paste."""
    off, on = tried(MTP.split(), Varied(n_max=(5,), slots=(4,), p_min=(0.5, 0.75)))[:2]
    assert (off.candidate.types, off.candidate.n_max, off.candidate.slots, off.candidate.p_min) == ((), 0, 4, None)
    assert (on.candidate.types, on.candidate.n_max, on.candidate.slots) == (("draft-mtp",), 5, 4)
    assert on.candidate.p_min == 0.5
    assert on.candidate.command == (
        "llama-server -m a.gguf -np 4 -c 8192 --spec-type draft-mtp --spec-draft-n-max 5 --spec-draft-p-min 0.5"
    )
    assert (off.variant.speculative, on.variant.speculative) == (False, True)


def test_the_command_is_as_it_was_typed() -> None:
    """With its variables, wrapper, host and port; `off` lacks what stood for speculation, and keys are masked."""
    words = [
        *("env", "A=1", "MY_KEY=x", "LLAMA_ARG_SPEC_TYPE=draft-mtp", "numactl", "-N", "0", "llama-server"),
        *("-m", "my model.gguf", "--host", "::1", "--port", "9", "--api-key", "k"),
    ]
    off, on, _ = tried(words, Varied(n_max=(2, 5)))
    rest = "numactl -N 0 llama-server -m 'my model.gguf' --host ::1 --port 9 --api-key ***"
    assert off.candidate.command == f"env A=1 'MY_KEY=***' {rest}"
    assert on.candidate.command == f"env A=1 'MY_KEY=***' LLAMA_ARG_SPEC_TYPE=draft-mtp {rest} --spec-draft-n-max 2"
    assert "--port" not in on.variant.args
    assert on.variant.env == {"A": "1", "MY_KEY": "x", "LLAMA_ARG_SPEC_TYPE": "draft-mtp"}


def test_what_would_run_the_same_runs_once() -> None:
    """Equal values, and values that nothing reads."""
    varied = Varied(n_max=(3, 3, 5), slots=(4, 4), types=("draft-mtp", "draft-mtp"))
    assert names(MTP, varied) == ["off", "mtp-n3", "mtp-n5"]
    cache = Varied(n_max=(3, 5), slots=(2, 4), types=("ngram-cache",))
    assert names(MTP, cache) == ["off-np4", "off-np2", "ngram-cache-np2", "ngram-cache-np4"]


@pytest.mark.parametrize(
    ("text", "varied", "message"),
    [
        ("llama-server -m a", Varied(), "no speculation to compare"),
        (MTP, Varied(n_max=(3,)), "one candidate beside off, mtp-n3, so nothing to choose from"),
        (MTP, Varied(n_max=(3, 3)), "one candidate beside off"),
        (MTP.replace("draft-mtp", "ngram-cache"), Varied(), "one candidate beside off, ngram-cache"),
        (MTP.replace("draft-mtp", "ngram-cache"), Varied(n_max=(1, 2)), "nothing sets how much ngram-cache drafts"),
        (MTP.replace("draft-mtp", "ngram-mod"), Varied(p_min=(0.1, 0.2)), "ngram-mod does not read it"),
        (MTP, Varied(types=("none",)), "is no speculation"),
        (MTP, Varied(types=("draft-simple",)), "without a draft model"),
        (MTP, Varied(n_max=tuple(range(1, 12)), slots=(1, 2, 4)), f"36 candidates are more than {MOST}"),
        (MTP.replace("-np 4", "-np four"), Varied(), "-np four in the command is no whole number"),
    ],
)
def test_what_can_not_be_tuned(text: str, varied: Varied, message: str) -> None:
    """One sentence, before anything starts."""
    with pytest.raises(ExperimentError, match=message):
        tried(text.split(), varied)
