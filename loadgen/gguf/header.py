"""The header of a GGUF file: its metadata, and the name, shape and type of every tensor. Weights are never read.

Layout as in `docs/gguf.md` of the ggml repository, versions 2 and 3, either byte order. Long arrays and texts (the
vocabulary, its merges, chat templates) are passed over and only counted. What a header may claim is bounded, so that a
broken or hostile file costs neither memory nor time.
"""

import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from loadgen.errors import GgufError
from loadgen.gguf.tensor_types import TENSOR_TYPES

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_KEY_BYTES = 65_535
"""The longest key and tensor name that the format allows."""
_TEXT_BYTES = 4096
"""Texts that matter here are names; a chat template is longer."""
_KEPT_ITEMS = 4096
"""Arrays by layer are kept; the vocabulary is longer."""
_MAX_METADATA = 65_536
_MAX_TENSORS = 262_144
"""A hundred times those of the largest models."""
_MAX_STRINGS = 1 << 23
"""All strings in arrays together: they are walked one by one. Large vocabularies have a million with their merges."""
_MAX_DIMENSIONS = 4
_ALIGNMENT = 32
_MAX_ALIGNMENT = 1 << 20

_SCALARS: Mapping[int, str] = {**dict(enumerate("BbHhIif?")), **dict(enumerate("Qqd", 10))}
"""Types of metadata by id, as `struct` calls them; 8 is a text and 9 an array."""
_STRING, _ARRAY = 8, 9
_LEAST_METADATA_BYTES = 8 + 4 + 1
_LEAST_TENSOR_BYTES = 8 + 4 + 4 + 8


@dataclass(frozen=True)
class Skipped:
    """An array or a text that was passed over: how many items, or bytes, it has."""

    count: int


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | Skipped


@dataclass(frozen=True)
class Tensor:
    """A tensor's name, shape (fastest dimension first) and type; `type` is null where the id is unknown.

    `offset` counts from the begin of the part's data.
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    offset: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int | None:
        """Its size; null where the type is unknown or the shape doesn't fill whole blocks."""
        kind = TENSOR_TYPES.get(self.type_id)
        row = kind.row_bytes(self.shape[0] if self.shape else 1) if kind is not None else None
        if row is None:
            return None
        return row * (self.elements // self.shape[0] if self.shape and self.shape[0] else 1)


@dataclass(frozen=True)
class Header:
    """What one file says. `missing_bytes` is how much its tensors need beyond its end: above 0, it is incomplete."""

    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    big_endian: bool
    missing_bytes: int
    alignment: int


def read_header(path: Path) -> Header:
    """The header of the file at `path`, whichever part of a split model it is.

    Raises `GgufError` where it can't be read, is no GGUF file, or claims what can't be.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise GgufError(f"{path} is no file")
        with path.open("rb", buffering=1 << 16) as file:
            return _Reader(file, path, path.stat().st_size).header()
    except OSError as error:
        raise GgufError(f"can't read {path}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a null byte
        raise GgufError(f"can't read {str(path)!r}: {error}") from error


class _Reader:
    """Reads one file from its begin; every length is held against what is left of the file before it is believed."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self._file = file
        self._path = path
        self._left = size
        self._size = size
        self._order = "<"
        self._strings = 0

    def header(self) -> Header:
        self._read_version()
        tensor_count, metadata_count = self._number("Q"), self._number("Q")
        self._check_count(metadata_count, _MAX_METADATA, _LEAST_METADATA_BYTES, "entries of metadata")
        self._check_count(tensor_count, _MAX_TENSORS, _LEAST_TENSOR_BYTES, "tensors")
        metadata = dict(self._entry() for _ in range(metadata_count))
        tensors = tuple(self._tensor() for _ in range(tensor_count))
        alignment = metadata.get("general.alignment", _ALIGNMENT)
        if not isinstance(alignment, int) or not 0 < alignment <= _MAX_ALIGNMENT:
            raise self._error("its general.alignment is no alignment")
        return Header(
            metadata=metadata,
            tensors=tensors,
            big_endian=self._order == ">",
            missing_bytes=self._missing(tensors, alignment),
            alignment=alignment,
        )

    def _read_version(self) -> None:
        magic = self._take(len(_MAGIC)) if self._left >= len(_MAGIC) else b""
        if magic != _MAGIC:
            raise self._error("it does not begin with GGUF: it is another kind of file, or a download that failed")
        raw = self._take(4)
        version = int.from_bytes(raw, "little")
        if version > 0xFFFF and int.from_bytes(raw, "big") <= 0xFFFF:  # noqa: PLR2004 - versions are small numbers
            version, self._order = int.from_bytes(raw, "big"), ">"
        if version not in _VERSIONS:
            raise self._error(f"its version is {version}; versions 2 and 3 are known")

    def _check_count(self, count: int, most: int, least_bytes: int, what: str) -> None:
        if count > most or count * least_bytes > self._left:
            raise self._error(f"it claims {count:,} {what}, more than it can hold")

    def _entry(self) -> tuple[str, Value]:
        key = self._text(_KEY_BYTES, "a key")
        kind = self._number("I")
        if kind == _STRING:
            return key, self._string()
        if kind == _ARRAY:
            return key, self._array()
        return key, self._scalar(kind)

    def _scalar(self, kind: int) -> Scalar:
        code = _SCALARS.get(kind)
        if code is None:
            raise self._error(f"it has metadata of the unknown type {kind}")
        (value,) = struct.unpack(self._order + code, self._take(struct.calcsize("<" + code)))
        return value  # type: ignore[no-any-return] # by its code an int, float or bool

    def _string(self) -> Value:
        length = self._length()
        if length > _TEXT_BYTES:
            self._skip(length)
            return Skipped(length)
        return self._take(length).decode("utf-8", "replace")

    def _array(self) -> Value:
        kind, count = self._number("I"), self._number("Q")
        if kind == _STRING:
            return self._strings_of(count)
        code = _SCALARS.get(kind)
        if code is None:
            raise self._error(f"it has an array of the type {kind}, which no array may have")
        width = struct.calcsize("<" + code)
        if count * width > self._left:
            raise self._error(f"it claims an array of {count:,} items, more than it can hold")
        if count > _KEPT_ITEMS:
            self._skip(count * width)
            return Skipped(count)
        return struct.unpack(f"{self._order}{count}{code}", self._take(count * width))

    def _strings_of(self, count: int) -> Skipped:
        self._strings += count
        if self._strings > _MAX_STRINGS or count * 8 > self._left:
            raise self._error(f"it claims an array of {count:,} texts, more than it can hold")
        for _ in range(count):
            self._skip(self._length())
        return Skipped(count)

    def _tensor(self) -> Tensor:
        name = self._text(_KEY_BYTES, "a tensor's name")
        dimensions = self._number("I")
        if dimensions > _MAX_DIMENSIONS:
            raise self._error(f"the tensor {name[:64]!r} has {dimensions} dimensions; {_MAX_DIMENSIONS} are the most")
        shape = tuple(self._number("Q") for _ in range(dimensions))
        tensor = Tensor(name, shape, self._number("I"), self._number("Q"))
        if tensor.elements >= 1 << 63:
            raise self._error(f"the tensor {name[:64]!r} claims {tensor.elements:,} numbers")
        return tensor

    def _missing(self, tensors: tuple[Tensor, ...], alignment: int) -> int:
        begin = self._size - self._left
        begin += -begin % alignment
        end = max((begin + tensor.offset + (tensor.bytes or 0) for tensor in tensors), default=0)
        return max(0, end - self._size)

    def _text(self, most: int, what: str) -> str:
        length = self._length()
        if length > most:
            raise self._error(f"it claims {what} of {length:,} bytes")
        return self._take(length).decode("utf-8", "replace")

    def _length(self) -> int:
        length = self._number("Q")
        if length > self._left:
            raise self._error(f"it ends inside its header, or claims a text of {length:,} bytes")
        return length

    def _number(self, code: str) -> int:
        (value,) = struct.unpack(self._order + code, self._take(struct.calcsize("<" + code)))
        return int(value)

    def _take(self, count: int) -> bytes:
        data = self._file.read(count) if count <= self._left else b""
        if len(data) != count:
            raise self._error("it ends inside its header: the download is incomplete")
        self._left -= count
        return data

    def _skip(self, count: int) -> None:
        # Every caller has held the length against what is left.
        self._file.seek(count, 1)
        self._left -= count

    def _error(self, what: str) -> GgufError:
        return GgufError(f"{self._path} can't be used: {what}.")
