"""What is defined in a source file: by Python's parser, or in other languages by the look of lines."""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from loadgen.workload.corpus.library import Document

__all__ = ["Definition", "outline"]

_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:[(<{:=]|$)")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Definition:
    """A function, a class with its methods, or a file that has neither.

    Attributes:
        kind: `function`, `class` or `text`.
        name: as written.
        line: its first line, from 1.
        end: its last line.
        signature: arguments and result, or base classes; in other languages the whole line.
        doc: its docstring, or nothing.
        calls: names of what it calls, each once, in order.
        members: the methods of a class.
    """

    kind: str
    name: str
    line: int
    end: int
    signature: str
    doc: str = ""
    calls: tuple[str, ...] = ()
    members: tuple["Definition", ...] = ()


@lru_cache(maxsize=512)
def outline(document: Document) -> tuple[Definition, ...]:
    """The definitions of a source file in order, one at least."""
    found = _of_python(document) if document.is_python else ()
    return found or tuple(_by_look(document))


def _of_python(document: Document) -> tuple[Definition, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in other people's texts
            tree = ast.parse("\n".join(document.pieces))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_members(tree.body))


def _members(body: Sequence[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield _function(node)
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(map(ast.unparse, node.bases))
            yield Definition(
                kind="class",
                name=node.name,
                line=node.lineno,
                end=node.end_lineno or node.lineno,
                signature=f"({bases})" if bases else "",
                doc=ast.get_docstring(node) or "",
                members=tuple(_function(one) for one in node.body if isinstance(one, _FUNCTIONS)),
            )


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Definition:
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return Definition(
        kind="function",
        name=node.name,
        line=node.lineno,
        end=node.end_lineno or node.lineno,
        signature=f"({ast.unparse(node.args)}){result}",
        doc=ast.get_docstring(node) or "",
        calls=tuple(dict.fromkeys(_called(node))),
    )


def _called(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            yield inner.func.id
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            yield inner.func.attr


def _by_look(document: Document) -> Iterator[Definition]:
    """One for each line that begins a definition, up to the next; the whole file where none does."""
    ends = [*document.starts[1:], len(document.pieces)]
    for start, end in zip(document.starts, ends, strict=True):
        text = document.pieces[start].strip()
        named = _NAME.search(text)
        stem = PurePosixPath(document.path).stem
        is_text = document.starts == (0,)
        name = stem if is_text or named is None else named.group(1)
        yield Definition("text" if is_text else "function", name, start + 1, end, text)
