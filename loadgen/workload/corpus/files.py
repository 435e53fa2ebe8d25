"""Source files as a shell tool shows them: as they are, with line numbers, or the lines that hold a word."""

from collections.abc import Iterator
from itertools import count

from loadgen.workload.corpus.library import Document, Library
from loadgen.workload.corpus.output import Printed, ToolOutput, drawn
from loadgen.workload.distribution import RandomSource
from loadgen.workload.sizing import Sizer

__all__ = ["code", "from_piece", "grep", "prose", "short_file", "source_file", "view"]

_VIEW_SHARE = 0.6
"""Of `code` that are views of a file; the rest are grep hits. Agents read more than they search (assumed)."""


def code(source: RandomSource, library: Library) -> Printed:
    """A numbered view, or grep hits."""
    first = drawn(source, len(library.sources))
    is_view, place = source.random() < _VIEW_SHARE, source.random()
    if is_view:
        document = library.sources[first]
        return _view(document, int(place * len(document.pieces)))
    return _grep(library, library.words[int(place * len(library.words))], first)


def view(source: RandomSource, library: Library) -> Printed:
    """A file with line numbers, from some line on; from its first again after its last."""
    document = _pick(source, library.sources)
    return _view(document, drawn(source, len(document.pieces)))


def grep(source: RandomSource, library: Library) -> Printed:
    """Lines that hold a word, in every file from some file on, again and again."""
    first = drawn(source, len(library.sources))
    return _grep(library, library.words[drawn(source, len(library.words))], first)


def source_file(source: RandomSource, library: Library) -> Printed:
    """A file from the start of a function or class on."""
    document = _pick(source, library.sources)
    start = document.starts[drawn(source, len(document.starts))]
    return Printed(f"tail -n +{start + 1} {document.path}", from_piece(document, start))


def prose(source: RandomSource, library: Library) -> Printed:
    """A page of prose from the start of a paragraph on."""
    document = _pick(source, library.pages)
    start = drawn(source, len(document.pieces))
    return Printed(f"cat {document.path}", from_piece(document, start), "\n\n")


def short_file(source: RandomSource, size: int, sizer: Sizer, library: Library) -> ToolOutput:
    """Whole lines of source from the start of a function or class, at most so much (or part of one line)."""
    document = _pick(source, library.sources)
    start = document.starts[drawn(source, len(document.starts))]
    stem, dot, ending = document.path.rpartition(".")
    command = f"cat {stem}_{start + 1}.{ending}" if dot else f"cat {document.path}_{start + 1}"
    text, end = Printed(command, from_piece(document, start)).cut(size, sizer)
    # A line is whole where the cut is at its end.
    whole = text[: end + 1].rpartition("\n")[0].rstrip() or text[:end]
    return ToolOutput(command, whole)


def from_piece(document: Document, start: int) -> Iterator[str]:
    """The pieces from `start` on, and from the first again after the last."""
    return (document.pieces[index % len(document.pieces)] for index in count(start))


def _pick(source: RandomSource, documents: tuple[Document, ...]) -> Document:
    return documents[drawn(source, len(documents))]


def _view(document: Document, start: int) -> Printed:
    lines = len(document.pieces)
    numbered = (f"{index % lines + 1:6}\t{document.pieces[index % lines]}" for index in count(start))
    return Printed(f"cat -n {document.path} | tail -n +{start + 1}", numbered)


def _grep(library: Library, word: str, first: int) -> Printed:
    folder = library.sources[0].path.partition("/")[0] if library.is_standard else "."
    return Printed(f"grep -rn '{word}' {folder}", _hits(library, word, first))


def _hits(library: Library, word: str, first: int) -> Iterator[str]:
    documents = library.sources
    for index in count(first):
        document = documents[index % len(documents)]
        for number, line in enumerate(document.pieces, 1):
            if word in line:
                yield f"{document.path}:{number}:{line}"
