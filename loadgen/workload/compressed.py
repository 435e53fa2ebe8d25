"""Files that may be compressed: opened by what they hold (gzip, zstd), whatever they are called."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from loadgen.errors import WorkloadError

__all__ = ["Source", "opened"]

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
"""Bytes read at once."""
_LARGEST_WINDOW = 1 << 31
"""Bytes of a zstd window: what `zstd --long=31`, the longest, writes. The library's own limit is 128 MiB."""


class Source(io.BufferedReader):
    """Unpacked bytes, which end where the packed ones are cut off or damaged: `damage` says then what is wrong."""

    def __init__(self, packed: Any) -> None:
        self._reading = _Reading(packed)
        super().__init__(self._reading, _CHUNK)

    @property
    def damage(self) -> str | None:
        """Why it ended before its end; null where it didn't."""
        return self._reading.damage


class _Reading(io.RawIOBase):
    def __init__(self, packed: Any) -> None:
        self._packed = packed
        self.damage: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data: bytes = self._packed.read1(len(buffer))
        except EOFError:
            self.damage = "its compressed data ends too early"
            return 0
        except (OSError, zlib.error) as error:
            self.damage = f"its data is damaged ({error})"
            return 0
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """The bytes of a file, unpacked. A pipe will do: nothing is read twice.

    Raises `WorkloadError` where it can't be opened, or needs a package that isn't there.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb"))
            magic = file.peek(len(_ZSTD))
        except OSError as error:
            raise WorkloadError(f"{path} can't be read: {error.strerror or error}.") from None
        if magic.startswith(_GZIP):
            yield Source(stack.enter_context(gzip.GzipFile(fileobj=file)))
        elif magic.startswith(_ZSTD):
            yield Source(io.BufferedReader(_Zstd(file, path), _CHUNK))
        else:
            yield Source(file)


class _Zstd(io.RawIOBase):
    """The unpacked bytes of a file of zstd frames.

    `zstandard.open` stops after the first frame and takes a frame that is cut off for a whole one; this doesn't.
    """

    def __init__(self, file: IO[bytes], path: Path) -> None:
        try:
            import zstandard  # noqa: PLC0415 - an extra
        except ImportError:
            raise WorkloadError(
                f"{path} is compressed with zstd: pip install 'loadgen[workloads]', or unpack it (zstd -d)."
            ) from None
        self._file = file
        self._unpacker = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
        self._wrong: type[Exception] = zstandard.ZstdError
        self._frame: Any = None
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._file.read(_CHUNK)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError
                return 0
            self._unpack()
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _unpack(self) -> None:
        frame = self._frame or self._unpacker.decompressobj()
        try:
            self._ready = memoryview(frame.decompress(self._packed))
        except self._wrong as error:
            raise OSError(str(error)) from None
        self._packed = frame.unused_data if frame.eof else b""
        self._frame = None if frame.eof else frame
