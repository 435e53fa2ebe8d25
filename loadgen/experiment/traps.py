"""What llama-server passes over in silence, or exits on, in a command that asks for speculation.

Each was seen on a build of 2026 (b11434 or b11549). A server that falls into one of the silent traps answers every
request, without speculation or with drafts that can't help: the comparison would be of something else.
"""

from collections.abc import Mapping, Sequence

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags

SYNTHETIC = ("--spec-synth-len", "--spec-synth-rates")
"""They set the acceptance of drafts, whatever the model says."""

_VARIABLES: Mapping[str, str] = {
    "LLAMA_ARG_SPEC_TYPE": flags.TYPE[0],
    "LLAMA_ARG_SPEC_DRAFT_N_MAX": flags.N_MAX[0],
    "LLAMA_ARG_SPEC_DRAFT_MODEL": flags.DRAFT_MODEL[0],
    "LLAMA_ARG_SPEC_DRAFT_HF_REPO": flags.DRAFT_REPO[0],
    "LLAMA_ARG_SPEC_SYNTH_LEN": SYNTHETIC[0],
    "LLAMA_ARG_SPEC_SYNTH_RATES": SYNTHETIC[1],
}
"""Variables that stand for an argument; where both are given, the argument wins."""

_REMOVED_VARIABLES: Mapping[str, str] = {
    "LLAMA_ARG_DRAFT_MAX": "LLAMA_ARG_SPEC_DRAFT_N_MAX",
    "LLAMA_ARG_DRAFT_MIN": "LLAMA_ARG_SPEC_DRAFT_N_MIN",
}
"""Variables of removed arguments: a build that knows them exits, another ignores them."""


def speculation_in(args: Sequence[str], env: Mapping[str, str | None]) -> flags.Speculation:
    """What arguments and variables together say of speculation."""
    from_env = [word for name, flag in _VARIABLES.items() if (value := env.get(name)) for word in (flag, value)]
    return flags.speculation_of([*from_env, *args])


def check_speculation(
    args: Sequence[str], env: Mapping[str, str | None], name: str | None = None, *, program: str = "llama-server"
) -> None:
    """Do nothing where llama-server speculates with these arguments and variables as they read.

    Args:
        args: What follows the program.
        env: What is set for it; null removes a variable.
        name: The variant's name, for the message.
        program: Where it is a wrapper such as `numactl`, llama-server's arguments begin behind the server's name.

    Raises:
        ExperimentError: An argument is gone, or speculation would not be what they say; with what to write instead.
    """
    own = args[flags.first_argument(program, args) :]
    found = speculation_in(own, env)
    trap = _removed(found, env) or _without_type(found) or _drafting_nothing(found)
    if trap is not None:
        raise ExperimentError(trap if name is None else f"variant {name!r}: {trap}")


def _removed(found: flags.Speculation, env: Mapping[str, str | None]) -> str | None:
    if found.removed:
        gone = found.removed[0]
        return f"llama-server no longer takes {gone}: use {flags.REMOVED[gone]}."
    for gone, instead in _REMOVED_VARIABLES.items():
        if env.get(gone):
            return f"llama-server no longer takes the variable {gone}: use {instead}."
    return None


def _without_type(found: flags.Speculation) -> str | None:
    if found.types:
        return None
    if found.draft is not None:
        return (
            "a draft model alone (-md, -hfd) is, for most models and builds, loaded into memory but never used: add "
            "--spec-type draft-simple, or the type that the draft was made for (draft-mtp, draft-eagle3, …)."
        )
    synthetic = [name for name in found.given if name in SYNTHETIC]
    if synthetic:
        return (
            f"{synthetic[0]} sets the acceptance of drafts, but no --spec-type makes any, and llama-server exits: add "
            "--spec-type, for example draft-mtp."
        )
    tuning = [name for name in found.given if name not in flags.TYPE]
    if tuning:
        return (
            f"{tuning[0]} does nothing without --spec-type: add the type, for example --spec-type draft-mtp, or take "
            "it out."
        )
    return None


def _drafting_nothing(found: flags.Speculation) -> str | None:
    if "draft-simple" in found.types and found.draft is None:
        return "--spec-type draft-simple without a draft model starts with speculation off: add -md DRAFT.gguf."
    # With one slot, b11549 even ends at the first request.
    if found.n_max == 0 and any(kind.startswith("draft-") for kind in found.types):
        return (
            "--spec-draft-n-max 0 does not switch speculation off, it drafts for nothing: give it 1 or more; to "
            "compare with no speculation, use a command without --spec-type."
        )
    return None
