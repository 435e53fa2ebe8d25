"""Listings, logs, tracebacks, and what a parser says of source files."""

import ast
import json
import re

import pytest

from loadgen.workload.corpus.library import Document, Library, standard
from loadgen.workload.corpus.outline import outline
from loadgen.workload.corpus.text import made
from loadgen.workload.corpus.tracebacks import traceback_of
from loadgen.workload.draws import rng
from loadgen.workload.sizing import Ratio

LIBRARY = standard()


@pytest.mark.parametrize("seed", range(8))
def test_a_listing_has_the_files_that_there_are(seed: int) -> None:
    """In the order of their paths, each with its true size or number of lines."""
    output = made("listing", rng(seed), 1200, Ratio(1.0))
    lines = output.text.split("\n")[:-1]
    known = {file.path: file for file in LIBRARY.files}
    if output.command.startswith("find"):
        assert all(line in known for line in lines)
    elif "wc -l" in output.command:
        assert all(known[line.split()[1]].lines == int(line.split()[0]) for line in lines)
    else:
        folder = lines[0].removesuffix(":")
        for line in lines[1:]:
            if line.endswith(":"):
                folder = line.removesuffix(":")
            elif line:
                *_, size, name = line.split()
                assert known[f"{folder}/{name}"].bytes == int(size)
    assert len(lines) > 5


@pytest.mark.parametrize("seed", range(4))
def test_a_log_counts_the_tests_and_failures_that_it_shows(seed: int) -> None:
    """Every failed test has its traceback, and the count at the end is that of the lines."""
    text = made("log", rng(seed), 40_000, Ratio(1.0)).text
    run = text.partition("\nRan ")
    tests = [line for line in run[0].split("\n") if " ... " in line]
    assert run[2].startswith(f"{len(tests)} test")
    failed = [line for line in tests if line.endswith(" ... ERROR")]
    assert run[0].count("\nERROR: ") == len(failed)
    assert run[0].count("Traceback (most recent call last):") >= len(failed)
    assert (f"FAILED (errors={len(failed)})" if failed else "OK") in run[2].split("\n")[2]


def test_tracebacks_are_those_of_real_exceptions() -> None:
    """Each goes through a test of ours into Python's library, and ends with what was raised."""
    found = {traceback_of(rng(seed), LIBRARY) for seed in range(200)}
    assert len(found) > 25
    for text in found:
        lines = text.split("\n")
        assert re.search(r'File "tests/test_\w+\.py", line \d+, in test_\w+\n    \S', text)
        assert 'File "Lib/' in text
        assert text.count("Traceback (most recent call last):") >= 1
        assert any(re.match(r"[\w.]+(: |$)", line) for line in lines[-3:])


def own_library() -> Library:
    """Two files of one's own, one of them no Python."""
    sources = (
        Document("src/a.py", ("def first(x):", '    """Doc."""', "    return second(x)", "", "class Box(Base):",
                              '    """A box."""', "    def open(self, key: str) -> int:", "        return 1"), (0, 4)),
        Document("src/b.go", ("package b", "func Third(x int) int {", "  return x", "}"), (1,)),
    )  # fmt: skip
    return Library("mine", sources, sources, LIBRARY.files[:2], ("return",))


@pytest.mark.parametrize("seed", range(6))
def test_tracebacks_through_own_files_show_their_lines(seed: int) -> None:
    """Nothing of the user's is run: frames are lines that stand where they say."""
    library = own_library()
    files = {file.path: file.pieces for file in library.sources}
    text = traceback_of(rng(seed), library)
    frames = re.findall(r'  File "(.*?)", line (\d+), in (\w+)\n    (.*)\n', text)
    assert frames
    assert all(files[path][int(line) - 1].strip() == shown for path, line, _, shown in frames)


def test_an_outline_has_every_definition_with_its_signature() -> None:
    """By Python's parser, or by the look of lines in other languages."""
    python, go = own_library().sources
    first, box = outline(python)
    assert (first.kind, first.name, first.line, first.end, first.signature) == ("function", "first", 1, 3, "(x)")
    assert (first.doc, first.calls) == ("Doc.", ("second",))
    assert (box.kind, box.name, box.signature, box.doc) == ("class", "Box", "(Base)", "A box.")
    assert [(one.name, one.signature) for one in box.members] == [("open", "(self, key: str) -> int")]
    (third,) = outline(go)
    assert (third.kind, third.name, third.line, third.signature) == ("function", "Third", 2, "func Third(x int) int {")


def test_a_file_that_python_can_not_read_is_outlined_by_its_looks() -> None:
    """And one without definitions is one piece of text."""
    (old,) = outline(Document("old.py", ("print 'x'", "def f(:", "  pass"), (1,)))
    assert (old.kind, old.name, old.line, old.end) == ("function", "f", 2, 3)
    (plain,) = outline(Document("data.cfg", ("[a]", "b = 1")))
    assert (plain.kind, plain.name, plain.line, plain.end) == ("text", "data", 1, 2)


def test_json_is_what_the_parser_says() -> None:
    """Whole documents of it can be read, and name definitions where they are."""
    text = made("json", rng(3), 60_000, Ratio()).text
    value, _ = json.JSONDecoder().raw_decode(text)
    (document,) = (one for one in LIBRARY.sources if one.path == value[0]["path"])
    tree = {node.name: node.lineno for node in ast.parse("\n".join(document.pieces)).body if hasattr(node, "name")}
    assert value
    assert all(tree[one["name"]] == one["line"] or one["kind"] == "function" for one in value)
    assert all(document.pieces[one["line"] - 1].strip() for one in value)


def test_pydoc_shows_signatures_and_docstrings() -> None:
    """The page of a class has its methods, indented behind a bar as `pydoc` prints them."""
    library = own_library()
    texts = {made("pydoc", rng(seed), 400, Ratio(1.0), library).text for seed in range(8)}
    assert any(
        "class Box(Base)\n |  A box.\n |\n |  Methods defined here:\n |\n |  open(self, key: str) -> int\n" in text
        for text in texts
    )
    assert any("first(x)\n    Doc.\n" in text for text in texts)
