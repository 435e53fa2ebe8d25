"""Token events survive the compact event file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.records.events import ENTRY_BYTES, pack_events, unpack_events
from loadgen.records.model import EventKind, TokenEvent

SEND_NS = 5_000_000_000


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.sampled_from(EventKind), st.booleans()), max_size=50),
)
def test_events_come_back_within_half_a_microsecond(raw: list[tuple[int, EventKind, bool]]) -> None:
    """Rounding to whole µs since the send time never adds up over events."""
    at, events = SEND_NS, []
    for gap, kind, new_read in raw:
        at += gap
        events.append(TokenEvent(at_ns=at, kind=kind, new_read=new_read))
    back = list(unpack_events(SEND_NS, pack_events(SEND_NS, events)))
    assert [(e.kind, e.new_read) for e in back] == [(e.kind, e.new_read) for e in events]
    assert all(abs(a.at_ns - b.at_ns) <= 500 for a, b in zip(events, back, strict=True))


def test_an_event_takes_five_bytes() -> None:
    """The event file stays far under 32 bytes a chunk."""
    event = TokenEvent(at_ns=SEND_NS + 1000, kind=EventKind.CONTENT, new_read=True)
    assert pack_events(SEND_NS, [event] * 3) == b"\x01\x00\x00\x00\x81" + b"\x00\x00\x00\x00\x81" * 2
    assert ENTRY_BYTES == 5


@given(st.binary(max_size=64))
def test_a_damaged_block_is_refused_or_read(block: bytes) -> None:
    """Junk gives a ValueError or events, never another exception."""
    try:
        events = list(unpack_events(SEND_NS, block))
    except ValueError:
        return
    assert len(events) == len(block) // ENTRY_BYTES


def test_an_unknown_kind_is_refused() -> None:
    """A kind that this version doesn't know is damage, not content."""
    with pytest.raises(ValueError, match="unknown event kind 7"):
        list(unpack_events(SEND_NS, b"\x00\x00\x00\x00\x07"))
