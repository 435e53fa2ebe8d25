"""The two sides of a gate: what is known to be good, and what is new, joined with the arguments that both share."""

from collections.abc import Sequence

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import parts, values_of
from loadgen.experiment.command import Command
from loadgen.experiment.known_arguments import changed_by_variable, known_argument
from loadgen.experiment.model import Difference
from loadgen.experiment.pasted import variant_from_command
from loadgen.experiment.variant import LaunchVariant

GOOD = "good"
NEW = "new"
"""Names of the variants; the good side is the baseline."""


def sides(good: Sequence[str], new: Sequence[str], common: Sequence[str]) -> tuple[LaunchVariant, LaunchVariant]:
    """The variants `good` and `new`.

    A side is a program, maybe with arguments, variables or a wrapper before it: the common arguments follow it. Or it
    is nothing but variables, a wrapper, arguments (its first word has a dash) or empty: then the common arguments begin
    with the program, and the side's own arguments follow them.

    Raises `ExperimentError` where a side has no program or two, or would silently run without its speculation.
    """
    return _side("--good", GOOD, good, common), _side("--new", NEW, new, common)


def under_test(good: LaunchVariant, new: LaunchVariant) -> tuple[Difference, ...]:
    """What the sides mean to have different: the build, and whatever the arguments and variables change that differ."""
    found: set[Difference] = {"build"}
    ours, theirs = (parts(Command(one.program, one.args).own) for one in (good, new))
    for name in {part.name for part in (*ours, *theirs) if part.name is not None}:
        if values_of(ours, name) != values_of(theirs, name):
            found.update(known_argument(name).changes)
    for name in {*good.env, *new.env}:
        if good.env.get(name) != new.env.get(name):
            found.update(changed_by_variable(name))
    return tuple(sorted(found))


def are_equal(good: LaunchVariant, new: LaunchVariant) -> bool:
    """Whether both sides are the same server under two names."""
    return good.model_copy(update={"name": new.name}) == new


def _side(option: str, name: str, own: Sequence[str], common: Sequence[str]) -> LaunchVariant:
    if common and not common[0].startswith("-") and _names_server(common[0]) and any(map(_names_server, own)):
        raise ExperimentError(f"{option} and the arguments behind -- both name a program: leave one of them out")
    words = [*common, *own] if own and own[0].startswith("-") else [*own, *common]
    if not words or words[0].startswith("-"):
        raise ExperimentError(
            f"{option} names no program: write {option} ./build/bin/llama-server, or begin with llama-server behind --"
        )
    variant = variant_from_command(words)
    if variant.program.startswith("-"):
        raise ExperimentError(f"{option}: {variant.program} stands where the program must: put arguments behind it")
    return variant.model_copy(update={"name": name})


def _names_server(word: str) -> bool:
    """Whether a word is a server's program: llama-server's arguments would begin right behind it."""
    return "=" not in word and flags.first_argument(word, ("argument",)) == 0
