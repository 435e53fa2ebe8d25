"""Server-sent events, however they are spelled and cut."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadgen.client.sse import MAX_EVENT_BYTES, SseError, SseParser

TRANSCRIPT = (
    'data: {"c":"\u2713\U0001f44d"}\n\n: keepalive\n\ndata: {"c":" "}\n\n'
    'data: {"c":"a\\n\\nb"}\n\ndata: {"u":1}\n\ndata: [DONE]\n\n'
).encode()
PAYLOADS = ['{"c":"\u2713\U0001f44d"}'.encode(), b'{"c":" "}', b'{"c":"a\\n\\nb"}', b'{"u":1}', b"[DONE]"]


def parse(*pieces: bytes) -> list[bytes]:
    """All payloads of the pieces, the end included."""
    parser = SseParser()
    return [payload for piece in pieces for payload in parser.feed(piece)] + parser.close()


def test_comments_are_no_events() -> None:
    """Colon-only pings, comments and blank lines between them give nothing."""
    assert parse(b":\n\n:\n\n: keepalive\n\n\n\ndata: a\n\n:\n\n") == [b"a"]


def test_every_single_split_gives_the_same_payloads() -> None:
    """A stream cut in two at any byte reads like the whole."""
    for cut in range(len(TRANSCRIPT) + 1):
        assert parse(TRANSCRIPT[:cut], TRANSCRIPT[cut:]) == PAYLOADS


def test_one_byte_per_piece_gives_the_same_payloads() -> None:
    """A stream that comes byte by byte reads like the whole, inside characters too."""
    assert parse(*(bytes([byte]) for byte in TRANSCRIPT)) == PAYLOADS


@given(end=st.sampled_from([b"\n", b"\r\n", b"\r"]), cuts=st.lists(st.integers(0, 400), max_size=12), bom=st.booleans())
def test_any_split_and_any_line_end_gives_the_same_payloads(end: bytes, cuts: list[int], bom: bool) -> None:
    """LF, CRLF and lone CR, with or without BOM, cut anywhere, are one stream."""
    stream = (b"\xef\xbb\xbf" if bom else b"") + TRANSCRIPT.replace(b"\n", end)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert parse(*(stream[a:b] for a, b in pairwise(edges))) == PAYLOADS


@given(
    events=st.lists(st.lists(st.text("ab :{}\u00e9", max_size=6), min_size=1, max_size=3), max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=8),
)
def test_lines_of_one_event_are_joined(events: list[list[str]], cuts: list[int]) -> None:
    """Several data lines are one payload with line feeds between them, and one leading blank is dropped."""
    stream = b"".join(b"".join(f"data: {line}\n".encode() for line in lines) + b"\n" for lines in events)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    expected = ["\n".join(lines).encode() for lines in events]
    assert parse(*(stream[a:b] for a, b in pairwise(edges))) == expected


def test_a_cut_inside_crlf_gives_no_extra_event() -> None:
    """CR at the end of one piece and LF at the start of the next are one line end."""
    assert parse(b"data:a\r", b"\n\r", b"\ndata:b\r\n\r", b"\n") == [b"a", b"b"]


def test_a_lone_cr_ends_an_event_at_once() -> None:
    """With lone CR the event is complete at the second CR, not one event later."""
    parser = SseParser()
    assert parser.feed(b"data: a\r\r") == [b"a"]


def test_only_one_blank_after_the_colon_is_dropped() -> None:
    """`data:x`, `data: x` and `data:  x` differ by the blanks that belong to the payload."""
    assert parse(b"data:x\n\ndata: x\n\ndata:  x\n\n") == [b"x", b"x", b" x"]


def test_other_fields_are_ignored() -> None:
    """event, id, retry and unknown fields change no payload."""
    assert parse(b"event: m\nid: 7\nretry: 9\nfoo\ndata: a\n\nevent: only\n\n") == [b"a"]


def test_done_needs_no_line_end() -> None:
    """[DONE] counts as soon as its bytes are there, at the end of the body or before a connection that stays open."""
    assert parse(b"data: a\n\ndata: [DONE]") == [b"a", b"[DONE]"]
    parser = SseParser()
    assert parser.feed(b"data: [DO") == []
    assert parser.feed(b"NE]") == [b"[DONE]"]
    assert parser.feed(b"\n\n") == []
    assert parser.close() == []
    assert SseParser().feed(b"data:[DONE]\r\n") == [b"[DONE]"]


def test_an_event_is_given_with_the_piece_that_completes_it() -> None:
    """Payloads come out of the call that brought their last byte, so they take its arrival time."""
    parser = SseParser()
    assert parser.feed(b"data: a\n\ndata: b\n") == [b"a"]
    assert parser.feed(b"\ndata: c") == [b"b"]
    assert parser.feed(b"\n\n") == [b"c"]


def test_what_was_begun_at_the_end_is_handed_out_by_close() -> None:
    """An event without its blank line isn't lost; whether it is whole is for the caller to say."""
    parser = SseParser()
    assert parser.feed(b'data: {"a":1}') == []
    assert parser.close() == [b'{"a":1}']
    assert parser.close() == []


def test_an_event_of_one_mebibyte_passes() -> None:
    """Long lines are no error: one event of 1 MiB in pieces of 64 KiB comes out whole."""
    payload = b"x" * (1 << 20)
    stream = b"data: " + payload + b"\n\n"
    assert parse(*(stream[at : at + 65536] for at in range(0, len(stream), 65536))) == [payload]


def test_an_endless_line_fails_at_the_cap() -> None:
    """One event above 16 MiB is refused, and no more than the cap and one piece were ever held."""
    parser = SseParser()
    piece = b"x" * (1 << 20)
    for _ in range(MAX_EVENT_BYTES // len(piece)):
        assert parser.feed(piece) == []
    with pytest.raises(SseError, match="16 MiB"):
        parser.feed(piece)
    assert parser.close() == []


def test_error_fields_of_older_servers_become_error_payloads() -> None:
    """Older llama-server builds name the field `error`; its object is handed on in the newer form."""
    assert parse(b'error: {"code":500,"message":"m"}\n\n') == [b'{"error":{"code":500,"message":"m"}}']
