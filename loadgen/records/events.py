"""The event file of a trial: one block of 5-byte entries a request, appended as the request ends.

Layout of an entry, little-endian: `u32` microseconds since the previous entry (the first since `send_ns`), `u8` kind
(1 content, 2 reasoning, 3 tool call) with bit 7 set where the event was the first of a socket read. A block has no
header: `RequestRecord.events_at` and `.token_events` say where it lies, so that a torn block is never read.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from loadgen.errors import RunFolderError
from loadgen.records.model import EventKind, RequestRecord, TokenEvent
from loadgen.units import ns_to_us, us_to_ns

_ENTRY = struct.Struct("<IB")
ENTRY_BYTES = _ENTRY.size
NEW_READ = 0x80
_CODES = {EventKind.CONTENT: 1, EventKind.REASONING: 2, EventKind.TOOL_CALL: 3}
KINDS = {code: kind for kind, code in _CODES.items()}
MAX_US = 0xFFFF_FFFF
"""71 minutes between two events: above every sensible deadline; longer gaps are capped."""


def pack_events(send_ns: int, events: Sequence[TokenEvent]) -> bytes:
    """The block of one request. Times are rounded to whole µs since `send_ns`, without adding up rounding errors."""
    out = bytearray()
    previous_us = 0
    for event in events:
        since_send_us = max(ns_to_us(event.at_ns - send_ns), previous_us)
        delta = min(since_send_us - previous_us, MAX_US)
        out += _ENTRY.pack(delta, _CODES[event.kind] | (NEW_READ if event.new_read else 0))
        previous_us = since_send_us
    return bytes(out)


def unpack_events(send_ns: int, block: bytes) -> Iterator[TokenEvent]:
    """The events of one block, at `send_ns` plus whole µs. Raises `ValueError` where the block is damaged."""
    if len(block) % ENTRY_BYTES:
        raise ValueError(f"an event block of {len(block)} bytes is no multiple of {ENTRY_BYTES}")
    at_us = 0
    for delta, code in _ENTRY.iter_unpack(block):
        at_us += delta
        kind = KINDS.get(code & ~NEW_READ)
        if kind is None:
            raise ValueError(f"unknown event kind {code & ~NEW_READ} in an event file")
        yield TokenEvent(at_ns=send_ns + us_to_ns(at_us), kind=kind, new_read=bool(code & NEW_READ))


class EventFiles:
    """Reads the token events of requests; keeps the event file of the last trial asked for in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._trial: str | None = None
        self._data = b""

    def __call__(self, request: RequestRecord) -> list[TokenEvent]:
        """The events of a request, none where it had none. Raises as `block` and `unpack_events` do."""
        return list(unpack_events(request.send_ns, self.block(request))) if request.send_ns is not None else []

    def block(self, request: RequestRecord) -> bytes:
        """The block of a request as it was written; empty where it had no events.

        Raises `RunFolderError` where the file is shorter than that.
        """
        if request.events_at is None or request.send_ns is None:
            return b""
        if request.trial != self._trial:
            path = self._folder / f"{request.trial}.bin"
            self._data = path.read_bytes() if path.is_file() else b""
            self._trial = request.trial
        block = self._data[request.events_at : request.events_at + request.token_events * ENTRY_BYTES]
        if len(block) != request.token_events * ENTRY_BYTES:
            raise RunFolderError(f"events/{request.trial}.bin is shorter than requests.jsonl says; the run is damaged")
        return block
