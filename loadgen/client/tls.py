"""The TLS settings of a client: which certificates it trusts."""

import ssl

from loadgen.client.endpoint import Endpoint
from loadgen.errors import ExperimentError


def client_context(endpoint: Endpoint, *, ca_file: str | None, insecure: bool) -> ssl.SSLContext:
    """One context for all connections to `endpoint`: the system's certificates, those of `ca_file` instead, or any.

    Raises `ExperimentError` where `ca_file` can't be used.
    """
    if insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if endpoint.scheme == "http" and endpoint.is_loopback:
        # Never used: reading the system's certificates takes longer than most calls.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        detail = (
            error.strerror if error.filename or not isinstance(error, ssl.SSLError) else "no PEM certificates in it"
        )
        raise ExperimentError(f"The CA file {ca_file!r} can't be used ({detail}); give a PEM file.") from None
