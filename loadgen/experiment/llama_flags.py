"""The arguments of llama-server that matter here: which belong to speculation, and which are gone.

Source: the argument tables in llama.cpp's `tools/server/README.md` and the help texts of build b11549; names of older
builds and forks are kept, because commands outlive builds. As in llama-server, the last one given wins and `_` in a
long name means `-`; `--flag=value`, which llama-server refuses but wrappers write, is read too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

TYPE = ("--spec-type",)
N_MAX = ("--spec-draft-n-max",)
DRAFT_MODEL = ("-md", "--model-draft", "--spec-draft-model")
DRAFT_REPO = ("-hfd", "-hfrd", "--hf-repo-draft", "--spec-draft-hf")
DEFAULT = ("--spec-default",)

TYPES = (
    "draft-simple",
    "draft-eagle3",
    "draft-mtp",
    "draft-dflash",
    "draft-dspark",
    "ngram-simple",
    "ngram-map-k",
    "ngram-map-k4v",
    "ngram-mod",
    "ngram-cache",
)
"""Values of `--spec-type` beside `none`."""

REMOVED: Mapping[str, str] = {
    "--draft": "--spec-draft-n-max or --spec-ngram-mod-n-max",
    "--draft-n": "--spec-draft-n-max or --spec-ngram-mod-n-max",
    "--draft-max": "--spec-draft-n-max or --spec-ngram-mod-n-max",
    "--draft-min": "--spec-draft-n-min or --spec-ngram-mod-n-min",
    "--draft-n-min": "--spec-draft-n-min or --spec-ngram-mod-n-min",
    "--spec-ngram-size-n": "the respective --spec-ngram-*-size-n or --spec-ngram-mod-n-match",
    "--spec-ngram-size-m": "the respective --spec-ngram-*-size-m",
    "--spec-ngram-min-hits": "the respective --spec-ngram-*-min-hits",
}
"""Arguments on which current builds exit, and what to write in their place."""

PRESETS = ("--fim-qwen-7b-spec", "--fim-qwen-14b-spec")
"""They load a model together with its draft, so speculation can't be taken out of them."""

_SWITCHES = (
    *DEFAULT,
    *("--spec-draft-backend-sampling", "--no-spec-draft-backend-sampling"),
    *("-cmoed", "--cpu-moe-draft", "--spec-draft-cpu-moe"),
)
_WITH_VALUE = (
    *TYPE,
    *N_MAX,
    *DRAFT_MODEL,
    *DRAFT_REPO,
    *("--spec-draft-n-min", "--spec-draft-sampling", "--spec-synth-len", "--spec-synth-rates"),
    *("--spec-draft-p-min", "--draft-p-min", "--spec-draft-p-split", "--draft-p-split"),
    *("-cd", "--ctx-size-draft"),
    *("-td", "--threads-draft", "--spec-draft-threads", "-tbd", "--threads-batch-draft", "--spec-draft-threads-batch"),
    *("-Cd", "--cpu-mask-draft", "--spec-draft-cpu-mask", "-Crd", "--cpu-range-draft", "--spec-draft-cpu-range"),
    *("-Cbd", "--cpu-mask-batch-draft", "--spec-draft-cpu-mask-batch"),
    *("-Crbd", "--cpu-range-batch-draft", "--spec-draft-cpu-range-batch"),
    *("--cpu-strict-draft", "--spec-draft-cpu-strict", "--cpu-strict-batch-draft", "--spec-draft-cpu-strict-batch"),
    *("--prio-draft", "--spec-draft-prio", "--prio-batch-draft", "--spec-draft-prio-batch"),
    *("--poll-draft", "--spec-draft-poll", "--poll-batch-draft", "--spec-draft-poll-batch"),
    *("-ngld", "--gpu-layers-draft", "--n-gpu-layers-draft", "--spec-draft-ngl"),
    *("-devd", "--device-draft", "--spec-draft-device"),
    *("-ctkd", "--cache-type-k-draft", "--spec-draft-type-k", "-ctvd", "--cache-type-v-draft", "--spec-draft-type-v"),
    *("-otd", "--override-tensor-draft", "--spec-draft-override-tensor"),
    *("-ncmoed", "--n-cpu-moe-draft", "--spec-draft-n-cpu-moe", "--spec-draft-ncmoe"),
    *("-lcs", "--lookup-cache-static", "-lcd", "--lookup-cache-dynamic"),
    *(f"--spec-ngram-mod-n-{part}" for part in ("match", "min", "max")),
    *(f"--spec-ngram-{k}-{v}" for k in ("simple", "map-k", "map-k4v") for v in ("size-n", "size-m", "min-hits")),
    *REMOVED,
)

SPECULATION: Mapping[str, int] = {
    **dict.fromkeys(_SWITCHES, 0),
    **dict.fromkeys(_WITH_VALUE, 1),
    "--spec-replace": 2,
}
"""Every argument of speculation and of draft models, and the number of values after it."""

VARIABLES = (
    *("LLAMA_ARG_SPEC_TYPE", "LLAMA_ARG_SPEC_SYNTH_LEN", "LLAMA_ARG_SPEC_SYNTH_RATES"),
    *(
        f"LLAMA_ARG_SPEC_DRAFT_{part}"
        for part in ("MODEL", "HF_REPO", "N_MAX", "N_MIN", "P_MIN", "P_SPLIT", "SAMPLING")
    ),
    *(f"LLAMA_ARG_SPEC_DRAFT_{part}" for part in ("BACKEND_SAMPLING", "CACHE_TYPE_K", "CACHE_TYPE_V", "CPU_MOE")),
    *("LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE", "LLAMA_ARG_N_GPU_LAYERS_DRAFT", "LLAMA_ARG_DRAFT_MAX", "LLAMA_ARG_DRAFT_MIN"),
    # Builds before the `--spec-draft-*` names.
    *("LLAMA_ARG_MODEL_DRAFT", "LLAMA_ARG_HFD_REPO", "LLAMA_ARG_CTX_SIZE_DRAFT", "LLAMA_ARG_DEVICE_DRAFT"),
    *("LLAMA_ARG_DRAFT_P_MIN", "LLAMA_ARG_DRAFT_P_SPLIT", "LLAMA_ARG_CPU_MOE_DRAFT", "LLAMA_ARG_N_CPU_MOE_DRAFT"),
    *("LLAMA_ARG_CACHE_TYPE_K_DRAFT", "LLAMA_ARG_CACHE_TYPE_V_DRAFT"),
)
"""Environment variables that stand for these arguments, of current and older builds."""

_SPECULATIVE_VARIABLE = re.compile(r"LLAMA_ARG_(?:SPEC_.*|.*DRAFT.*|HFD_REPO)")
_SPECULATIVE_NAME = re.compile(r"--(?:no-)?spec-.+|--.+-draft|--draft-.+")
"""For arguments of newer builds and forks that the table lacks."""

_SECRETS = ("--api-key", "-hft", "--hf-token")
_SECRET_ASSIGNMENT = re.compile(r"([A-Za-z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD))=.+", re.DOTALL)
MASK = "***"

_SERVER = re.compile(r"(?:.*[/\\\\:])?(?:llama-?)?server(?:[-.][\w.-]*)?|embedded", re.IGNORECASE)
"""Words that name the server's program, or its container image (`…/llama.cpp:server-cuda`)."""

_NUMBER = re.compile(r"-\d+(\.\d+)?")


@dataclass(frozen=True)
class Speculation:
    """What a command says of speculation.

    `types` holds the values of `--spec-type` without `none`, plus `ngram-mod` for `--spec-default`; `n_max` is null
    when not given or no number; `draft` is the draft model's path or repository; `given` are the arguments found, in
    order.
    """

    types: tuple[str, ...]
    n_max: int | None
    draft: str | None
    given: tuple[str, ...]

    @property
    def removed(self) -> tuple[str, ...]:
        """The arguments among them that current builds refuse."""
        return tuple(name for name in self.given if name in REMOVED)


@dataclass(frozen=True)
class _Part:
    """One argument with its values, or one word that is no argument of ours (`name` is then null)."""

    name: str | None
    words: tuple[str, ...]


def is_speculative(word: str) -> bool:
    """Whether a word is (or begins with, before `=`) an argument of speculation or draft models."""
    name = name_of(word)
    return name in SPECULATION or _SPECULATIVE_NAME.fullmatch(name) is not None


def is_speculative_variable(name: str) -> bool:
    """Whether an environment variable stands for such an argument."""
    return name in VARIABLES or _SPECULATIVE_VARIABLE.fullmatch(name) is not None


def without_speculation(args: Sequence[str]) -> tuple[str, ...]:
    """The arguments without those of speculation and draft models; the rest keeps its order."""
    return tuple(word for part in _parts(args) if part.name is None for word in part.words)


def speculation_of(args: Sequence[str]) -> Speculation:
    """What the arguments say of speculation."""
    given = tuple(part.name for part in _parts(args) if part.name is not None)
    listed = (value_of(args, *TYPE) or "").split(",")
    types = [name.strip() for name in listed if name.strip() not in ("", "none")]
    if DEFAULT[0] in given and "ngram-mod" not in types:
        types.append("ngram-mod")
    n_max = value_of(args, *N_MAX)
    return Speculation(
        types=tuple(types),
        n_max=int(n_max) if n_max is not None and n_max.isascii() and n_max.isdecimal() else None,
        draft=value_of(args, *DRAFT_MODEL, *DRAFT_REPO),
        given=given,
    )


def value_of(args: Sequence[str], *names: str) -> str | None:
    """The value of an argument given under any of `names`; of several the last. Null when absent or without value."""
    value = None
    for index, word in enumerate(args):
        if name_of(word) in names:
            inline = inline_value(word)
            following = args[index + 1] if index + 1 < len(args) else None
            value = following if inline is None else inline
    return value


def first_argument(program: str, args: Sequence[str]) -> int:
    """Where llama-server's own arguments begin in `args`.

    0, unless `program` is a wrapper such as `taskset`, `numactl` or `docker`: then behind the word that names the
    server, or, where no word does, at the first word with a dash.
    """
    if _SERVER.fullmatch(program):
        return 0
    for index, word in enumerate(args):
        if _SERVER.fullmatch(word):
            return index + 1
    return next((index for index, word in enumerate(args) if word.startswith("-")), len(args))


def has(args: Sequence[str], *names: str) -> bool:
    """Whether an argument is given under any of `names`."""
    return any(name_of(word) in names for word in args)


def replaced(args: Sequence[str], *names: str, value: str | None) -> tuple[str, ...]:
    """The arguments with one value for the one-valued argument `names`; `value=None` takes it out.

    It stands where it first stood, under its first name of `names`, else at the end.
    """
    out: list[str] = []
    placed = value is None
    skip = False
    for word in args:
        if skip:
            skip = False
        elif name_of(word) not in names:
            out.append(word)
        else:
            skip = inline_value(word) is None
            if not placed and value is not None:
                out += [names[0], value]
                placed = True
    if not placed and value is not None:
        out += [names[0], value]
    return tuple(out)


def masked(args: Sequence[str]) -> tuple[str, ...]:
    """The arguments with keys and tokens replaced by `***`, fit for logs and records."""
    out: list[str] = []
    hide = False
    for word in args:
        if hide:
            out.append(MASK)
            hide = False
        elif name_of(word) in _SECRETS:
            hide = inline_value(word) is None
            out.append(word if hide else f"{word.partition('=')[0]}={MASK}")
        else:
            out.append(_SECRET_ASSIGNMENT.sub(rf"\1={MASK}", word) if _SECRET_ASSIGNMENT.fullmatch(word) else word)
    return tuple(out)


def name_of(word: str) -> str:
    """The name of the argument that a word is, as llama-server reads it: without `=value`, `_` as `-`."""
    name = word.partition("=")[0]
    return name.replace("_", "-") if name.startswith("--") else name


def inline_value(word: str) -> str | None:
    """The value behind `=` in a word; null without one."""
    _, equals, value = word.partition("=")
    return value if equals else None


def _parts(args: Sequence[str]) -> Iterator[_Part]:
    index = 0
    while index < len(args):
        word = args[index]
        count = values_after(args, index) if is_speculative(word) else 0
        words = tuple(args[index : index + 1 + count])
        yield _Part(name=name_of(word) if is_speculative(word) else None, words=words)
        index += len(words)


def values_after(args: Sequence[str], index: int) -> int:
    """How many words behind the argument at `index` are its values: for unknown ones, the next word without a dash."""
    if inline_value(args[index]) is not None:
        return 0
    known = SPECULATION.get(name_of(args[index]))
    if known is not None:
        return known
    following = args[index + 1] if index + 1 < len(args) else "-"
    return 0 if following.startswith("-") and not _NUMBER.fullmatch(following) else 1
