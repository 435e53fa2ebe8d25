"""The log of a test run: a line a test, the tracebacks of those that failed, and the count."""

from collections.abc import Iterator
from itertools import count
from pathlib import PurePosixPath

from loadgen.workload.corpus.library import Document, Library
from loadgen.workload.corpus.outline import Definition, outline
from loadgen.workload.corpus.output import Printed, drawn
from loadgen.workload.corpus.tracebacks import traceback_of
from loadgen.workload.distribution import RandomSource
from loadgen.workload.draws import rng

__all__ = ["log"]

_FAILING, _SKIPPED = 0.06, 0.03
"""Shares of the tests (assumed)."""
_SEEDS = 1 << 32
_RULE, _LINE = "=" * 70, "-" * 70


def log(source: RandomSource, library: Library) -> Printed:
    """Test runs of one module after the other, as `unittest -v` prints them."""
    first = drawn(source, len(library.sources))
    # What a run shows is drawn from a stream of its own: however much is shown, as much is drawn from the caller's.
    own = rng(drawn(source, _SEEDS), "log")
    return Printed(f"python -m unittest -v {_test_module(library.sources[first])}", _runs(library, first, own))


def _runs(library: Library, first: int, source: RandomSource) -> Iterator[str]:
    for index in count(first):
        yield from _run(library.sources[index % len(library.sources)], library, source)


def _run(document: Document, library: Library, source: RandomSource) -> Iterator[str]:
    module = _test_module(document)
    failed: list[str] = []
    tests = list(_tests(outline(document), module))
    for test in tests:
        u = source.random()
        verdict = "ERROR" if u < _FAILING else "skipped 'not on this platform'" if u < _FAILING + _SKIPPED else "ok"
        failed += [test] if verdict == "ERROR" else []
        yield f"{test} ... {verdict}"
    yield ""
    for test in failed:
        yield from (_RULE, f"ERROR: {test}", _LINE)
        yield from traceback_of(source, library).splitlines()
        yield ""
    yield _LINE
    yield f"Ran {len(tests)} test{'' if len(tests) == 1 else 's'} in {source.random() * 3:.3f}s"
    yield ""
    yield f"FAILED (errors={len(failed)})" if failed else "OK"
    yield ""


def _tests(definitions: tuple[Definition, ...], module: str) -> Iterator[str]:
    """A test for each function and method, each in the case of its class."""
    for one in definitions:
        case = f"{one.name.lstrip('_') or one.name}Tests" if one.kind == "class" else "FunctionTests"
        for function in one.members or (one,):
            name = f"test_{function.name.strip('_').lower() or 'call'}"
            yield f"{name} ({module}.{case}.{name})"


def _test_module(document: Document) -> str:
    path = PurePosixPath(document.path)
    folders = path.parts[1:-1] if path.parts[0] == "Lib" else path.parts[:-1]
    return ".".join(("tests", *folders, f"test_{path.stem}"))
