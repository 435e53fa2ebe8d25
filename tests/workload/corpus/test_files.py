"""Source files and prose as a shell tool shows them."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.corpus.files import short_file
from loadgen.workload.corpus.library import Document, source_files, standard
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.sizing import Ratio

SEEDS = st.integers(0, 1000)
CHARACTERS = Ratio(1.0)
"""A token a character."""
FILES = {file.path: file.pieces for file in standard().sources}


@settings(deadline=None)
@given(SEEDS, st.integers(100, 3000))
def test_a_short_file_begins_at_a_definition_and_ends_at_a_line(seed: int, characters: int) -> None:
    """It is real source: whole lines of one file, in their order, from a function or class on."""
    output = short_file(rng(seed), characters, CHARACTERS, standard())
    assert 0 < len(output.text) <= characters
    match = re.fullmatch(r"cat (Lib/\w+)_(\d+)\.py", output.command)
    assert match is not None
    lines = output.text.split("\n")
    start = int(match[2]) - 1
    original = (FILES[f"{match[1]}.py"] * 2)[start : start + len(lines)]
    assert lines[:-1] == list(original[:-1])
    assert lines[-1] == original[-1].rstrip() or len(lines) == 1
    assert lines[0].startswith(("def ", "class "))


@settings(deadline=None)
@given(SEEDS, st.sampled_from(["code", "view", "grep"]))
def test_views_and_hits_show_real_lines_with_their_numbers(seed: int, corpus: str) -> None:
    """A view and a grep hit both name lines that are in the file, at the numbers that they state."""
    output = made(corpus, rng(seed), 1500, CHARACTERS)
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
    assert all(FILES[path][int(number) - 1] == line for path, number, line in shown)


@settings(deadline=None)
@given(SEEDS)
def test_source_goes_on_from_the_definition_that_its_command_names(seed: int) -> None:
    """The lines behind `tail -n +N`, in their order."""
    output = made("source", rng(seed), 800, CHARACTERS)
    match = re.fullmatch(r"tail -n \+(\d+) (Lib/\w+\.py)", output.command)
    assert match is not None
    shown = output.text.split("\n")[:-1]
    start = int(match[1]) - 1
    assert shown == list((FILES[match[2]] * 2)[start : start + len(shown)])


def test_prose_starts_with_a_letter_or_mark_and_never_with_a_blank() -> None:
    """A recorded answer is never cut down to blanks, which a chat template may strip to nothing."""
    assert all(part[0].strip() for document in standard().pages for part in document.pieces)


def test_source_files_of_a_folder_are_its_modules_by_line(tmp_path: Path) -> None:
    """Only known modules are read; an empty file is none; bytes that are no UTF-8 don't stop a run."""
    (tmp_path / "argparse.py").write_text("import sys\ndef f():\n    pass\nclass C:\n    pass\n")
    (tmp_path / "ast.py").write_bytes(b"x = '\xff'\n")
    (tmp_path / "csv.py").write_text("")
    (tmp_path / "other.py").write_text("x = 1\n")
    assert source_files(tmp_path) == (
        Document("Lib/argparse.py", ("import sys", "def f():", "    pass", "class C:", "    pass"), (1, 3)),
        Document("Lib/ast.py", ("x = '\ufffd'",), (0,)),
    )


def test_a_python_without_sources_is_told(tmp_path: Path) -> None:
    """Where there is no code to show, the message says what to use instead."""
    with pytest.raises(WorkloadError, match=r"no source files of its standard library.*--corpus DIR.*corpus: words"):
        source_files(tmp_path)
