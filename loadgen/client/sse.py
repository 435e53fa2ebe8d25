"""Server-sent events, read piece by piece as the bytes come in: nothing of the payloads is decoded here.

Follows the event stream format of the HTML standard (comments, BOM, LF, CRLF and lone CR, several `data` lines), with
two additions that real servers need: `[DONE]` counts even without the blank line behind it, and the `error: {…}` field
of older llama-server builds is handed on as a payload `{"error": {…}}`.
"""

MAX_EVENT_BYTES = 16 << 20
"""One event of llama-server is some hundred bytes; a whole reasoning trace or tool call in one event stays below a few
MiB. Above 16 MiB the peer sends no events, and memory must not grow with it."""

DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"
_END = b"\n\n"
_PLAIN = b"data: "
_MAX_DONE_TAIL = 64
"""A pending tail longer than this can't be `data: [DONE]` alone, so it isn't looked at."""


class SseError(Exception):
    """The bytes are no usable event stream."""


class SseParser:
    """Turns the pieces of one body into event payloads, however the pieces were cut.

    `feed` gives the payloads that a piece completed: each has the arrival time of that piece.
    """

    def __init__(self) -> None:
        self._tail = bytearray()
        self._start: bytes | None = b""
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads completed by `data`, in their order. Raises `SseError` above `MAX_EVENT_BYTES` for one event."""
        if self._start is not None:
            data = self._without_bom(data)
        if self._after_cr or b"\r" in data:
            data = self._with_line_feeds(data)
        if not self._tail and data.endswith(_END):
            return _payloads(data)
        return self._feed_partial(data)

    def close(self) -> list[bytes]:
        """The payload that was begun when the body ended, if any: the caller decides whether it is whole."""
        rest = (self._start or b"") + bytes(self._tail)
        self._tail.clear()
        self._start = None
        return _payloads(rest)

    def _feed_partial(self, data: bytes) -> list[bytes]:
        tail = self._tail
        # The last pending byte belongs to the search: a blank line may be cut between its two line feeds.
        search_from = max(len(tail) - 1, 0)
        tail += data
        cut = tail.rfind(_END, search_from)
        payloads: list[bytes] = []
        if cut >= 0:
            payloads = _payloads(bytes(tail[: cut + 2]))
            del tail[: cut + 2]
        if len(tail) > MAX_EVENT_BYTES:
            tail.clear()
            raise SseError(f"one event is longer than {MAX_EVENT_BYTES >> 20} MiB")
        if tail and len(tail) <= _MAX_DONE_TAIL and _payloads(bytes(tail)) == [DONE]:
            tail.clear()
            payloads.append(DONE)
        return payloads

    def _without_bom(self, data: bytes) -> bytes:
        head = (self._start or b"") + data
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._start = head
            return b""
        self._start = None
        return head.removeprefix(_BOM)

    def _with_line_feeds(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _payloads(text: bytes) -> list[bytes]:
    """The payloads of whole events that are split by blank lines."""
    found: list[bytes] = []
    for block in text.split(_END):
        if block.startswith(_PLAIN) and b"\n" not in block:
            found.append(block[6:])
        elif block:
            payload = _payload_of_lines(block)
            if payload is not None:
                found.append(payload)
    return found


def _payload_of_lines(block: bytes) -> bytes | None:
    values: list[bytes] = []
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            values.append(value)
        elif name == b"error" and value.startswith(b"{"):
            values.append(b'{"error":' + value + b"}")
    return b"\n".join(values) if values else None
