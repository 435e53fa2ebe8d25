"""What a parser says of source files: as JSON, or as pages of `pydoc`."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from loadgen.workload.corpus.library import Document, Library
from loadgen.workload.corpus.outline import Definition, outline
from loadgen.workload.corpus.output import Printed, drawn
from loadgen.workload.distribution import RandomSource

__all__ = ["json_text", "pydoc_text"]


def json_text(source: RandomSource, library: Library) -> Printed:
    """The definitions of a file from one on, as an indented JSON array, then those of the next files."""
    first, at = _begin(source, library)
    definition = outline(library.sources[first])[at]
    path = library.sources[first].path
    return Printed(f"outline --json --from {definition.line} {path}", _json_lines(library, first, at))


def pydoc_text(source: RandomSource, library: Library) -> Printed:
    """Signatures and docstrings of a module from one definition on, then of the next modules."""
    first, at = _begin(source, library)
    document = library.sources[first]
    return Printed(f"python -m pydoc {_module(document)}.{outline(document)[at].name}", _pages(library, first, at))


def _begin(source: RandomSource, library: Library) -> tuple[int, int]:
    """A file, and one of its definitions."""
    first = drawn(source, len(library.sources))
    return first, drawn(source, len(outline(library.sources[first])))


def _files(library: Library, first: int, at: int) -> Iterator[tuple[Document, tuple[Definition, ...]]]:
    """Files from the first on with their definitions, of the first those from `at` on; without end."""
    for index in count(first):
        document = library.sources[index % len(library.sources)]
        yield document, outline(document)[at if index == first else 0 :]


def _json_lines(library: Library, first: int, at: int) -> Iterator[str]:
    for document, definitions in _files(library, first, at):
        value = [{"path": document.path, **_fields(one)} for one in definitions]
        yield from json.dumps(value, indent=2, ensure_ascii=False).split("\n")


def _fields(definition: Definition) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "kind": definition.kind,
        "name": definition.name,
        "line": definition.line,
        "end_line": definition.end,
        "signature": definition.signature,
        "doc": definition.doc or None,
    }
    if definition.kind == "class":
        return {**fields, "members": [_fields(one) for one in definition.members]}
    return {**fields, "calls": list(definition.calls)}


def _pages(library: Library, first: int, at: int) -> Iterator[str]:
    for document, definitions in _files(library, first, at):
        yield f"Help on module {_module(document)}:"
        yield ""
        for one in definitions:
            yield from _page(one)


def _page(definition: Definition) -> Iterator[str]:
    if definition.kind != "class":
        yield f"{definition.name}{definition.signature}"
        yield from (f"    {line}".rstrip() for line in definition.doc.splitlines())
        yield ""
        return
    yield f"class {definition.name}{definition.signature}"
    yield from (f" |  {line}".rstrip() for line in definition.doc.splitlines())
    yield " |"
    yield " |  Methods defined here:"
    for method in definition.members:
        yield " |"
        yield from (f" |  {line}".rstrip() for line in _page(method) if line)
    yield ""


def _module(document: Document) -> str:
    path = PurePosixPath(document.path)
    parts = path.parts[1:] if path.parts[0] == "Lib" else path.parts
    return ".".join(parts).removesuffix(path.suffix)
