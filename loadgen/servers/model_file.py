"""Which model file a server on this machine serves: its size, and a digest that tells files apart."""

import hashlib
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from loadgen.client.endpoint import Endpoint
from loadgen.units import BYTES_PER_MIB

HEAD_BYTES = 16 * BYTES_PER_MIB
"""Holds the header of a GGUF file with a vocabulary of 262,144 tokens and its merges."""
TAIL_BYTES = BYTES_PER_MIB
"""Weights: they differ between models of one shape and vocabulary."""

_PART = re.compile(r"(.*)-\d{5}-of-(\d{5})\.gguf")


@dataclass(frozen=True)
class ModelFile:
    """Bytes of the file (of a split one, all parts), and the SHA-256 of size, head and tail of every part."""

    bytes: int
    digest: str


def identify(path: str, endpoint: Endpoint) -> ModelFile | None:
    """The model file at `path` of the server at `endpoint`; null unless the server and the file are on this machine.

    Reads 17 MiB a part at most. A relative path is taken from the directory that the server's process runs in.
    """
    if not endpoint.is_loopback:
        return None
    try:
        place = Path(path)
        if not place.is_absolute():
            directory = _directory(endpoint)
            if directory is None:
                return None
            place = Path(directory) / place
        return _digest(place)
    except (OSError, ValueError, psutil.Error):
        return None


def parts(path: Path) -> Iterator[Path]:
    """The parts of a split model (`…-00001-of-00003.gguf`), or the file itself."""
    split = _PART.fullmatch(path.name)
    if split is None:
        yield path
        return
    for number in range(1, int(split.group(2)) + 1):
        yield path.with_name(f"{split.group(1)}-{number:05}-of-{split.group(2)}.gguf")


def _digest(path: Path) -> ModelFile | None:
    digest = hashlib.sha256()
    total = 0
    for part in parts(path):
        status = part.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
        digest.update(status.st_size.to_bytes(8, "little"))
        with part.open("rb") as file:
            digest.update(file.read(HEAD_BYTES))
            file.seek(max(0, status.st_size - TAIL_BYTES))
            digest.update(file.read(TAIL_BYTES))
    return ModelFile(bytes=total, digest=digest.hexdigest())


def _directory(endpoint: Endpoint) -> str | None:
    """Where the process that listens at `endpoint` runs."""
    for connection in psutil.net_connections(kind="tcp"):
        port = getattr(connection.laddr, "port", None)
        if connection.status == psutil.CONN_LISTEN and port == endpoint.port and connection.pid is not None:
            return psutil.Process(connection.pid).cwd()
    return None
