"""Unified diffs: a name renamed, in file after file."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, groupby

from loadgen.workload.corpus.library import Document, Library
from loadgen.workload.corpus.names import frequent_names, renamed
from loadgen.workload.corpus.output import Printed, drawn
from loadgen.workload.distribution import RandomSource

__all__ = ["diff"]

_CONTEXT = 3
"""Lines around a change, as `git diff` shows."""
_NAMES = 16
"""Of a file's names, the most frequent: one of them is renamed."""
_SUFFIXES = ("_new", "_value", "_impl", "_or_none")


def diff(source: RandomSource, library: Library) -> Printed:
    """The changes of one file after the other, from some file on, again and again."""
    first = drawn(source, len(library.sources))
    rank, suffix = drawn(source, _NAMES), _SUFFIXES[drawn(source, len(_SUFFIXES))]
    return Printed("git diff", _lines(library, first, rank, suffix))


def _lines(library: Library, first: int, rank: int, suffix: str) -> Iterator[str]:
    for index in count(first):
        document = library.sources[index % len(library.sources)]
        names = _names(document)
        old = names[rank % len(names)]
        yield f"diff --git a/{document.path} b/{document.path}"
        yield f"--- a/{document.path}"
        yield f"+++ b/{document.path}"
        changed = [renamed(line, old, old + suffix) for line in document.pieces]
        yield from _hunks(document, changed)


@lru_cache(maxsize=512)
def _names(document: Document) -> tuple[str, ...]:
    return tuple(frequent_names("\n".join(document.pieces), _NAMES))


def _hunks(document: Document, changed: Sequence[str]) -> Iterator[str]:
    """The hunks of a change that leaves the number of lines as it is, each headed by the definition that it is in."""
    before = document.pieces
    places = [index for index, (old, new) in enumerate(zip(before, changed, strict=True)) if old != new]
    # Changes whose surroundings touch share a hunk: their distance grows no faster than their number then.
    for group in _near(places):
        start, end = max(0, group[0] - _CONTEXT), min(len(before), group[-1] + _CONTEXT + 1)
        span = f"{start + 1},{end - start}" if end - start > 1 else f"{start + 1}"
        within = next((before[at] for at in reversed(document.starts) if at < start), "")
        yield f"@@ -{span} +{span} @@ {within}".rstrip()
        for is_changed, run in groupby(range(start, end), key=lambda at: before[at] != changed[at]):
            lines = list(run)
            if is_changed:
                yield from (f"-{before[at]}" for at in lines)
                yield from (f"+{changed[at]}" for at in lines)
            else:
                yield from (f" {before[at]}" for at in lines)


def _near(places: Sequence[int]) -> Iterator[list[int]]:
    """Places in groups, such that between two of a group there are no more lines than two surroundings."""
    group: list[int] = []
    for place in places:
        if group and place - group[-1] > 2 * _CONTEXT + 1:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
