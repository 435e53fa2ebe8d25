"""What a command prints: endless, and as much of it as is asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

from loadgen.workload.distribution import RandomSource
from loadgen.workload.sizing import Sizer

__all__ = ["Printed", "ToolOutput", "drawn"]


@dataclass(frozen=True)
class ToolOutput:
    """What a shell tool printed, and the command that it ran."""

    command: str
    text: str


@dataclass(frozen=True)
class Printed:
    """A command, and what it prints: pieces without end, with a separator between them."""

    command: str
    pieces: Iterator[str]
    separator: str = "\n"

    def beginning(self, size: int, sizer: Sizer) -> ToolOutput:
        """So much of it (a size of the sizer's). The pieces are used up."""
        text, end = self.cut(size, sizer)
        return ToolOutput(self.command, text[:end])

    def cut(self, size: int, sizer: Sizer) -> tuple[str, int]:
        """A text that is longer than asked for, and how many of its characters have the size."""
        if size <= 0:
            return "", 0
        room = sizer.room(size)
        text = self._more("", room)
        while sizer.measured(text) <= size:
            room *= 2
            text = self._more(text, room)
        return text, len(sizer.clip(text, size))

    def _more(self, text: str, characters: int) -> str:
        """The text with pieces behind it until it has so many characters."""
        taken = [text] if text else []
        length = len(text)
        while length < characters:
            piece = next(self.pieces)
            length += len(piece) + (len(self.separator) if taken else 0)
            taken.append(piece)
        return self.separator.join(taken)


def drawn(source: RandomSource, count: int) -> int:
    """One of `count` places."""
    return int(source.random() * count)
