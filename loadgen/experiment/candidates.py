"""Several pasted commands as the variants of one comparison, and one command as a comparison with itself."""

from collections.abc import Sequence

from loadgen.errors import ExperimentError
from loadgen.experiment.cpus import cpu_set
from loadgen.experiment.pasted import OFF, variant_from_command, variants_from_command
from loadgen.experiment.variant import LaunchVariant

AGAIN = "-again"
_NAME_LENGTH = 64


def variants_from_commands(commands: Sequence[Sequence[str]]) -> tuple[LaunchVariant, ...]:
    """`off` (the first command without its speculation), then each command, named by its speculation.

    Names that two commands would share get a number: `mtp`, `mtp-2`. Raises `ExperimentError` where a command has no
    speculation, or two are the same.
    """
    pairs = [variants_from_command(command) for command in commands]
    out = [pairs[0][1]]
    for on, _ in pairs:
        if any(_same(on, other) for other in out):
            raise ExperimentError(f"two commands are the same ({on.name}): change one, or compare with itself by --aa")
        out.append(on.model_copy(update={"name": _free(on.name, {variant.name for variant in out})}))
    return tuple(out)


def twice(command: Sequence[str]) -> tuple[LaunchVariant, LaunchVariant]:
    """A command, with or without speculation, and the same again: `mtp` and `mtp-again`."""
    variant = variant_from_command(command)
    again = variant.name[: _NAME_LENGTH - len(AGAIN)] + AGAIN
    return variant, variant.model_copy(update={"name": again})


def on_cpus(variants: Sequence[LaunchVariant], cpus: str) -> tuple[LaunchVariant, ...]:
    """The variants, whose servers may run on these CPUs only. Raises `ExperimentError` where the text names none."""
    try:
        cpu_set(cpus)
    except ValueError as error:
        raise ExperimentError(f"--server-cpus: {error}") from None
    return tuple(variant.model_copy(update={"cpus": cpus}) for variant in variants)


def _same(one: LaunchVariant, other: LaunchVariant) -> bool:
    return (one.program, one.args, one.env) == (other.program, other.args, other.env)


def _free(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken or free == OFF:
        ending = f"-{number}"
        free = name[: _NAME_LENGTH - len(ending)] + ending
        number += 1
    return free
