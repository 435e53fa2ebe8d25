"""A matrix: one variant for every combination of the values that arguments take."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from loadgen.errors import ExperimentError
from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import Part, argument
from loadgen.experiment.entry import NAME_LENGTH, Entry, Note, off_by_type
from loadgen.experiment.known_arguments import P_MIN, KnownArgument, known_argument

OFF = "off"
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_MODEL_ONLY = (*flags.N_MAX, *P_MIN, "--spec-draft-n-min", "--spec-draft-p-split")
"""Arguments that n-gram speculation does not read."""

Axes = Mapping[str, Sequence[str | bool | None]]


@dataclass(frozen=True)
class _Choice:
    """One value of one argument."""

    known: KnownArgument
    parts: tuple[Part, ...]
    value: str | bool | None

    @property
    def slug(self) -> str:
        """What the choice is called in a variant's name: `n3`, `np4`, `ctk-q8_0`, `kvu`, `no-kvu`."""
        if self.value is True:
            return self.known.slug
        if self.value is None or self.value is False:
            return f"no-{self.known.slug}"
        text = str(self.value)
        if _NUMBER.fullmatch(text):
            return f"{self.known.slug}{text}"
        short = PurePath(text).stem if "/" in text else text.removeprefix("draft-")
        short = re.sub(r"[^A-Za-z0-9._-]+", "-", short).strip("-")
        return short if self.known.names == flags.TYPE else f"{self.known.slug}-{short}"

    @property
    def switches_off(self) -> bool:
        """Whether it stands for no speculation: `--spec-draft-n-max 0` would draft for nothing instead."""
        number = self.known.names == flags.N_MAX and str(self.value) == "0"
        return number or (self.known.names == flags.TYPE and self.value in (None, False, "none"))


def expanded(entry: Entry, axes: Axes, note: Note) -> list[Entry]:
    """The entry for every combination, the last argument varying fastest.

    Names are the entry's with what is varied (`mtp-n3-np4`), or `off` where a combination is without speculation
    (`off-np4`). Arguments that the entry's kind of speculation does not read are left out, with a note.

    Raises `ExperimentError` where the entry has no arguments, or an argument is varied twice.
    """
    if entry.command is None:
        raise ExperimentError(f"kind {entry.fields['kind']} has no arguments for a matrix to vary")
    choices = [_choices(name, values) for name, values in axes.items()]
    names = [axis[0].known.names[0] for axis in choices]
    if len(set(names)) < len(names):
        raise ExperimentError("the matrix varies one argument under two names")
    out: list[Entry] = []
    ignored: dict[str, None] = {}
    for combination in itertools.product(*choices):
        made, unread = _combined(entry, combination)
        ignored |= dict.fromkeys(unread)
        if all(made.server() != one.server() for one in out):
            out.append(made)
    for name in ignored:
        note(f"{entry.name} does not read {name}: it is not varied there")
    return out


def _choices(name: str, values: Sequence[str | bool | None]) -> list[_Choice]:
    known = known_argument(flags.name_of(name))
    return [_Choice(known, argument(name, value), value) for value in values]


def _combined(entry: Entry, combination: Sequence[_Choice]) -> tuple[Entry, list[str]]:
    """The entry with these choices, and the arguments among them that it does not read."""
    command = entry.command
    if command is None:
        raise ExperimentError("a matrix varies launched servers")
    typed = command.changed([part for one in combination if one.known.names == flags.TYPE for part in one.parts])
    off = entry.speculates and any(one.switches_off and _read(one, typed.speculation.types) for one in combination)
    types = typed.speculation.types
    plain = [one for one in combination if not flags.is_speculative(one.known.names[0])]
    used = plain if off else [one for one in combination if _read(one, types)]
    unread = [] if off else [one.known.names[0] for one in combination if one not in used]
    made = command.changed([part for one in used for part in one.parts])
    if off or off_by_type(made):
        made = made.without_speculation()
    name = "-".join([OFF if off else entry.name, *(one.slug for one in used)])[:NAME_LENGTH]
    meant = frozenset(change for one in used for change in one.known.changes)
    derived = replace(entry, name=name, command=made, derived=True, meant=entry.meant | meant)
    if off and "speculative" in entry.fields:
        derived = replace(derived, fields={**entry.fields, "speculative": False})
    return (derived if used or off else entry), unread


def _read(choice: _Choice, types: Sequence[str]) -> bool:
    """Whether speculation of these types reads the argument."""
    name = choice.known.names[0]
    if name in _MODEL_ONLY:
        return any(kind.startswith("draft-") for kind in types)
    if name.startswith("--spec-ngram-"):
        return any(name.startswith(f"--spec-{kind}-") for kind in types)
    return True
