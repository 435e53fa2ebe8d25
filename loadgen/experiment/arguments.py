"""Arguments as a file gives them (words, one text, or a mapping), and how a variant's go over the base's."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadgen.experiment import llama_flags as flags
from loadgen.experiment.known_arguments import known_argument


@dataclass(frozen=True)
class Part:
    """One argument with its values as words; without words it says that the argument is to go.

    `name` is the first of the argument's names, and null for a word that is no argument.
    """

    name: str | None
    words: tuple[str, ...]


def parse_arguments(value: Any) -> tuple[Part, ...]:
    """The arguments in a list of words, a text as a shell reads it, or a mapping of names to values.

    In a mapping, true is a switch, null or false takes the base's argument out, and a list repeats the argument. Raises
    `ValueError` with what is wrong.
    """
    if isinstance(value, str):
        try:
            return parts(shlex.split(value.replace("\\\n", " ")))
        except ValueError as error:
            raise ValueError(f"not words as a shell reads them: {error}") from None
    if isinstance(value, list | tuple):
        wrong = [word for word in value if not _is_word(word)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no word; write each argument and each value as a word of its own")
        return parts([str(word) for word in value])
    if isinstance(value, dict):
        return tuple(part for name, item in value.items() for part in argument(name, item))
    raise ValueError("write a list of words, one text, or a mapping of arguments to values")


def argument(name: str, value: Any) -> tuple[Part, ...]:
    """One argument of a mapping. Raises `ValueError` where the name has no dash or the value is a mapping."""
    if not name.startswith("-"):
        raise ValueError(f"{name} is no argument: write it with its dashes, such as -np or --parallel")
    key = known_argument(flags.name_of(name)).names[0]
    if value is None or value is False:
        return (Part(key, ()),)
    if value is True:
        return (Part(key, (name,)),)
    if isinstance(value, list):
        if not value:
            raise ValueError(f"{name} has an empty list; null takes the argument out")
        wrong = [item for item in value if not _is_word(item)]
        if wrong:
            raise ValueError(f"{name}: {wrong[0]!r} is no value")
        return tuple(Part(key, (name, str(item))) for item in value)
    if _is_word(value):
        return (Part(key, (name, str(value))),)
    raise ValueError(f"{name} takes a value, a list of values, true or null")


def parts(words: Sequence[str]) -> tuple[Part, ...]:
    """Words, cut into arguments with their values."""
    return tuple(_cut(words))


def words_of(given: Sequence[Part]) -> tuple[str, ...]:
    """The words of arguments."""
    return tuple(word for part in given for word in part.words)


def merged(base: Sequence[Part], changes: Sequence[Part]) -> tuple[Part, ...]:
    """The base's arguments with changes: the same argument is replaced where it stands, others follow at the end.

    An argument given several times in `changes` replaces all of the base's of that name.
    """
    out = list(base)
    for name in dict.fromkeys(part.name for part in changes):
        mine = [part for part in changes if part.name == name and part.words]
        if name is None:
            out += mine
            continue
        place = next((index for index, part in enumerate(out) if part.name == name), len(out))
        out[place:] = [*mine, *(part for part in out[place:] if part.name != name)]
    return tuple(out)


def values_of(given: Sequence[Part], name: str) -> tuple[tuple[str, ...], ...]:
    """What `given` says of the argument `name` (its first name), under whichever names."""
    return tuple(_valued(part) for part in given if part.name == name)


def _valued(part: Part) -> tuple[str, ...]:
    """A part's words without its name; of a switch the name stays, for on and off are both switches."""
    inline = flags.inline_value(part.words[0])
    values = part.words[1:] if inline is None else (inline, *part.words[1:])
    return values or part.words


def comparable(words: Sequence[str]) -> tuple[tuple[str | None, tuple[str, ...]], ...]:
    """The same for two word lists that differ in the names of arguments alone."""
    return tuple((part.name, _valued(part) if part.name is not None else part.words) for part in parts(words))


def _cut(words: Sequence[str]) -> Iterator[Part]:
    index = 0
    while index < len(words):
        word = words[index]
        named = word.startswith("-") and len(word) > 1
        count = flags.values_after(words, index) if named else 0
        name = known_argument(flags.name_of(word)).names[0] if named else None
        yield Part(name, tuple(words[index : index + 1 + count]))
        index += 1 + count


def _is_word(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
