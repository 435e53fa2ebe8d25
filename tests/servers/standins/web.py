"""What the stand-in servers share: threads on loopback, JSON answers, keys, and passing a request on."""

import http.client
import json
import threading
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit


class Web:
    """A server on a free port of 127.0.0.1, from `with` on. Subclasses answer in `get` and `post`."""

    def __init__(self, key: str | None = None) -> None:
        self.key = key
        self.open_routes: tuple[str, ...] = ("/health",)
        self.seen: list[tuple[str, str]] = []
        web = self

        class Handler(Exchange):
            def do_GET(self) -> None:
                web.handle("GET", self)

            def do_POST(self) -> None:
                web.handle("POST", self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def handle(self, method: str, exchange: "Exchange") -> None:
        """Check the key and answer."""
        exchange.read()
        self.seen.append((method, exchange.path))
        keyless = self.key is None or exchange.route in self.open_routes
        if not keyless and exchange.headers["Authorization"] != f"Bearer {self.key}":
            exchange.fail(401, "Invalid API Key", "authentication_error")
        elif method == "GET":
            self.get(exchange)
        else:
            self.post(exchange)

    def get(self, exchange: "Exchange") -> None:
        """Answer a GET."""
        exchange.fail(404, "File Not Found", "not_found_error")

    def post(self, exchange: "Exchange") -> None:
        """Answer a POST."""
        exchange.fail(404, "File Not Found", "not_found_error")


class Exchange(BaseHTTPRequestHandler):
    """One request and its answer."""

    body: bytes
    asked: dict[str, Any]

    @property
    def route(self) -> str:
        """The path without its query."""
        return urlsplit(self.path).path

    def read(self) -> None:
        """Read the body; `asked` is its JSON object."""
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked = json.loads(self.body) if self.body else {}

    def say(self, value: Any, status: int = 200) -> None:
        """A whole answer: JSON, or text as it is."""
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(value, str) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, status: int, message: str, kind: str = "invalid_request_error") -> None:
        """An error as llama-server writes it."""
        self.say({"error": {"code": status, "message": message, "type": kind}}, status)

    def stream(self, *events: Any) -> None:
        """Server-sent events, ended by `[DONE]`."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in (*events, "[DONE]"):
            text = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"data: {text}\n\n".encode())

    def forward(self, address: str, path: str) -> None:
        """Pass the request on to another server and its answer back, piece by piece, while the client listens."""
        connection = http.client.HTTPConnection(urlsplit(address).netloc)
        with closing(connection), suppress(ConnectionError):
            connection.request(self.command, path, self.body or None, {"Content-Type": "application/json"})
            with connection.getresponse() as answer:
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.headers["Content-Type"] or "application/json")
                self.end_headers()
                while piece := answer.read1(65536):
                    self.wfile.write(piece)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""
