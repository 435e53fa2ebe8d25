"""The files that text is made of: by default those of Python's own standard library and language reference."""

import hashlib
import re
import sysconfig
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import dedent

from loadgen.errors import WorkloadError

__all__ = ["Document", "Library", "paragraphs", "standard"]

_MODULES = (
    *("argparse", "ast", "bdb", "calendar", "cmd", "codecs", "configparser", "contextlib", "csv", "dataclasses"),
    *("difflib", "dis", "doctest", "enum", "fileinput", "fractions", "ftplib", "functools", "gettext", "gzip"),
    *("heapq", "imaplib", "inspect", "ipaddress", "locale", "mailbox", "mimetypes", "optparse", "pdb", "pickle"),
    *("pkgutil", "platform", "plistlib", "pprint", "pstats", "random", "selectors", "shelve", "shutil", "smtplib"),
    *("socket", "socketserver", "ssl", "statistics", "subprocess", "tarfile", "tempfile", "textwrap", "threading"),
    *("tokenize", "trace", "traceback", "typing", "uuid", "warnings", "weakref", "webbrowser"),
)
"""Modules that are one source file in every CPython from 3.11 on, 2.6 MB together: more than half a million tokens."""

_PACKAGES = (
    *("asyncio", "collections", "concurrent", "email", "html", "http", "importlib", "json", "logging"),
    *("multiprocessing", "sqlite3", "tomllib", "unittest", "urllib", "wsgiref", "xml", "xmlrpc", "zoneinfo"),
)
"""Packages of which listings show the files beside those of the modules."""

_SHORTEST_PAGE = 2000
"""Characters. Shorter pages would be shown whole, again and again."""
_DEFINITION = re.compile(r"(?:def|class) ")
_DEFINITION_ELSEWHERE = re.compile(r"(?:def|class|func|fn|pub|function|struct|interface|export|impl|static|void)\s")
"""A line that begins so begins a definition, in Python and in other languages."""
_GREP_WORDS = ("return", "self", "raise", "import", "if", "for", "def", "None", "not", "class")
"""What is searched for where every file has it."""
_WORD = re.compile(r"[A-Za-z_]{3,}")
_SEARCHED = 10
"""Words to search for in files of one's own: those that most files have."""


@dataclass(frozen=True)
class Document:
    """One text: its path, and its lines (code) or paragraphs (prose)."""

    path: str
    pieces: tuple[str, ...]
    starts: tuple[int, ...] = (0,)
    """Pieces at which a function or class begins; the first piece where none does."""

    @property
    def is_python(self) -> bool:
        """Whether its name says so."""
        return self.path.endswith(".py")


@dataclass(frozen=True)
class FileSize:
    """A file as a listing shows it."""

    path: str
    bytes: int
    lines: int


@dataclass(frozen=True)
class Library:
    """The files that text is made of.

    Attributes:
        name: what reports call it.
        sources: code by line, one at least.
        pages: prose by paragraph, one at least.
        files: what listings show, in the order of their paths; one at least.
        words: what a search finds, each in one line at least.
        is_standard: whether it is Python's own.
    """

    name: str
    sources: tuple[Document, ...]
    pages: tuple[Document, ...]
    files: tuple[FileSize, ...]
    words: tuple[str, ...]
    is_standard: bool = False

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) over every path and text."""
        total = hashlib.sha256()
        for document in (*self.sources, *self.pages):
            total.update(f"{document.path}\0".encode("utf-8", "surrogatepass"))
            for piece in document.pieces:
                total.update(f"{piece}\n".encode("utf-8", "surrogatepass"))
        for file in self.files:
            total.update(f"{file.path}\0{file.bytes}\n".encode("utf-8", "surrogatepass"))
        return total.hexdigest()


@lru_cache(maxsize=1)
def standard() -> Library:
    """Python's standard library, and its language reference as `help()` shows it.

    Raises `WorkloadError` where this Python lacks either.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    return Library(
        name="python",
        sources=source_files(folder),
        pages=_reference(),
        files=_listed(folder),
        words=_GREP_WORDS,
        is_standard=True,
    )


def source_files(folder: Path) -> tuple[Document, ...]:
    """The modules of the standard library in its folder, by line.

    Raises `WorkloadError` where there are none, as in a Python without its sources.
    """
    found = []
    for module in _MODULES:
        path = folder / f"{module}.py"
        if path.is_file():
            found += code(f"Lib/{module}.py", path.read_text(encoding="utf-8", errors="replace"))
    if not found:
        raise WorkloadError(
            "This Python has no source files of its standard library, which code is taken from. "
            "Use another Python, files of your own with --corpus DIR, or a workload with `corpus: words`."
        )
    return tuple(found)


def code(path: str, text: str) -> list[Document]:
    """A source file by line; none where the text is empty."""
    lines = text.splitlines()
    definition = _DEFINITION if path.endswith(".py") else _DEFINITION_ELSEWHERE
    starts = tuple(index for index, line in enumerate(lines) if definition.match(line))
    return [Document(path, tuple(lines), starts or (0,))] if lines else []


def paragraphs(path: str, text: str) -> list[Document]:
    """A page of prose by paragraph; none where it is too short to show a part of it."""
    if len(text) < _SHORTEST_PAGE:
        return []
    return [Document(path, tuple(dedent(part).strip() for part in text.split("\n\n") if part.strip()))]


def common_words(sources: Iterable[Document]) -> tuple[str, ...]:
    """Words that most of the files have: what a search finds. The most frequent first, then by the alphabet."""
    counts: Counter[str] = Counter()
    for document in sources:
        counts.update({word for line in document.pieces for word in _WORD.findall(line)})
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(ranked[:_SEARCHED])


def _reference() -> tuple[Document, ...]:
    try:
        from pydoc_data.topics import topics  # noqa: PLC0415 - half a megabyte that only text needs
    except ImportError as error:
        raise WorkloadError(
            "This Python has no `pydoc_data.topics`, which prose is taken from. "
            "Use another Python, files of your own with --corpus DIR, or a workload with `corpus: words`."
        ) from error
    return tuple(page for name, text in sorted(topics.items()) for page in paragraphs(f"Doc/{name}.txt", text))


def _listed(folder: Path) -> tuple[FileSize, ...]:
    paths = [folder / f"{module}.py" for module in _MODULES]
    paths += [path for package in _PACKAGES for path in (folder / package).rglob("*.py")]
    names = sorted((path.relative_to(folder).as_posix(), path) for path in paths if path.is_file())
    return tuple(_file_size(f"Lib/{name}", path.read_bytes()) for name, path in names)


def _file_size(path: str, data: bytes) -> FileSize:
    return FileSize(path, len(data), data.count(b"\n"))
