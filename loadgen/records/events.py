"""The event file of a trial: one block of 5-byte entries a request, appended as the request ends.

Layout of an entry, little-endian: `u32` microseconds since the previous entry (the first since `send_ns`), `u8` kind
(1 content, 2 reasoning, 3 tool call) with bit 7 set where the event was the first of a socket read. A block has no
header: `RequestRecord.events_at` and `.token_events` say where it lies, so that a torn block is never read.
"""

import struct
from collections.abc import Iterator, Sequence

from loadgen.records.model import EventKind, TokenEvent
from loadgen.units import ns_to_us, us_to_ns

_ENTRY = struct.Struct("<IB")
ENTRY_BYTES = _ENTRY.size
_NEW_READ = 0x80
_CODES = {EventKind.CONTENT: 1, EventKind.REASONING: 2, EventKind.TOOL_CALL: 3}
_KINDS = {code: kind for kind, code in _CODES.items()}
_MAX_US = 0xFFFF_FFFF
"""71 minutes between two events: above every sensible deadline; longer gaps are capped."""


def pack_events(send_ns: int, events: Sequence[TokenEvent]) -> bytes:
    """The block of one request. Times are rounded to whole µs since `send_ns`, without adding up rounding errors."""
    out = bytearray()
    previous_us = 0
    for event in events:
        since_send_us = max(ns_to_us(event.at_ns - send_ns), previous_us)
        delta = min(since_send_us - previous_us, _MAX_US)
        out += _ENTRY.pack(delta, _CODES[event.kind] | (_NEW_READ if event.new_read else 0))
        previous_us = since_send_us
    return bytes(out)


def unpack_events(send_ns: int, block: bytes) -> Iterator[TokenEvent]:
    """The events of one block, at `send_ns` plus whole µs. Raises `ValueError` where the block is damaged."""
    if len(block) % ENTRY_BYTES:
        raise ValueError(f"an event block of {len(block)} bytes is no multiple of {ENTRY_BYTES}")
    at_us = 0
    for delta, code in _ENTRY.iter_unpack(block):
        at_us += delta
        kind = _KINDS.get(code & ~_NEW_READ)
        if kind is None:
            raise ValueError(f"unknown event kind {code & ~_NEW_READ} in an event file")
        yield TokenEvent(at_ns=send_ns + us_to_ns(at_us), kind=kind, new_read=bool(code & _NEW_READ))
