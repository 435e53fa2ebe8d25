"""How a call to a server can fail below the level of its reply.

    TransportError
    ├── ConnectFailedError      no connection: refused, unknown name, or not within the connect deadline
    ├── TlsFailedError          TCP is up, but the certificate or the TLS handshake is not acceptable
    ├── ConnectionLostError     the peer closed or reset the connection before the reply was whole
    ├── MalformedReplyError     what came back is no HTTP, or more of it than any reply of this kind
    ├── TransportTimeoutError   a `get` or `post` was not answered in its time
    └── LocalTroubleError       our own machine: no file descriptor, port or memory left, an unusable request

Messages are one line and hold neither keys nor bodies.
"""


class TransportError(Exception):
    """The root: a call ended without a whole reply."""


class ConnectFailedError(TransportError):
    """No connection could be opened."""


class TlsFailedError(TransportError):
    """The certificate or the TLS handshake failed."""


class ConnectionLostError(TransportError):
    """The peer closed or reset the connection before the reply was whole."""


class MalformedReplyError(TransportError):
    """What came back is no HTTP, or too much."""


class TransportTimeoutError(TransportError):
    """No reply within the time given."""


class LocalTroubleError(TransportError):
    """Our own machine could not make the call."""
