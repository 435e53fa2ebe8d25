"""Where a server is: scheme, host, port and path prefix, read from whatever spelling of its address a user gives."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from loadgen.errors import ExperimentError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_API_SEGMENT = "/v1"
"""Clients are often given the base URL of the API. Control routes lie beside it, so it is taken off here."""


@dataclass(frozen=True)
class Endpoint:
    """The root of one server. `prefix` is empty or starts with `/` and doesn't end with one."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @classmethod
    def parse(cls, text: str) -> "Endpoint":
        """Reads an address with or without scheme (http is assumed), `/v1`, trailing slash or path prefix.

        Raises `ExperimentError` where it is none, or holds a user, a password or a query.
        """
        stripped = text.strip()
        parts = _split(stripped if "://" in stripped else f"http://{stripped}")
        host, port = _host_and_port(parts)
        return cls(scheme=parts.scheme, host=host, port=port, prefix=_prefix(parts.path))

    def url(self, path: str) -> str:
        """The full URL of a path below the root, such as `/v1/models`."""
        return f"{self.label}{path}"

    @property
    def label(self) -> str:
        """Scheme, host, port and prefix, as reports show it. Never holds a key or a query."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine: 127.0.0.0/8, `::1` or `localhost`."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        user = parts.username is not None or parts.password is not None
    except ValueError:
        raise ExperimentError("The server address can't be read; write it as http://HOST:PORT.") from None
    if user:
        # The address itself isn't repeated here: it may hold a password.
        raise ExperimentError("The server address holds a user or password; give a key with --api-key-env instead.")
    if parts.query or parts.fragment or text.endswith(("?", "#")):
        raise ExperimentError("The server address holds a query or fragment; give only http://HOST:PORT and a path.")
    if parts.scheme not in _DEFAULT_PORTS:
        raise ExperimentError(f"The server address starts with {parts.scheme}://; use http:// or https://.")
    return parts


def _host_and_port(parts: SplitResult) -> tuple[str, int]:
    host = parts.hostname or ""
    try:
        port = parts.port
        if ":" in host:
            ipaddress.ip_address(host)
    except ValueError:
        raise ExperimentError(f"{parts.netloc!r} is no HOST:PORT; a port is a number from 1 to 65535.") from None
    if not host or port == 0 or any(c.isspace() or not c.isprintable() for c in parts.netloc + parts.path):
        raise ExperimentError(f"{parts.geturl()!r} is no server address; write it as http://HOST:PORT.")
    return host, port if port is not None else _DEFAULT_PORTS[parts.scheme]


def _prefix(path: str) -> str:
    segments = [segment for segment in path.split("/") if segment]
    joined = "".join(f"/{segment}" for segment in segments)
    return joined.removesuffix(_API_SEGMENT) if segments and segments[-1] == "v1" else joined
