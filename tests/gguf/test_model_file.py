"""A split model is read from any of its parts, and a part that is missing is named."""

from pathlib import Path

import pytest

from loadgen.errors import GgufError
from loadgen.gguf.model_file import read_model
from tests.gguf.make import F32, gguf, write

NAME = "big-{:05}-of-00003.gguf"


@pytest.fixture
def split(tmp_path: Path) -> Path:
    """Three parts with a tensor each; the first has the metadata."""
    for number in (1, 2, 3):
        metadata = {"general.architecture": "llama"} if number == 1 else {}
        path = tmp_path / NAME.format(number)
        path.write_bytes(gguf({**metadata, "split.count": 3}, {f"blk.{number}.a": ((8,), F32)}, data=True))
    return tmp_path


@pytest.mark.parametrize("named", [1, 2, 3])
def test_all_parts_are_read_whichever_is_named(split: Path, named: int) -> None:
    """The metadata are the first part's, the tensors those of all."""
    model = read_model(split / NAME.format(named))
    assert model.parts == 3
    assert model.text("general.architecture") == "llama"
    assert [tensor.name for tensor in model.tensors] == ["blk.1.a", "blk.2.a", "blk.3.a"]
    assert model.remarks() == []


def test_the_part_that_is_missing_is_named(split: Path) -> None:
    """Not the one that was asked for."""
    (split / NAME.format(2)).unlink()
    with pytest.raises(GgufError, match=r"the part .*big-00002-of-00003\.gguf is missing"):
        read_model(split / NAME.format(1))


def test_a_renamed_part_is_told(split: Path) -> None:
    """llama-server finds the others by name alone."""
    (split / NAME.format(1)).rename(split / "model.gguf")
    with pytest.raises(GgufError, match=r"one of 3 parts, but is not named like one: name it …-00001-of-00003\.gguf"):
        read_model(split / "model.gguf")


def test_what_keeps_a_server_from_loading_it_is_said(tmp_path: Path) -> None:
    """A download that ended early, and another machine's byte order."""
    short = write(tmp_path / "short.gguf", {}, {"a": ((256,), F32)})
    assert read_model(short).remarks() == [
        (
            f"{short} is 1,024 bytes shorter than its header says: the download is incomplete, and llama-server "
            "will not load it."
        )
    ]
    swapped = tmp_path / "swapped.gguf"
    swapped.write_bytes(gguf({}, order=">"))
    assert "big-endian" in read_model(swapped).remarks()[0]


def test_metadata_of_another_type_is_none(tmp_path: Path) -> None:
    """A text where a number is needed, a switch, a negative one: null, not a guess."""
    model = read_model(write(tmp_path / "m.gguf", {"a": "8", "b": True, "c": [-1, 2], "d": [1, 2]}, {}))
    assert [model.number(key) for key in "abcde"] == [None] * 5
    assert [model.numbers(key) for key in "acd"] == [None, None, (1, 2)]
    assert (model.length("d"), model.length("a"), model.text("b")) == (2, None, None)
