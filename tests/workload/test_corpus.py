"""Text of about n tokens."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.gguf.tiny import WORDS
from loadgen.workload import corpus
from loadgen.workload.draws import rng

SEEDS = st.integers(0, 1000)
LENGTHS = st.integers(0, 6000)


@given(SEEDS, st.integers(0, 300))
def test_words_are_exactly_so_many_of_the_tiny_models(seed: int, count: int) -> None:
    """Every word is one token of the tiny model, so the count is the token count."""
    text = corpus.words(rng(seed), count)
    assert len(text.split()) == count
    assert set(text.split()) <= set(WORDS)


@settings(deadline=None)
@given(SEEDS, LENGTHS)
def test_prose_and_tool_outputs_are_cut_to_the_character(seed: int, characters: int) -> None:
    """However long a text is asked for, it has exactly so many characters."""
    source = rng(seed)
    assert len(corpus.passage(source, characters)) == characters
    assert len(corpus.page(source, characters).text) == characters
    assert len(corpus.tool_output(source, characters).text) == characters


@settings(deadline=None)
@given(SEEDS)
def test_the_same_stream_gives_the_same_text(seed: int) -> None:
    """Text depends on the stream of random numbers alone."""
    assert corpus.tool_output(rng(seed), 500) == corpus.tool_output(rng(seed), 500)
    assert corpus.short_file(rng(seed), 500) == corpus.short_file(rng(seed), 500)
    assert corpus.passage(rng(seed), 500) == corpus.passage(rng(seed), 500)


@settings(deadline=None)
@given(SEEDS, st.integers(100, 3000))
def test_a_short_file_begins_at_a_definition_and_ends_at_a_line(seed: int, characters: int) -> None:
    """It is real source: whole lines of one file, in their order, from a function or class on."""
    output = corpus.short_file(rng(seed), characters)
    assert 0 < len(output.text) <= characters
    match = re.fullmatch(r"cat (Lib/\w+)_(\d+)\.py", output.command)
    assert match is not None
    (document,) = (file for file in corpus.source_files() if file.path == f"{match[1]}.py")
    lines = output.text.split("\n")
    start = int(match[2]) - 1
    original = (document.pieces * 2)[start : start + len(lines)]
    assert lines[:-1] == list(original[:-1])
    assert lines[-1] == original[-1].rstrip() or len(lines) == 1
    assert lines[0].startswith(("def ", "class "))


@settings(deadline=None)
@given(SEEDS)
def test_tool_outputs_show_real_lines_with_their_numbers(seed: int) -> None:
    """A view and a grep hit both name lines that are in the file, at the numbers that they state."""
    files = {file.path: file.pieces for file in corpus.source_files()}
    output = corpus.tool_output(rng(seed), 1500)
    whole = output.text.split("\n")[:-1]
    if output.command.startswith("cat -n "):
        path = output.command.split()[2]
        assert f"tail -n +{int(whole[0].split()[0])}" in output.command
        shown = [(path, *line.split("\t", 1)) for line in whole]
    else:
        shown = [tuple(line.split(":", 2)) for line in whole]
        word = output.command.split("'")[1]
        assert all(word in line for _, _, line in shown)
    assert shown
    assert all(files[path][int(number) - 1] == line for path, number, line in shown)


def test_prose_starts_with_a_letter_or_mark_and_never_with_a_blank() -> None:
    """A recorded answer is never cut down to blanks, which a chat template may strip to nothing."""
    assert all(part[0].strip() for document in corpus.pages() for part in document.pieces)


def test_source_files_of_a_folder_are_its_modules_by_line(tmp_path: Path) -> None:
    """Only known modules are read; an empty file is none; bytes that are no UTF-8 don't stop a run."""
    (tmp_path / "argparse.py").write_text("import sys\ndef f():\n    pass\nclass C:\n    pass\n")
    (tmp_path / "ast.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "csv.py").write_text("")
    (tmp_path / "other.py").write_text("x = 1\n")
    assert corpus.source_files(tmp_path) == (
        corpus.Document("Lib/argparse.py", ("import sys", "def f():", "    pass", "class C:", "    pass"), (1, 3)),
        corpus.Document("Lib/ast.py", ("x = '\ufffd'",), (0,)),
    )


def test_a_python_without_sources_is_told(tmp_path: Path) -> None:
    """Where there is no code to show, the message says what to use instead."""
    with pytest.raises(WorkloadError, match=r"no source files of its standard library.*corpus: words"):
        corpus.source_files(tmp_path)
