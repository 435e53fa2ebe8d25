"""A variant on its way from the file to the experiment."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loadgen.experiment import llama_flags as flags
from loadgen.experiment.arguments import comparable
from loadgen.experiment.command import Command
from loadgen.experiment.model import Difference

NAME_LENGTH = 64
"""The longest name that a variant may have."""

Note = Callable[[str], None]
"""Takes a sentence for the user: what was left out or became one."""


@dataclass(frozen=True)
class Entry:
    """One variant: the fields of its kind, with the command of a launched one apart.

    `position` is its place in the file; `derived` says that a matrix made it; `meant` holds the differences to other
    variants that the file asks for; `overhead` that speculation is loaded and nothing drafted.
    """

    name: str
    position: int
    fields: dict[str, Any]
    command: Command | None = None
    derived: bool = False
    overhead: bool = False
    meant: frozenset[Difference] = field(default_factory=frozenset)

    @property
    def speculates(self) -> bool:
        """Whether its command asks for speculation."""
        return self.command is not None and bool(self.command.speculation.types)

    def values(self) -> dict[str, Any]:
        """The fields of the experiment's variant."""
        out = {**self.fields, "name": self.name, "overhead": self.overhead}
        if self.command is not None:
            command = self.command if self.speculates else self.command.shielded()
            out |= {"program": command.program, "args": command.args, "env": dict(command.env)}
            out.setdefault("speculative", self.speculates)
        return out

    def server(self) -> Any:
        """What runs, without the name: equal for entries that would run the same."""
        if self.command is None:
            return (self.position, self.name)
        values = self.values()
        del values["name"], values["args"]
        return repr((sorted(values.items()), self.command.wrapper, comparable(self.command.own)))


def off_by_type(command: Command) -> bool:
    """Whether `--spec-type none` asks for the command without speculation."""
    listed = flags.value_of(command.own, *flags.TYPE)
    return listed is not None and not command.speculation.types


def collapsed(entries: Iterable[Entry], note: Note) -> list[Entry]:
    """Entries without those that a matrix made and that are another's equal; a name from the file stays."""
    kept: dict[Any, Entry] = {}
    out: list[Entry] = []
    for entry in entries:
        key = entry.server()
        twin = kept.get(key)
        if twin is None or not (twin.derived or entry.derived):
            kept.setdefault(key, entry)
            out.append(entry)
            continue
        both = replace(twin if entry.derived else entry, meant=twin.meant | entry.meant)
        if twin.name != entry.name:
            gone = entry.name if entry.derived else twin.name
            note(f"{gone} is the same command as {both.name}: it runs once")
        out[out.index(twin)] = kept[key] = both
    return out


def uniquely_named(entries: Sequence[Entry]) -> list[Entry]:
    """Entries of which those that a matrix made have names of their own; names from the file are left alone."""
    taken = {entry.name for entry in entries if not entry.derived}
    out = []
    for entry in entries:
        name = entry.name
        number = 2
        while entry.derived and name in taken:
            ending = f"-{number}"
            name = entry.name[: NAME_LENGTH - len(ending)] + ending
            number += 1
        taken.add(name)
        out.append(replace(entry, name=name))
    return out
