"""Which model file a server serves."""

import hashlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadgen.client.endpoint import Endpoint
from loadgen.servers.model_file import HEAD_BYTES, TAIL_BYTES, identify

HERE = Endpoint.parse("127.0.0.1:1")


@pytest.fixture
def listening() -> Iterator[Endpoint]:
    """A port of this process."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Endpoint.parse(f"127.0.0.1:{server.getsockname()[1]}")


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    """The digest covers the size, the head and the tail: of a small file both are all of it."""
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF weights")
    found = identify(str(path), HERE)
    assert found is not None
    expected = hashlib.sha256((12).to_bytes(8, "little") + b"GGUF weights" * 2).hexdigest()
    assert (found.bytes, found.digest) == (12, expected)


def test_head_and_tail_of_a_large_file_count(tmp_path: Path) -> None:
    """A change in the header or in the last weights shows, one between them doesn't."""
    size = HEAD_BYTES + 2 * TAIL_BYTES
    digests = []
    for number, at in enumerate((None, 0, HEAD_BYTES + 1, size - 1)):
        path = tmp_path / f"{number}.gguf"
        with path.open("wb") as file:
            file.truncate(size)
            if at is not None:
                file.seek(at)
                file.write(b"x")
        found = identify(str(path), HERE)
        assert found is not None
        assert found.bytes == size
        digests.append(found.digest)
    assert [digest == digests[0] for digest in digests] == [True, False, True, False]


def test_a_split_model_is_all_of_its_parts(tmp_path: Path) -> None:
    """Bytes are summed; a part that is missing makes the whole unknown."""
    parts = [tmp_path / f"m-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for part in parts:
        part.write_bytes(b"12345")
    found = identify(str(parts[0]), HERE)
    assert found is not None
    assert found.bytes == 15
    parts[2].write_bytes(b"12346")
    changed = identify(str(parts[0]), HERE)
    assert changed is not None
    assert changed.digest != found.digest
    parts[1].unlink()
    assert identify(str(parts[0]), HERE) is None


def test_a_relative_path_is_taken_from_the_servers_directory(listening: Endpoint) -> None:
    """The process that listens there is asked where it runs; nobody listening, nothing is known."""
    path = os.path.relpath(__file__)
    found = identify(path, listening)
    assert found is not None
    assert found.bytes == Path(__file__).stat().st_size
    assert identify(path, HERE) is None


def test_what_is_no_file_of_this_machine_is_unknown(tmp_path: Path) -> None:
    """A remote server's path means another machine; a folder, a pipe or a missing file is no model."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert identify(__file__, Endpoint.parse("10.0.0.1:1")) is None
    for path in (tmp_path, tmp_path / "none", pipe, "/bad\0path"):
        assert identify(str(path), HERE) is None
