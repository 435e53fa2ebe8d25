"""A GGUF header is read whole or refused with one sentence, at a bounded cost, whatever the bytes."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadgen.errors import GgufError
from loadgen.gguf.header import Skipped, Tensor, read_header
from loadgen.gguf.tiny import write_tiny_model
from tests.gguf.make import ARRAY, F32, Q8_0, STRING, UINT32, Meta, gguf, text

METADATA: dict[str, Meta] = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.attention.scale": 0.5,
    "llama.tied": True,
    "llama.attention.head_count_kv": [8, 0],
    "tokenizer.ggml.tokens": ["a", "b", "c"],
}
TENSORS = {"token_embd.weight": ((4, 3), F32), "blk.0.attn_k.weight": ((64, 2), Q8_0)}
WHOLE = gguf(METADATA, TENSORS, data=True)


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_and_byte_orders_say_the_same(tmp_path: Path, order: str, version: int) -> None:
    """Metadata, tensors and sizes; texts in arrays are counted."""
    header = read_header(_write(tmp_path / "m.gguf", gguf(METADATA, TENSORS, order=order, version=version, data=True)))
    assert dict(header.metadata) == {
        **METADATA,
        "llama.attention.head_count_kv": (8, 0),
        "tokenizer.ggml.tokens": Skipped(3),
    }
    assert header.tensors == (
        Tensor("token_embd.weight", (4, 3), F32, 0),
        Tensor("blk.0.attn_k.weight", (64, 2), Q8_0, 64),
    )
    assert [tensor.bytes for tensor in header.tensors] == [48, 136]
    assert header.big_endian == (order == ">")
    assert header.missing_bytes == 0


def test_every_tensor_of_a_real_file_is_read(tmp_path: Path) -> None:
    """Names, shapes, types and bytes are those that the gguf package reads."""
    path = write_tiny_model(tmp_path / "m.gguf")
    mine = {t.name: (t.shape, t.type_id, t.bytes) for t in read_header(path).tensors}
    theirs = {
        t.name: (tuple(int(n) for n in t.shape), int(t.tensor_type), int(t.n_bytes)) for t in GGUFReader(path).tensors
    }
    assert mine == theirs


def test_a_file_cut_in_its_weights_is_told(tmp_path: Path) -> None:
    """Its header is read, and how much is missing is known."""
    assert read_header(_write(tmp_path / "m.gguf", WHOLE[:-400])).missing_bytes == 400 - (len(WHOLE) - _data_end())


def _data_end() -> int:
    """Where the last tensor of `WHOLE` ends: its data begin at the padded header, the second tensor 64 bytes on."""
    return len(gguf(METADATA, TENSORS)) + 64 + 136


def test_a_file_cut_in_its_header_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    """Every length gives one sentence that names the file."""
    end = len(gguf(METADATA, TENSORS)) - 32
    for length in range(end):
        with pytest.raises(GgufError, match=r"m\.gguf can't be used: (it|its) "):
            read_header(_write(tmp_path / "m.gguf", WHOLE[:length]))


def _head(tensors: int, entries: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, entries)


_KEY = text("k")
HOSTILE = {
    "tensors": (_head(1 << 60, 0), "claims 1,152,921,504,606,846,976 tensors"),
    "metadata": (_head(0, 1 << 60), "claims 1,152,921,504,606,846,976 entries"),
    "key": (_head(0, 1) + struct.pack("<Q", 1 << 62) + bytes(99), "a text of 4,611,686,018,427,387,904 bytes"),
    "numbers": (_head(0, 1) + _KEY + struct.pack("<IIQ", ARRAY, UINT32, 1 << 61) + bytes(99), "an array of 2,305,"),
    "texts": (_head(0, 1) + _KEY + struct.pack("<IIQ", ARRAY, STRING, 1 << 61) + bytes(99), "an array of 2,305,"),
    "nested": (_head(0, 1) + _KEY + struct.pack("<IIQ", ARRAY, ARRAY, 1) + bytes(99), "which no array may have"),
    "type": (_head(0, 1) + _KEY + struct.pack("<I", 77) + bytes(99), "unknown type 77"),
    "dimensions": (_head(1, 0) + _KEY + struct.pack("<I", 1 << 31) + bytes(99), "2147483648 dimensions"),
    "elements": (_head(1, 0) + _KEY + struct.pack("<IQQ", 2, 1 << 40, 1 << 40) + bytes(99), "numbers"),
    "version": (b"GGUF" + struct.pack("<I", 1) + bytes(99), "its version is 1"),
    "magic": (b"<!DOCTYPE html>" + bytes(99), "does not begin with GGUF"),
    "empty": (b"", "does not begin with GGUF"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_can_not_be_is_refused_at_once(tmp_path: Path, name: str) -> None:
    """Nothing is allocated for a claim: a megabyte is enough for all of them."""
    content, message = HOSTILE[name]
    path = _write(tmp_path / "m.gguf", content)
    tracemalloc.start()
    try:
        with pytest.raises(GgufError, match=message):
            read_header(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_directory_and_a_missing_file_are_told(tmp_path: Path) -> None:
    """And a path that no file can have."""
    with pytest.raises(GgufError, match="is no file"):
        read_header(tmp_path)
    with pytest.raises(GgufError, match="No such file"):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(GgufError, match="can't read"):
        read_header(Path("a\0b"))


def test_an_unknown_type_has_no_size(tmp_path: Path) -> None:
    """Null, never 0; so has a row that fills no whole blocks."""
    tensors = {"a": ((32,), 200), "b": ((33,), Q8_0), "c": ((64, 0), Q8_0)}
    header = read_header(_write(tmp_path / "m.gguf", gguf({}, tensors)))
    assert [tensor.bytes for tensor in header.tensors] == [None, None, 0]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that every fuzzed input is written to."""
    return tmp_path_factory.mktemp("fuzz") / "m.gguf"


def _mangle(edits: list[tuple[int, bytes]]) -> bytes:
    content = bytearray(WHOLE)
    for place, new in edits:
        content[place : place + len(new)] = new
    return bytes(content)


_MANGLED = st.lists(
    st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=9)), min_size=1, max_size=6
).map(_mangle)


@settings(max_examples=500, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(_MANGLED, st.binary(max_size=300), st.binary(max_size=300).map(lambda b: WHOLE[:24] + b)))
def test_any_bytes_are_a_header_or_one_error(scratch: Path, content: bytes) -> None:
    """No crash, no endless read, nothing but `GgufError`; sizes are null or not negative."""
    try:
        header = read_header(_write(scratch, content))
    except GgufError:
        return
    assert all(tensor.bytes is None or tensor.bytes >= 0 for tensor in header.tensors)
