"""Text of the corpus that is never the same twice: eight of its units in a row stand in it once.

What replaces text that was new must be new too, or it would be a copy where there was none. Code and prose repeat
themselves (licences, signatures), so lines that would are left out. When the corpus is used up it begins again with
its words exchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal

from loadgen.workload.copy_rate import UNIT, N, hash_of, rolling
from loadgen.workload.corpus.library import Library
from loadgen.workload.draws import rng

__all__ = ["KINDS", "FreshText", "Kind", "Piece"]

Kind = Literal["code", "prose"]
KINDS: Final[tuple[Kind, ...]] = ("code", "prose")

Piece = tuple[str, str]
"""A unit, and the blanks in front of it."""

_SEED = 0
"""The same recording is redacted alike every time."""
_SAMPLE = 40_000
"""Characters by which a kind of text is known."""
_SHORT, _SHORTER = 4, 6
"""Letters of words, from where on they say something, and up to where they are one token: shorter ones hold a language
together, and stay."""


class FreshText:
    """Gives text of a library, each piece once."""

    def __init__(self, library: Library) -> None:
        self._lines: dict[Kind, list[str]] = {
            "code": [f"{_plain(line)}\n" for document in library.sources for line in document.pieces],
            "prose": [f"{_plain(paragraph)}\n\n" for document in library.pages for paragraph in document.pieces],
        }
        self._seen: set[int] = set()
        self._streams = {kind: self._pieces(kind) for kind in KINDS}
        self._words = self._all_words()

    def sample(self, kind: Kind) -> str:
        """The beginning of a kind's text."""
        taken, length = [], 0
        for line in self._lines[kind]:
            taken.append(line)
            length += len(line)
            if length >= _SAMPLE:
                break
        return "".join(taken)

    def take(self, kind: Kind, count: int) -> list[Piece]:
        """The next so many pieces."""
        return list(islice(self._streams[kind], count))

    def word(self, *, short: bool = False) -> str:
        """The next word of the prose that is no filler, stood it before or not; a `short` one has 4 to 6 letters."""
        return next(word for word in self._words if not short or len(word) <= _SHORTER)

    def _all_words(self) -> Iterator[str]:
        while True:
            for line in self._lines["prose"]:
                yield from (unit for unit in UNIT.findall(line) if _is_word(unit))

    def _pieces(self, kind: Kind) -> Iterator[Piece]:
        gap = ""
        for line in self._fresh(kind):
            end = 0
            for unit in UNIT.finditer(line):
                yield gap + line[end : unit.start()], unit.group()
                gap, end = "", unit.end()
            gap += line[end:]

    def _fresh(self, kind: Kind) -> Iterator[str]:
        """Lines in which no gram stands that was given before."""
        lap = 0
        tail: list[int] = []
        while True:
            words = self._exchanged(kind, lap) if lap else {}
            for line in self._lines[kind]:
                text = _exchanged(line, words) if lap else line
                hashes = [hash_of(unit) for unit in UNIT.findall(text)]
                grams = rolling([*tail, *hashes])
                if not self._seen.isdisjoint(grams) or len(set(grams)) < len(grams):
                    continue
                self._seen.update(grams)
                tail = [*tail, *hashes][-(N - 1) :]
                yield text
            lap += 1

    def _exchanged(self, kind: Kind, lap: int) -> dict[str, str]:
        """Another word of the same kind of text for each of its longer words."""
        found = sorted({word for line in self._lines[kind] for word in UNIT.findall(line) if _is_word(word)})
        return dict(zip(found, _shuffled(found, lap), strict=True))


def _plain(line: str) -> str:
    """Without what would have to be escaped in JSON, where a copy may have to stand."""
    return line.replace('"', "'").replace("\\", "/")


def _exchanged(text: str, words: Mapping[str, str]) -> str:
    return UNIT.sub(lambda unit: words.get(unit.group(), unit.group()), text)


def _is_word(unit: str) -> bool:
    return len(unit) >= _SHORT and unit.isidentifier()


def _shuffled(words: Sequence[str], lap: int) -> list[str]:
    source = rng(_SEED, "exchanged", lap)
    out = list(words)
    for place in range(len(out) - 1, 0, -1):
        other = int(source.random() * (place + 1))
        out[place], out[other] = out[other], out[place]
    return out
