"""What came back: a whole reply, and the times of a streaming call."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    """A whole reply. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class CallTimes:
    """When the parts of a streaming call happened (ns, monotonic); None until they have.

    `connect_ns` is the duration of TCP and TLS connecting, None on a reused connection. `send_ns` is read just before
    the bytes are written on an open connection.
    """

    start_ns: int
    connect_ns: int | None = None
    send_ns: int | None = None
    send_done_ns: int | None = None
    headers_ns: int | None = None
