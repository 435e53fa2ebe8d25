"""The longest draft of a command: which argument sets it, and what has to change with it."""

import math
from collections.abc import Mapping, Sequence

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import Part, argument
from loadgen.experiment.command import Command
from loadgen.experiment.traps import SYNTHETIC

AROUND = (1, 2, 3, 5, 8)
"""Draft lengths to try: verification costs grow with every token, and few models are right more than 8 tokens ahead."""
AROUND_NGRAM = (8, 16, 32, 64)
"""Of n-gram drafts, which cost nothing to make and repeat whole passages: they are worth it when long."""

_SYNTH_VARIABLES = ("LLAMA_ARG_SPEC_SYNTH_LEN", "LLAMA_ARG_SPEC_SYNTH_RATES")
_MOD = "ngram-mod"
_LEAST: Mapping[str, tuple[str, int]] = {
    flags.N_MAX[0]: ("--spec-draft-n-min", 0),
    "--spec-ngram-mod-n-max": ("--spec-ngram-mod-n-min", 48),
}
"""The shortest draft that is used at all, with llama-server's default (b11549): it must not exceed the longest."""
_DIGITS = 4
_HALVINGS = 50


def length_of(command: Command) -> tuple[str, int] | None:
    """The argument that sets the longest draft of a command, and the length that it has now.

    Of several types, those with a model of their own decide: `--spec-draft-n-max`. Null where nothing sets it
    (`ngram-cache`), or the type is not known.
    """
    types = command.speculation.types
    kind = next((one for one in types if one.startswith("draft-")), types[0] if types else "")
    now = command.longest_of(kind)
    if now is None or kind == "ngram-cache":
        return None
    if kind.startswith("draft-"):
        return flags.N_MAX[0], now
    return (f"--spec-{kind}-n-max" if kind == _MOD else f"--spec-{kind}-size-m"), now


def default_lengths(command: Command) -> tuple[int, ...]:
    """The lengths to try where none are asked for: the command's own and those around it; empty where none is set."""
    found = length_of(command)
    if found is None:
        return ()
    name, now = found
    return tuple(sorted({*(AROUND if name == flags.N_MAX[0] else AROUND_NGRAM), now}))


def with_length(command: Command, length: int) -> Command:
    """The command with drafts of at most `length` tokens; as it is where that is its length, or none can be set.

    The shortest draft is lowered where it would exceed the longest. A synthetic acceptance keeps its chance a token: a
    length of 3.5 of at most 4 tokens a step is one of 1.9 of at most 2.

    Raises `ExperimentError` where a synthetic acceptance is no number.
    """
    found = length_of(command)
    if found is None or found[1] == length:
        return command
    name, now = found
    made = command.changed(argument(name, length))
    if name in _LEAST:
        least, default = _LEAST[name]
        given = flags.value_of(command.own, least)
        if _whole(given, default) > length:
            made = made.changed(argument(least, length))
    return made.changed(_acceptance(command, now, length))


def _acceptance(command: Command, now: int, length: int) -> list[Part]:
    """The argument that keeps a synthetic acceptance as it is a token, at another length; nothing where none is set."""
    mean, rates = (
        flags.value_of(command.own, name) or command.env.get(variable)
        for name, variable in zip(SYNTHETIC, _SYNTH_VARIABLES, strict=True)
    )
    if mean:
        chance = _chance(_real(SYNTHETIC[0], mean), now)
        return list(argument(SYNTHETIC[0], f"{_mean(chance, length):.{_DIGITS}f}"))
    if rates:
        known = [_real(SYNTHETIC[1], one) for one in rates.split(",")]
        return list(argument(SYNTHETIC[1], ",".join(f"{one:.{_DIGITS}g}" for one in _prolonged(known, length))))
    return []


def _mean(chance: float, length: int) -> float:
    """Tokens a step where each of `length` drafted tokens is accepted with this chance, and none behind a refused one.

    1 + p + … + pᴷ, as llama-server spreads a mean over the positions.
    """
    return math.fsum(chance**position for position in range(length + 1))


def _chance(mean: float, length: int) -> float:
    """The chance a token that gives a mean, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _mean(middle, length) < mean else (low, middle)
    return high


def _prolonged(rates: Sequence[float], length: int) -> list[float]:
    """Chances by position for another length: cut, or carried on with what the last is of the one before."""
    out = list(rates[:length])
    last = rates[-1] / rates[-2] if len(rates) > 1 and rates[-2] > 0 else rates[-1]
    while len(out) < length:
        out.append(out[-1] * min(last, 1.0))
    return out


def _real(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ExperimentError(f"{name} {text} in the command is no number.") from None


def _whole(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else default
