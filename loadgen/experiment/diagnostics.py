"""Variants that explain a result and are never advised: set acceptance, and speculation that is loaded but idle."""

from collections.abc import Sequence
from dataclasses import replace

from loadgen.errors import ExperimentError
from loadgen.experiment.arguments import Part, argument
from loadgen.experiment.command import Command
from loadgen.experiment.entry import NAME_LENGTH, Entry, Note
from loadgen.experiment.known_arguments import P_MIN
from loadgen.experiment.traps import SYNTHETIC

IDLE_P_MIN = "2"
"""Drafts end at the first token below this probability, and none is above 1."""
IDLE_SIZE = "1024"
"""The longest lookup that llama-server takes. No text of agents repeats so many tokens, so it never drafts."""

_SYNTHETIC_VARIABLES = ("LLAMA_ARG_SPEC_SYNTH_LEN", "LLAMA_ARG_SPEC_SYNTH_RATES")
_LOOKUPS = {
    "ngram-simple": "--spec-ngram-simple-size-n",
    "ngram-map-k": "--spec-ngram-map-k-size-n",
    "ngram-map-k4v": "--spec-ngram-map-k4v-size-n",
    "ngram-mod": "--spec-ngram-mod-n-match",
}


def with_acceptance(entry: Entry, lengths: Sequence[float], *, from_matrix: bool, note: Note) -> list[Entry]:
    """The entry once for each mean acceptance length, named `mtp-L2.5`. It says nothing of the model's own acceptance.

    A length must lie within 1 and the longest draft + 1, as llama-server demands; from a matrix, combinations outside
    are left out with a note. An entry that a matrix made without speculation stays as it is.

    Raises `ExperimentError` for a length outside, and for an entry without speculation.
    """
    if entry.command is None:
        raise ExperimentError(f"kind {entry.fields['kind']} has no arguments to set its acceptance with")
    if not entry.speculates:
        if from_matrix:
            return [entry]
        raise ExperimentError("synthetic_acceptance needs speculation: add --spec-type")
    longest = entry.command.longest_draft
    out = []
    for length in lengths:
        # Drafts of unknown types have an unknown length; the server checks it then.
        inside = length >= 1 and (longest is None or length <= longest + 1)
        if inside:
            out.append(_accepting(entry, entry.command, length))
            continue
        reason = f"{entry.name} can't accept {length:g} tokens a step: it must be 1 to {_upper(longest)}"
        if not from_matrix:
            raise ExperimentError(reason)
        note(f"{reason}; that combination is left out")
    return out


def _accepting(entry: Entry, command: Command, length: float) -> Entry:
    plain = _without_synthetic(command)
    ending = f"-L{length:g}"
    return replace(
        entry,
        name=entry.name[: NAME_LENGTH - len(ending)] + ending,
        command=plain.changed(argument(SYNTHETIC[0], f"{length:g}")),
    )


def _upper(longest: int | None) -> str:
    return "the longest draft + 1" if longest is None else f"{longest + 1} (its longest draft + 1)"


def idle(entry: Entry) -> Entry:
    """The entry with speculation loaded and nothing drafted, named `mtp-overhead`: what loading alone costs.

    Raises `ExperimentError` where a type of its speculation can't be kept from drafting.
    """
    if entry.command is None:
        raise ExperimentError(f"kind {entry.fields['kind']} has no arguments to keep it from drafting")
    if not entry.speculates:
        raise ExperimentError("overhead needs speculation: add --spec-type")
    changes: list[Part] = []
    for kind in entry.command.speculation.types:
        if kind.startswith("draft-"):
            changes += argument(P_MIN[0], IDLE_P_MIN)
        elif kind in _LOOKUPS:
            changes += argument(_LOOKUPS[kind], IDLE_SIZE)
        else:
            raise ExperimentError(f"overhead: {kind} has no argument that keeps it from drafting")
    ending = "-overhead"
    return replace(
        entry,
        name=entry.name[: NAME_LENGTH - len(ending)] + ending,
        command=_without_synthetic(entry.command).changed(changes),
        overhead=True,
        derived=True,
    )


def _without_synthetic(command: Command) -> Command:
    env = {name: value for name, value in command.env.items() if name not in _SYNTHETIC_VARIABLES}
    return replace(command, env=env).changed([part for name in SYNTHETIC for part in argument(name, None)])
