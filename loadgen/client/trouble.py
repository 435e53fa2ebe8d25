"""Why a connection failed: reads the chain of causes that an HTTP library leaves behind."""

import errno
import os
import socket
import ssl
from collections.abc import Iterator

_LOCAL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""Errors of our own machine: no descriptors, no buffers, no memory, no free local port. The server is not to blame."""


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, then everything that led to it, members of groups included."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from causes(member)
    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from causes(cause)


def local_errno(error: BaseException) -> int | None:
    """The error number where our own machine is at fault, else None."""
    for cause in causes(error):
        if isinstance(cause, OSError) and not isinstance(cause, socket.gaierror) and cause.errno in _LOCAL:
            return cause.errno
    return None


def reason(error: BaseException) -> str:
    """The system's word for the innermost error, such as `Connection refused`."""
    text = type(error).__name__
    for cause in causes(error):
        if isinstance(cause, socket.gaierror):
            text = cause.strerror or text
        elif isinstance(cause, OSError) and cause.errno:
            text = os.strerror(cause.errno)
    return text


def has_tls_error(error: BaseException) -> bool:
    """Whether TLS is what failed."""
    return any(isinstance(cause, ssl.SSLError) for cause in causes(error))


def tls_reason(error: BaseException) -> str:
    """What is wrong with the certificate or the handshake."""
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({cause.verify_message.rstrip('.')})"
        if isinstance(cause, ssl.SSLError) and cause.reason:
            return f"the TLS handshake failed ({cause.reason.replace('_', ' ').lower()})"
    return "the TLS handshake failed"
