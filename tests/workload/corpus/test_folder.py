"""Files of one's own."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.errors import WorkloadError
from loadgen.workload.corpus import CORPORA
from loadgen.workload.corpus.folder import own
from loadgen.workload.corpus.library import Library
from loadgen.workload.corpus.text import made
from loadgen.workload.draws import rng
from loadgen.workload.sizing import Ratio

CODE = "def one(value):\n    return value + 1\n\n\n" * 80
PROSE = "# Title\n\nA paragraph of words that people read.\n\n" * 60


def tree(folder: Path) -> Path:
    """A source tree with what doesn't belong to it."""
    for name, data in {
        "src/a.py": CODE.encode(),
        "src/deep/b.c": b"int main(void) {\n  return 0;\n}\n" * 40,
        "README.md": PROSE.encode(),
        "data.bin": b"\0\1\2" * 900,
        "latin.txt": "é".encode("latin-1") * 900,
        "min.js": b"var a=1;" * 900,
        "huge.csv": b"1,2,3\n" * 200_000,
        "empty.py": b"",
        ".git/config": b"[core]\n" * 900,
        "node_modules/x/index.js": b"let a = 1;\n" * 900,
        ".env": b"KEY=secret\n" * 900,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def test_text_files_are_taken_and_nothing_else(tmp_path: Path) -> None:
    """No version control, dependencies, hidden files, binaries, other encodings, minified or huge files."""
    library = own(tree(tmp_path / "mine"))
    assert [file.path for file in library.files] == ["README.md", "src/a.py", "src/deep/b.c"]
    assert [file.path for file in library.sources] == ["src/a.py", "src/deep/b.c"]
    assert [file.path for file in library.pages] == ["README.md"]
    assert library.name == "mine"
    assert library.words[0] == "return"


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    """Neither to files nor to folders; those within it are."""
    folder = tree(tmp_path / "mine")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(CODE)
    (folder / "link.py").symlink_to(outside / "secret.py")
    (folder / "linked").symlink_to(outside)
    (folder / "same.py").symlink_to(folder / "src" / "a.py")
    (folder / "broken.py").symlink_to(folder / "nowhere")
    assert [file.path for file in own(folder).files] == ["README.md", "same.py", "src/a.py", "src/deep/b.c"]


def test_files_that_can_not_be_read_are_left_out(tmp_path: Path) -> None:
    """A pipe or a locked file doesn't stop a run."""
    folder = tree(tmp_path / "mine")
    os.mkfifo(folder / "pipe.py")
    assert [file.path for file in own(folder).sources] == ["src/a.py", "src/deep/b.c"]


def test_the_digest_changes_with_every_file(tmp_path: Path) -> None:
    """So that a resumed run can tell."""
    one, other = tree(tmp_path / "one"), tree(tmp_path / "other")
    assert own(one).digest == own(other).digest
    (tmp_path / "third").mkdir()
    third = tree(tmp_path / "third" / "one")
    (third / "src" / "a.py").write_text(CODE.replace("value", "other"))
    assert own(third).digest != own(one).digest


@pytest.mark.parametrize("files", [{}, {"a.py": "x = 1\n"}, {"a.bin": "\0" * 5000}])
def test_a_folder_without_text_is_refused(tmp_path: Path, files: dict[str, str]) -> None:
    """With what would do."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(WorkloadError, match=r"--corpus .*less than 2,000 characters of text.*name a folder with more"):
        own(tmp_path)


def test_no_folder_is_refused(tmp_path: Path) -> None:
    """A file, or nothing at all."""
    with pytest.raises(WorkloadError, match=r"--corpus .*there is no such folder"):
        own(tmp_path / "nowhere")


@given(st.sampled_from([one for one in CORPORA if one != "words"]), st.integers(0, 200), st.integers(1, 4000))
def test_every_kind_of_text_can_be_made_of_it(mine: Library, corpus: str, seed: int, characters: int) -> None:
    """Also of few files, again and again."""
    assert len(made(corpus, rng(seed), characters, Ratio(1.0), mine).text) == characters


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Files of one's own."""
    return own(tree(tmp_path_factory.mktemp("own") / "mine"))


def test_docstrings_are_the_prose_of_a_folder_without_any(tmp_path: Path) -> None:
    """What people wrote for people, there."""
    body = "\n".join(f'def f{number}():\n    """What number {number} does, and why."""\n' for number in range(80))
    (tmp_path / "a.py").write_text(body)
    (page,) = own(tmp_path).pages
    assert page.pieces[:2] == ("What number 0 does, and why.", "What number 1 does, and why.")
