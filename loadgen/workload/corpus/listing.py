"""Folders with their files: paths, line counts, or sizes."""

from collections.abc import Iterator
from itertools import count

from loadgen.workload.corpus.library import FileSize, Library
from loadgen.workload.corpus.output import Printed, drawn
from loadgen.workload.distribution import RandomSource

__all__ = ["listing"]

_FORMS = ("find", "wc", "ls")


def listing(source: RandomSource, library: Library) -> Printed:
    """What `find`, `wc -l` or `ls -lR` print, from some file on, again and again."""
    form = _FORMS[drawn(source, len(_FORMS))]
    first = drawn(source, len(library.files))
    files = (library.files[index % len(library.files)] for index in count(first))
    folder = _folder(library.files[first].path)
    if form == "find":
        return Printed(f"find {folder} -type f", (file.path for file in files))
    if form == "wc":
        return Printed("git ls-files | xargs wc -l", (f"{file.lines:7} {file.path}" for file in files))
    return Printed(f"ls -lR --time-style=+ {folder}", _long(files))


def _long(files: Iterator[FileSize]) -> Iterator[str]:
    """A heading a folder; the dates that differ between machines are left out."""
    before: str | None = None
    for file in files:
        folder = _folder(file.path)
        if folder != before:
            yield from ("", f"{folder}:") if before is not None else (f"{folder}:",)
            before = folder
        yield f"-rw-r--r-- 1 agent agent {file.bytes:7}  {file.path.rpartition('/')[2]}"


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."
