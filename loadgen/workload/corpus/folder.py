"""Files of one's own in place of Python's standard library: the text files of a folder."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loadgen.errors import WorkloadError
from loadgen.workload.corpus.library import Document, FileSize, Library, code, common_words, paragraphs
from loadgen.workload.corpus.outline import Definition, outline

__all__ = ["own"]

_PROSE = (".md", ".rst", ".txt", ".adoc", ".org", ".tex")
"""Endings of files that people write for people."""
_NOT_TEXT = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build"})
"""Folders of what others wrote, or machines. Those whose names begin with a dot (of version control, caches, settings)
are left out too."""
_LARGEST_FILE = 1_000_000
"""Bytes. Larger text files are data, or made by a program."""
_LARGEST_LIBRARY = 32_000_000
"""Bytes of all files: eight million tokens, more than any pool of sessions shows. Files beyond are left out."""
_MOST_FILES = 20_000
_LONGEST_LINE = 5_000
"""Characters. Longer lines are of minified files."""
_READ_FOR_DOCSTRINGS = 500
"""Files, where there is no prose: a second of parsing."""
_SMALLEST = 2_000
"""Characters that the files must have together, so that a text isn't one line again and again."""


@dataclass
class _Found:
    sources: list[Document] = field(default_factory=list)
    pages: list[Document] = field(default_factory=list)
    files: list[FileSize] = field(default_factory=list)
    bytes: int = 0

    @property
    def is_full(self) -> bool:
        return self.bytes >= _LARGEST_LIBRARY or len(self.files) >= _MOST_FILES


def own(folder: Path) -> Library:
    """The text files below a folder, in the order of their paths.

    Left out are hidden and made folders, files that aren't UTF-8 text, large ones, those that can't be read, and
    symbolic links that lead out of the folder.

    Raises `WorkloadError` where it is no folder, or holds too little text.
    """
    if not folder.is_dir():
        raise WorkloadError(f"--corpus {folder}: there is no such folder; name one that holds text files.")
    found = _Found()
    for name, path in _files(folder):
        if found.is_full:
            break
        _take(found, name, path)
    sources = found.sources or found.pages
    if not sources or sum(len(piece) for one in sources for piece in one.pieces) < _SMALLEST:
        raise WorkloadError(
            f"--corpus {folder}: it holds less than {_SMALLEST:,} characters of text (UTF-8 files of up to "
            f"{_LARGEST_FILE // 1_000_000} MB outside hidden and made folders); name a folder with more, such as a "
            "source tree."
        )
    return Library(
        name=folder.resolve().name,
        sources=tuple(sources),
        pages=tuple(found.pages) or _comments(sources),
        files=tuple(found.files),
        words=common_words(sources) or ("",),
    )


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Paths below the folder and the files there, sorted; none that a link leads out to."""
    root = folder.resolve()
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and one not in _NOT_TEXT)
        for file in sorted(files):
            path = Path(at, file)
            if not file.startswith(".") and path.is_file() and path.resolve().is_relative_to(root):
                yield path.relative_to(folder).as_posix(), path


def _take(found: _Found, name: str, path: Path) -> None:
    """The file, where it is text."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return
        data = path.read_bytes()
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if "\0" in text or not text.strip() or max(map(len, text.splitlines())) > _LONGEST_LINE:
        return
    documents = paragraphs(name, text) if name.endswith(_PROSE) else code(name, text)
    if not documents:
        return
    (found.pages if name.endswith(_PROSE) else found.sources).extend(documents)
    found.files.append(FileSize(name, len(data), data.count(b"\n")))
    found.bytes += len(data)


def _comments(sources: list[Document]) -> tuple[Document, ...]:
    """Docstrings, where no file is prose; the files themselves where there are too few of those either."""
    docs = [doc for one in sources[:_READ_FOR_DOCSTRINGS] if one.is_python for doc in _docstrings(outline(one))]
    return tuple(paragraphs("docstrings.txt", "\n\n".join(docs))) or tuple(sources)


def _docstrings(definitions: Iterable[Definition]) -> Iterator[str]:
    for one in definitions:
        if one.doc:
            yield one.doc
        yield from _docstrings(one.members)
