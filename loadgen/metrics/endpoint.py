"""The route `/metrics`: answers scrapes in threads of its own, so that a slow scraper keeps nobody waiting."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client.exposition import ThreadingWSGIServer

from loadgen.metrics.address import Address
from loadgen.metrics.exposition import OPENMETRICS, PLAIN, Exposition
from loadgen.metrics.store import Store


class EndpointError(Exception):
    """Metrics can't be served there. The message says why and what to do."""


class Endpoint:
    """Serves a store until it is closed."""

    def __init__(self, server: ThreadingWSGIServer, address: Address) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        self._thread.start()
        self.address = address

    @classmethod
    def open(cls, address: Address, store: Store) -> "Endpoint":
        """Serve at an address. Raises `EndpointError`."""
        try:
            (family, _, _, _, _), *_ = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
            kind = _Server if family is socket.AF_INET else _Server6
            server = make_server(address.host, address.port, _app(Exposition(store)), kind, _Silent)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise EndpointError(
                f"metrics can't be served at {address} ({why}); name another --metrics address"
            ) from None
        return cls(server, Address(address.host, server.server_port))

    @property
    def url(self) -> str:
        """Where to scrape."""
        return f"http://{self.address}/metrics"

    def close(self) -> None:
        """Answer nobody any more. A scrape that is being answered is finished by its own thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingWSGIServer):
    def server_bind(self) -> None:
        """Bind without asking the name service what this machine is called, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Scrapes are no news."""


def _app(exposition: Exposition) -> Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]:
    """The page in the format that is asked for; with `?name[]=…` only these samples. Any path will do."""

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            start_response("405 Method Not Allowed", [("Allow", "GET, HEAD")])
            return [b""]
        openmetrics = "application/openmetrics-text" in environ.get("HTTP_ACCEPT", "")
        names = parse_qs(environ.get("QUERY_STRING", "")).get("name[]", [])
        body = exposition.text(openmetrics=openmetrics, names=frozenset(names)).encode("utf-8", "replace")
        start_response("200 OK", [("Content-Type", OPENMETRICS if openmetrics else PLAIN)])
        return [body]

    return app
