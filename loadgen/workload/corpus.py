"""Text of about n tokens, the same for one stream of random numbers.

Three kinds, none of which is downloaded:

- `words`: the one-token words of the tiny model. Exact in tokens, and the same with every Python version.
- `code`: source files of CPython's standard library, as a shell tool shows them: numbered views and grep hits.
- `prose`: the language reference that CPython ships for its `help()`.

Code and prose are cut by characters, with the characters a token that the server's tokenizer gave. Their text differs
a little between Python versions. Repetition (paths, indentation, names) is left in: n-gram drafts live on it. Models
have seen this text in training; what that does to acceptance it does to every variant.
"""

import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from textwrap import dedent

from loadgen.errors import WorkloadError
from loadgen.gguf.tiny import WORDS
from loadgen.workload.distribution import RandomSource

ASSUMED_CHARS_PER_TOKEN = 3.0
"""Where the server has no tokenizer route. Measured with Gemma 3's tokenizer: 4.2 for plain code and prose, 3.0 for
numbered views, 2.9 for grep hits, 3.2 to 3.5 for the built-in workloads. The low end, so that a wrong guess
makes prompts shorter than stated rather than too long for the context."""

_MODULES = (
    *("argparse", "ast", "bdb", "calendar", "cmd", "codecs", "configparser", "contextlib", "csv", "dataclasses"),
    *("difflib", "dis", "doctest", "enum", "fileinput", "fractions", "ftplib", "functools", "gettext", "gzip"),
    *("heapq", "imaplib", "inspect", "ipaddress", "locale", "mailbox", "mimetypes", "optparse", "pdb", "pickle"),
    *("pkgutil", "platform", "plistlib", "pprint", "pstats", "random", "selectors", "shelve", "shutil", "smtplib"),
    *("socket", "socketserver", "ssl", "statistics", "subprocess", "tarfile", "tempfile", "textwrap", "threading"),
    *("tokenize", "trace", "traceback", "typing", "uuid", "warnings", "weakref", "webbrowser"),
)
"""Modules that are one source file in every CPython from 3.11 on, 2.6 MB together: more than half a million tokens."""

_GREP_WORDS = ("return", "self", "raise", "import", "if", "for", "def", "None", "not", "class")
_VIEW_SHARE = 0.6
"""Of tool outputs that are views of a file; the rest are grep hits. Agents read more than they search (assumed)."""
_SHORTEST_PAGE = 2000
"""Characters. Shorter pages would be shown whole, again and again."""


@dataclass(frozen=True)
class Document:
    """One text: its path, and its lines (code) or paragraphs (prose)."""

    path: str
    pieces: tuple[str, ...]
    starts: tuple[int, ...] = (0,)
    """Pieces at which a function or class begins; the first piece where none does."""


@dataclass(frozen=True)
class ToolOutput:
    """What a shell tool printed, and the command that it ran."""

    command: str
    text: str


@lru_cache(maxsize=4)
def source_files(root: Path | None = None) -> tuple[Document, ...]:
    """The source files below `root` (default: the standard library's folder), by line.

    Raises `WorkloadError` where there are none, as in a Python without its sources.
    """
    folder = Path(sysconfig.get_path("stdlib")) if root is None else root
    found = []
    for module in _MODULES:
        path = folder / f"{module}.py"
        if path.is_file():
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            starts = tuple(index for index, line in enumerate(lines) if line.startswith(("def ", "class ")))
            found += [Document(f"Lib/{module}.py", tuple(lines), starts or (0,))] if lines else []
    if not found:
        raise WorkloadError(
            "This Python has no source files of its standard library, which code is taken from. "
            "Use another Python, or a workload with `corpus: words`."
        )
    return tuple(found)


@lru_cache(maxsize=1)
def pages() -> tuple[Document, ...]:
    """The pages of Python's language reference that `help()` shows, by paragraph.

    Raises `WorkloadError` where this Python has none.
    """
    try:
        from pydoc_data.topics import topics  # noqa: PLC0415 - half a megabyte that only prose needs
    except ImportError as error:
        raise WorkloadError(
            "This Python has no `pydoc_data.topics`, which prose is taken from. "
            "Use another Python, or a workload with `corpus: words`."
        ) from error
    return tuple(
        Document(f"Doc/{name}.txt", tuple(dedent(part).strip() for part in text.split("\n\n") if part.strip()))
        for name, text in sorted(topics.items())
        if len(text) >= _SHORTEST_PAGE
    )


def words(source: RandomSource, tokens: int) -> str:
    """Exactly so many words of the tiny model's vocabulary, each of which is one token to it."""
    return " ".join(WORDS[int(source.random() * len(WORDS))] for _ in range(tokens))


def passage(source: RandomSource, characters: int) -> str:
    """So many characters of prose, from the start of a paragraph."""
    return page(source, characters).text


def page(source: RandomSource, characters: int) -> ToolOutput:
    """So many characters of a page of prose, from the start of a paragraph, as `cat` shows it."""
    document = _pick(source, pages())
    start = int(source.random() * len(document.pieces))
    return ToolOutput(f"cat {document.path}", _take(_from(document, start), characters, "\n\n"))


def tool_output(source: RandomSource, characters: int) -> ToolOutput:
    """So many characters that a shell tool prints about source files: a numbered view, or grep hits."""
    first = int(source.random() * len(source_files()))
    view, place = source.random() < _VIEW_SHARE, source.random()
    if view:
        document = source_files()[first]
        start = int(place * len(document.pieces))
        return ToolOutput(f"cat -n {document.path} | tail -n +{start + 1}", _take(_view(document, start), characters))
    word = _GREP_WORDS[int(place * len(_GREP_WORDS))]
    return ToolOutput(f"grep -rn '{word}' Lib", _take(_hits(word, first), characters))


def short_file(source: RandomSource, characters: int) -> ToolOutput:
    """Whole lines of source from the start of a function or class, at most so many characters (or part of one line)."""
    document = _pick(source, source_files())
    start = document.starts[int(source.random() * len(document.starts))]
    text = _take(_from(document, start), characters + 1)
    whole = text.rpartition("\n")[0].rstrip() or text[:characters]
    return ToolOutput(f"cat {document.path.removesuffix('.py')}_{start + 1}.py", whole)


def _pick(source: RandomSource, documents: tuple[Document, ...]) -> Document:
    return documents[int(source.random() * len(documents))]


def _from(document: Document, start: int) -> Iterator[str]:
    """The pieces from `start` on, and from the first again after the last."""
    return (document.pieces[index % len(document.pieces)] for index in count(start))


def _view(document: Document, start: int) -> Iterator[str]:
    lines = len(document.pieces)
    return (f"{index % lines + 1:6}\t{document.pieces[index % lines]}" for index in count(start))


def _hits(word: str, first: int) -> Iterator[str]:
    """Lines that hold `word`, in every file from the first on, again and again."""
    documents = source_files()
    for index in count(first):
        document = documents[index % len(documents)]
        for number, line in enumerate(document.pieces, 1):
            if word in line:
                yield f"{document.path}:{number}:{line}"


def _take(pieces: Iterator[str], characters: int, separator: str = "\n") -> str:
    """Pieces until they hold so many characters, cut to exactly that."""
    taken: list[str] = []
    length = -len(separator)
    while length < characters:
        taken.append(next(pieces))
        length += len(taken[-1]) + len(separator)
    return separator.join(taken)[:characters]
