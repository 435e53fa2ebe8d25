"""A model as it lies on the disk: one GGUF file, or all parts of a split one, read as one header."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadgen.errors import GgufError
from loadgen.gguf.header import Header, Skipped, Tensor, Value, read_header

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
_MOST_PARTS = 4096


@dataclass(frozen=True)
class ModelFile:
    """The metadata of the first part, and the tensors of all."""

    path: Path
    metadata: Mapping[str, Value]
    tensors: tuple[Tensor, ...]
    parts: int
    big_endian: bool
    missing_bytes: int
    """How much shorter the files are than their tensors need: above 0, a download is incomplete."""

    def number(self, key: str) -> int | None:
        """A whole number of the metadata, not negative; null where there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    def numbers(self, key: str) -> tuple[int, ...] | None:
        """Whole numbers by layer, switches as 0 and 1; null where the entry is no such array."""
        value = self.metadata.get(key)
        if not isinstance(value, tuple) or not all(isinstance(item, int) and item >= 0 for item in value):
            return None
        return tuple(int(item) for item in value)

    def text(self, key: str) -> str | None:
        """A short text of the metadata; null where there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def length(self, key: str) -> int | None:
        """How many items an array has; null where there is none."""
        value = self.metadata.get(key)
        if isinstance(value, Skipped):
            return value.count
        return len(value) if isinstance(value, tuple) else None

    def remarks(self) -> list[str]:
        """What keeps llama-server from loading the model, though its header can be read."""
        found = []
        if self.missing_bytes:
            found.append(
                f"{self.path} is {self.missing_bytes:,} bytes shorter than its header says: the download is "
                "incomplete, and llama-server will not load it."
            )
        if self.big_endian:
            found.append(f"{self.path} is in big-endian byte order: llama-server loads it on such machines alone.")
        return found


def read_model(path: Path) -> ModelFile:
    """The model at `path`; of a split one any part may be named.

    Raises `GgufError` where a part is missing, can't be read, or is no part of this model.
    """
    paths = list(_parts(path))
    headers = [_part(part, path) for part in paths]
    first = headers[0]
    said = first.metadata.get("split.count")
    if isinstance(said, int) and said > 1 and said != len(paths):
        raise GgufError(
            f"{path} is one of {said} parts, but is not named like one: name it …-00001-of-{said:05}.gguf, beside the "
            "others, as llama-server needs it."
        )
    return ModelFile(
        path=path,
        metadata=first.metadata,
        tensors=tuple(tensor for header in headers for tensor in header.tensors),
        parts=len(paths),
        big_endian=first.big_endian,
        missing_bytes=sum(header.missing_bytes for header in headers),
    )


def _parts(path: Path) -> Iterator[Path]:
    split = _PART.fullmatch(path.name)
    if split is None:
        yield path
        return
    stem, count = split.group(1), int(split.group(3))
    if not 0 < count <= _MOST_PARTS:
        raise GgufError(f"{path} is named as one of {count} parts, which can't be.")
    for number in range(1, count + 1):
        yield path.with_name(f"{stem}-{number:05}-of-{count:05}.gguf")


def _part(part: Path, asked: Path) -> Header:
    if part != asked and asked.exists() and not part.exists():
        raise GgufError(f"{asked.name} is one part of a split model, and the part {part} is missing.")
    return read_header(part)
