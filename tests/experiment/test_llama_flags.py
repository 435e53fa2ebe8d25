"""Which arguments of llama-server belong to speculation, and what remains without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.experiment.llama_flags import (
    REMOVED,
    SPECULATION,
    VARIABLES,
    Speculation,
    first_argument,
    has,
    is_speculative,
    is_speculative_variable,
    masked,
    replaced,
    speculation_of,
    value_of,
    without_speculation,
)

OTHERS = ("-m", "model.gguf", "-c", "8192", "--metrics", "-np", "4", "--jinja", "--temp=0.5", "-1", "--spm-infill")


@st.composite
def _speculative(draw: st.DrawFn) -> list[str]:
    name = draw(st.sampled_from(sorted(SPECULATION)))
    values = draw(st.lists(st.sampled_from(["3", "a.gguf", "-1", "draft-mtp"]), min_size=2, max_size=2))
    if SPECULATION[name] == 1 and draw(st.booleans()):
        return [f"{name}={values[0]}"]
    return [name, *values[: SPECULATION[name]]]


_groups = st.lists(st.one_of(_speculative(), st.sampled_from(OTHERS).map(lambda word: [word])), max_size=12)


@given(_groups)
def test_removing_speculation_keeps_the_rest_in_order(groups: list[list[str]]) -> None:
    """Exactly the words of speculation go, with their values, in both forms."""
    words = [word for group in groups for word in group]
    kept = tuple(group[0] for group in groups if group[0] in OTHERS)
    assert without_speculation(words) == kept


@given(st.lists(st.one_of(st.sampled_from([*SPECULATION, *OTHERS, "--spec-new", "--x-draft"]), st.text(max_size=5))))
def test_removing_speculation_twice_changes_nothing_more(words: list[str]) -> None:
    """Removal is idempotent for every list of words, and leaves no speculative one."""
    once = without_speculation(words)
    assert without_speculation(once) == once
    assert not any(is_speculative(word) for word in once)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-m a --spec-type draft-mtp -c 1", "-m a -c 1"),
        ("-m a --spec_type draft-mtp -c 1", "-m a -c 1"),
        ("-md b.gguf -ngld 99 -cd 512 -m a", "-m a"),
        ("-m a -hfd x/y:Q4 -devd none -ctkd q8_0 -otd x=CPU", "-m a"),
        ("-lcs a -lcd b -m a", "-m a"),
        ("--spec-default -m a", "-m a"),
        ("-cmoed -m a", "-m a"),
        ("--draft-max 16 --draft-p-min 0.5 -m a", "-m a"),
        ("--spec-replace x y -m a", "-m a"),
        ("--spec-later 3 -m a", "-m a"),
        ("--spec-later-switch --metrics", "--metrics"),
        ("--spec-later -0.5 -m a", "-m a"),
        ("-m a --spec-type", "-m a"),
        ("-ctk q8_0 --special --threads 4", "-ctk q8_0 --special --threads 4"),
    ],
)
def test_what_remains_without_speculation(words: str, expected: str) -> None:
    """Known arguments go with their values; unknown ones of the same family with one, unless a dash follows."""
    assert " ".join(without_speculation(words.split())) == expected


@pytest.mark.parametrize(
    ("words", "types", "n_max", "draft"),
    [
        ("-m a", (), None, None),
        ("--spec-type none", (), None, None),
        ("--spec-type draft-mtp --spec-draft-n-max 7", ("draft-mtp",), 7, None),
        ("--spec-type=ngram-simple,draft-mtp", ("ngram-simple", "draft-mtp"), None, None),
        ("--spec-type draft-mtp --spec-type draft-simple -md d.gguf", ("draft-simple",), None, "d.gguf"),
        ("--spec-default", ("ngram-mod",), None, None),
        ("--spec-draft-n-max many --spec-draft-hf x/y", (), None, "x/y"),
    ],
)
def test_what_a_command_says_of_speculation(
    words: str, types: tuple[str, ...], n_max: int | None, draft: str | None
) -> None:
    """Types without `none`, the draft length, and the draft model; the last one given wins."""
    found = speculation_of(words.split())
    assert (found.types, found.n_max, found.draft) == (types, n_max, draft)


def test_removed_arguments_are_named() -> None:
    """Arguments on which current builds exit are told apart."""
    assert speculation_of(["--draft-max", "3", "-m", "a"]) == Speculation((), None, None, ("--draft-max",))
    assert speculation_of(["--draft-max", "3"]).removed == ("--draft-max",)
    assert all(is_speculative(name) for name in REMOVED)


@pytest.mark.parametrize(
    ("words", "expected"),
    [("-c 1 --ctx-size 2", "2"), ("--ctx-size=3", "3"), ("--ctx_size 4", "4"), ("-c", None), ("-m c", None)],
)
def test_the_last_value_counts(words: str, expected: str | None) -> None:
    """A value is found under every name and in both forms."""
    assert value_of(words.split(), "-c", "--ctx-size") == expected


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        ("-m a -c 1 -np 2", "9", "-m a -c 9 -np 2"),
        ("-m a", "9", "-m a -c 9"),
        ("--ctx-size=1 -m a -c 2", "9", "-c 9 -m a"),
        ("-m a -c 1 -np 2", None, "-m a -np 2"),
        ("-m a", None, "-m a"),
    ],
)
def test_a_value_is_replaced_in_its_place(words: str, value: str | None, expected: str) -> None:
    """One argument remains where the first stood; none when the value is null."""
    assert " ".join(replaced(words.split(), "-c", "--ctx-size", value=value)) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-m a --api-key secret -c 1", "-m a --api-key *** -c 1"),
        ("--api-key=secret", "--api-key=***"),
        ("-hft hf_x --hf-token hf_y", "-hft *** --hf-token ***"),
        ("run -e HF_TOKEN=hf_x -e A=b", "run -e HF_TOKEN=*** -e A=b"),
        ("-m a --api-key", "-m a --api-key"),
    ],
)
def test_keys_are_masked(words: str, expected: str) -> None:
    """No key or token stays in a command that is shown or recorded."""
    assert " ".join(masked(words.split())) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("llama-server -m a", 0),
        ("/opt/llama.cpp/bin/llama-server -m a", 0),
        ("embedded -m a", 0),
        ("./server -m a", 0),
        ("taskset -c 0-3 llama-server -m a", 3),
        ("numactl -N 0 -m 0 /x/llama-server -m a", 5),
        ("docker run --gpus all ghcr.io/ggml-org/llama.cpp:server-cuda -m a", 4),
        ("my-wrapper start -m a", 1),
        ("my-wrapper", 0),
    ],
)
def test_where_llama_servers_arguments_begin(command: str, expected: int) -> None:
    """A wrapper's words end with the word that names the server, else before the first dash."""
    program, *args = command.split()
    assert first_argument(program, args) == expected


def test_variables_of_speculation_are_known() -> None:
    """Every listed variable counts, and so do new ones of the same families; others don't."""
    assert all(map(is_speculative_variable, VARIABLES))
    assert is_speculative_variable("LLAMA_ARG_SPEC_NEW")
    assert not any(map(is_speculative_variable, ("LLAMA_ARG_MODEL", "LLAMA_ARG_CTX_SIZE", "HF_TOKEN")))


def test_an_argument_is_found_in_both_forms() -> None:
    """`has` sees `--flag`, `--flag=value` and underscores."""
    assert has(["--log_verbosity=4"], "--log-verbosity")
    assert not has(["--log-verbosity-x"], "--log-verbosity")
