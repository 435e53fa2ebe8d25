"""The tiny model's file: complete, the same at every call, and written again only when its content is another."""

import hashlib
from pathlib import Path

import pytest
from gguf import GGUFReader

from loadgen.errors import UsageError
from loadgen.gguf.tiny import VERSION, WORDS, Size, write_tiny_model
from loadgen.gguf.tiny_vocabulary import VOCABULARY


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(("size", "width", "blocks"), [("small", 64, 5), ("demo", 384, 9)])
def test_metadata_states_the_hybrid_architecture_with_one_mtp_block(
    tmp_path: Path, size: Size, width: int, blocks: int
) -> None:
    """The file says `qwen35`, its width, its blocks (the MTP block included) and its version."""
    reader = GGUFReader(write_tiny_model(tmp_path / "m.gguf", size))
    expected = {
        "general.architecture": "qwen35",
        "general.version": f"loadgen-tiny/{VERSION}/{size}",
        "qwen35.embedding_length": width,
        "qwen35.block_count": blocks,
        "qwen35.nextn_predict_layers": 1,
        "qwen35.vocab_size": 1024,
    }
    assert {name: reader.fields[name].contents() for name in expected} == expected


def test_every_call_writes_the_same_bytes(tmp_path: Path) -> None:
    """Two files of one size are equal byte by byte."""
    first, second = (write_tiny_model(tmp_path / name) for name in ("a.gguf", "b.gguf"))
    assert _digest(first) == _digest(second)


def test_a_file_of_the_same_version_is_kept(tmp_path: Path) -> None:
    """A second call leaves the file alone."""
    path = write_tiny_model(tmp_path / "m.gguf")
    before = path.stat()
    assert write_tiny_model(path).stat() == before


def test_a_file_with_other_content_is_replaced(tmp_path: Path) -> None:
    """Another size, or no model at all, under the same name is written anew."""
    small = _digest(write_tiny_model(tmp_path / "m.gguf"))
    (tmp_path / "n.gguf").write_bytes(b"no model")
    assert _digest(write_tiny_model(tmp_path / "n.gguf")) == small
    assert _digest(write_tiny_model(tmp_path / "n.gguf", "demo")) != small


def test_nothing_but_the_model_is_left_in_the_folder(tmp_path: Path) -> None:
    """The temporary file is gone when the model is there."""
    write_tiny_model(tmp_path / "new" / "m.gguf")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["m.gguf"]


def test_a_folder_that_is_a_file_is_a_usage_error(tmp_path: Path) -> None:
    """A path that can't be written is said, with the path."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match=r"can't write the model .*file/m\.gguf"):
        write_tiny_model(tmp_path / "file" / "m.gguf")


def test_the_vocabulary_holds_1024_different_pieces_and_300_words() -> None:
    """No piece is there twice, and every word is there with and without its blank."""
    pieces = VOCABULARY.pieces
    assert (len(pieces), len(set(pieces)), len(WORDS), len(set(WORDS))) == (1024, 1024, 300, 300)
    assert {*WORDS, *(f" {word}" for word in WORDS)} <= set(pieces)
    assert [pieces[i] for i in VOCABULARY.said] == [f" {word}" for word in WORDS]
