"""Text of a kind and a length: what everything else is made by."""

from collections.abc import Callable

from loadgen.gguf.tiny import WORDS
from loadgen.workload.corpus import CORPORA, files
from loadgen.workload.corpus.diff import diff
from loadgen.workload.corpus.library import Library, standard
from loadgen.workload.corpus.listing import listing
from loadgen.workload.corpus.log import log
from loadgen.workload.corpus.output import Printed, ToolOutput, drawn
from loadgen.workload.corpus.symbols import json_text, pydoc_text
from loadgen.workload.distribution import RandomSource
from loadgen.workload.sizing import Sizer

__all__ = ["beginning", "made", "words"]

_PRINTED: dict[str, Callable[[RandomSource, Library], Printed]] = {
    "code": files.code,
    "source": files.source_file,
    "view": files.view,
    "grep": files.grep,
    "diff": diff,
    "log": log,
    "listing": listing,
    "json": json_text,
    "pydoc": pydoc_text,
    "prose": files.prose,
}


def made(corpus: str, source: RandomSource, tokens: int, sizer: Sizer, library: Library | None = None) -> ToolOutput:
    """So many tokens of a kind of text, and the command that prints them.

    How much is drawn from `source` depends on the kind alone, and the same draws give the beginning of the same text.

    Args:
        corpus: one of `loadgen.workload.corpus.CORPORA`.
        source: what is drawn from.
        tokens: how long, as `sizer` counts; words are counted as words.
        sizer: counts.
        library: the files that text is made of; null: Python's standard library.

    Raises `ValueError` for a kind that there isn't, `WorkloadError` where this Python lacks its files.
    """
    if corpus == "words":
        return ToolOutput("cat words.txt", words(source, tokens))
    return beginning(corpus, source, sizer.size(tokens) if tokens > 0 else 0, sizer, library or standard())


def beginning(corpus: str, source: RandomSource, size: int, sizer: Sizer, library: Library) -> ToolOutput:
    """The same by a size of the sizer's."""
    if corpus not in _PRINTED:
        raise ValueError(f"{corpus!r} is no kind of text; there are {', '.join(CORPORA)}")
    return _PRINTED[corpus](source, library).beginning(size, sizer)


def words(source: RandomSource, tokens: int) -> str:
    """Exactly so many words of the tiny model's vocabulary, each of which is one token to it."""
    return " ".join(WORDS[drawn(source, len(WORDS))] for _ in range(tokens))
