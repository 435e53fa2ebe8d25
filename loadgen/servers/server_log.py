"""The last load in the log of a server that loadgen did not start: of a file, a unit's journal or a container.

What is read is bounded: of a file the end is searched backwards for the line with which the last load begins, what a
program prints is looked through as it comes, and of either only the beginning of that load is kept.
"""

import asyncio
import os
import shutil
import stat
from pathlib import Path

from loadgen.experiment.server_log import ServerLog
from loadgen.servers.loadlog import begins_load
from loadgen.units import BYTES_PER_GIB, BYTES_PER_MIB

KEPT_BYTES = 16 * BYTES_PER_MIB
"""Of a load, from its first line: a server at `-lv 5` prints 1 MiB, and others may print in between."""
SEARCHED_BYTES = 4 * BYTES_PER_GIB
"""How far back a file is searched, which takes seconds: so much a busy server prints at `-lv 4` in days."""
ENDS_WITHIN_S = 60.0
"""journalctl reads some 100,000 lines a second; a journal that takes longer than this is given up."""

_BLOCK_BYTES = BYTES_PER_MIB
_LINE_BYTES = 1 << 16
"""Lines in which a load begins are shorter, path of the model included."""
_MARK = b"loading model"
_SAID_BYTES = 4096
_SAID_CHARACTERS = 200
_NO_ENTRIES = "-- No entries --"


class LogError(Exception):
    """A log can't be read. The message is a half-sentence: why."""


async def read_last_load(
    source: ServerLog, *, port: int | None = None, path: str | None = None, within_s: float = ENDS_WITHIN_S
) -> str:
    """What a server printed from the beginning of its last load on, `KEPT_BYTES` at most.

    Where no line begins a load, it is the beginning of the log.

    Args:
        source: the log.
        port: of a router's log, the server on this port.
        path: where programs are looked for; null: as the environment says.
        within_s: seconds after which a program is ended.

    Raises `LogError`.
    """
    match source.kind:
        case "file":
            kept = await asyncio.to_thread(_of_file, file_of(source), port)
        case "journal":
            words = ("journalctl", "-u", source.name, "-o", "cat", "--no-pager")
            kept = await _of_program(words, port, path, within_s)
            if kept.strip() == _NO_ENTRIES.encode():
                raise LogError(f"the journal has no entries of the unit {source.name} that may be read here")
        case "docker":
            kept = await _of_program(("docker", "logs", source.name), port, path, within_s)
    return kept.decode("utf-8", errors="replace")


def file_of(source: ServerLog) -> Path:
    """The path of a log that is a file."""
    return Path(source.name).expanduser()


def _of_file(path: Path, port: int | None) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would never end
            raise LogError(f"{path} is no file")
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            begin, end = None, size
            while begin is None and end > max(0, size - SEARCHED_BYTES):
                start = max(0, end - _BLOCK_BYTES)
                file.seek(start)
                # A line that the end of this block cuts is whole in the block with what follows.
                begin = _last_load(file.read(end - start + _LINE_BYTES), port, is_begin=start == 0)
                begin = None if begin is None else start + begin
                end = start
            if begin is None and end > 0:
                raise LogError(f"no load begins in the last {SEARCHED_BYTES // BYTES_PER_GIB} GiB of {path}")
            file.seek(begin or 0)
            return file.read(KEPT_BYTES)
    except (OSError, ValueError) as error:
        raise LogError(f"{path} can't be read: {getattr(error, 'strerror', None) or error}") from None


def _last_load(block: bytes, port: int | None, *, is_begin: bool) -> int | None:
    """Where the last line begins that begins a load; a line of which the block may lack the beginning is no such."""
    at = len(block)
    while (at := block.rfind(_MARK, 0, at)) >= 0:
        begin = block.rfind(b"\n", 0, at) + 1
        if begin == 0 and not is_begin:
            return None
        if begins_load(block[begin : at + len(_MARK)].decode("utf-8", errors="replace"), port):
            return begin
    return None


class _LastLoad:
    """Keeps the beginning of the last load of what is printed, piece by piece."""

    def __init__(self, port: int | None) -> None:
        self.kept = bytearray()
        self.said = b""
        self._port = port
        self._line = b""

    def take(self, piece: bytes, *, is_last: bool = False) -> None:
        """Look at the whole lines; a line that goes on for too long is cut."""
        self.said = (self.said + piece)[-_SAID_BYTES:]
        text = self._line + piece
        cut = len(text) if is_last or len(text) > _BLOCK_BYTES else text.rfind(b"\n") + 1
        whole, self._line = text[:cut], text[cut:]
        begin = _last_load(whole, self._port, is_begin=True)
        if begin is not None:
            self.kept = bytearray()
        self.kept += whole[begin or 0 :][: KEPT_BYTES - len(self.kept)]

    @property
    def last_words(self) -> str:
        """The last line, cut."""
        lines = self.said.decode("utf-8", errors="replace").strip().splitlines() or ["it said nothing"]
        return " ".join(lines[-1].split())[:_SAID_CHARACTERS]


async def _of_program(words: tuple[str, ...], port: int | None, path: str | None, within_s: float) -> bytes:
    """What a program prints, its errors included: `docker logs` hands on both channels of the container."""
    program = shutil.which(words[0], path=path)
    if program is None:
        raise LogError(f"the program {words[0]} is not found")
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *words[1:],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise LogError(f"{words[0]} can't be started: {error.strerror}") from None
    load = _LastLoad(port)
    try:
        async with asyncio.timeout(within_s):
            while piece := await process.stdout.read(_LINE_BYTES):  # type: ignore[union-attr] # a pipe was asked for
                load.take(piece)
            code = await process.wait()
    except TimeoutError:
        raise LogError(f"{words[0]} takes longer than {within_s:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    load.take(b"", is_last=True)
    if code != 0:
        raise LogError(f"{words[0]} ended with {code}: {load.last_words}")
    return bytes(load.kept)
