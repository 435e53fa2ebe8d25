"""Which stretches of a text stood somewhere before: units of the copy rate, found wherever they are."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from loadgen.workload.copy_rate import N, hash_of, rolling

__all__ = ["Span", "Spans"]

_REMEMBERED = 32
"""Places of one run that are tried for the longest copy."""


@dataclass(frozen=True)
class Span:
    """Units `start` to `end` of a text, and where they stood before: (text, unit), both from 0; null: nowhere."""

    start: int
    end: int
    source: tuple[int, int] | None = None


class Spans:
    """Takes texts one by one, and tells of each what in it is new and what is copied, from itself too.

    A copy has 8 units at least, as a gram of the copy rate has, and is as long as it can be from wherever those stood.
    So a gram that stood before lies in a copy, but for those that begin in one and end behind it.
    """

    def __init__(self) -> None:
        self._texts: list[array[int]] = []
        self._places: dict[int, list[tuple[int, int]]] = {}

    def add(self, units: Sequence[str]) -> list[Span]:
        """The spans of the next text, in order and without a gap."""
        hashes = array("q", map(hash_of, units))
        runs = rolling(hashes)
        number = len(self._texts)
        self._texts.append(hashes)
        spans: list[Span] = []
        at = new = told = 0
        while at < len(hashes):
            # Of the text itself only what lies whole in front of a place can be copied there.
            while told < min(at - N + 1, len(runs)):
                self._put(runs[told], (number, told))
                told += 1
            source, length = self._longest(runs[at], number, at) if at < len(runs) else (None, 0)
            if source is None:
                at += 1
                continue
            spans += [Span(new, at)] if new < at else []
            spans.append(Span(at, at + length, source))
            at = new = at + length
        spans += [Span(new, at)] if new < at else []
        for place in range(told, len(runs)):
            self._put(runs[place], (number, place))
        return spans

    def _put(self, run: int, place: tuple[int, int]) -> None:
        places = self._places.setdefault(run, [])
        if len(places) < _REMEMBERED:
            places.append(place)

    def _longest(self, run: int, number: int, at: int) -> tuple[tuple[int, int] | None, int]:
        """Where the longest copy that begins here stood, the first of equals, and its length; null: there is none."""
        found = [
            (self._length(source, number, at), -order, source) for order, source in enumerate(self._places.get(run, ()))
        ]
        length, _, source = max(found, default=(0, 0, (0, 0)))
        return (source, length) if length >= N else (None, 0)

    def _length(self, source: tuple[int, int], number: int, at: int) -> int:
        """How many units are the same from two places on."""
        text, begin = source
        before, own = self._texts[text], self._texts[number]
        most = min((at if text == number else len(before)) - begin, len(own) - at)
        return next((n for n in range(most) if before[begin + n] != own[at + n]), most)
