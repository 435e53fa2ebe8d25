"""llama-server's router: presets that are loaded and unloaded by its API, one server each."""

import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers.standins.llama import Backend
from tests.servers.standins.web import Exchange, Web


class Router(Web):
    """A load is answered at once and goes on in the background; above `models_max` the oldest is unloaded.

    `orders` are the loads and unloads that were asked for, in order.
    """

    def __init__(
        self, presets: Mapping[str, Callable[[], Backend]], *, models_max: int = 1, key: str | None = None
    ) -> None:
        super().__init__(key)
        self.open_routes = ("/health", "/models", "/v1/models")
        self.presets = presets
        self.models_max = models_max
        self.orders: list[str] = []
        self.sleeping: set[str] = set()
        self._running: dict[str, Backend] = {}
        self._exit_codes: dict[str, int] = {}
        self._lock = threading.RLock()

    def load(self, name: str) -> None:
        """Start a preset's server, as any client may."""
        with self._lock:
            while len(self._running) >= self.models_max:
                self.unload(next(iter(self._running)))
            self._exit_codes.pop(name, None)
            self._running[name] = self.presets[name]()

    def unload(self, name: str) -> None:
        """Stop a preset's server."""
        with self._lock:
            self.sleeping.discard(name)
            if name in self._running:
                self._running.pop(name).stop()

    def statuses(self) -> dict[str, str]:
        """Of all presets. Looking lets imitations go on loading."""
        return {name: self._status(name)["value"] for name in self.presets}

    def close(self) -> None:
        """Stop all servers."""
        super().close()
        for name in self.presets:
            self.unload(name)

    def get(self, exchange: Exchange) -> None:
        """The list, or a control route of one preset."""
        if exchange.route == "/health":
            exchange.say({"status": "ok"})
        elif exchange.route in ("/models", "/v1/models"):
            exchange.say({"data": [{"id": name, "status": self._status(name)} for name in self.presets]})
        else:
            self._pass_on(exchange, parse_qs(urlsplit(exchange.path).query).get("model", [None])[0])

    def post(self, exchange: Exchange) -> None:
        """An order, or a request for one preset."""
        name = exchange.asked.get("model")
        if exchange.route in ("/models/load", "/models/unload"):
            self._order(exchange, exchange.route.removeprefix("/models/"), name)
        else:
            self._pass_on(exchange, name)

    def _order(self, exchange: Exchange, what: str, name: Any) -> None:
        self.orders.append(f"{what} {name}")
        if name not in self.presets:
            exchange.fail(404 if what == "load" else 400, "model is not found")
        elif (what == "load") == (name in self._running):
            exchange.fail(400, "model is already running" if what == "load" else "model is not running")
        else:
            (self.load if what == "load" else self.unload)(name)
            exchange.say({"success": True})

    def _status(self, name: str) -> dict[str, Any]:
        with self._lock:
            server = self._running.get(name)
            if server is not None and server.exit_code() is not None:
                self._exit_codes[name] = server.exit_code() or 0
                self.unload(name)
            elif server is not None:
                value = "sleeping" if name in self.sleeping else "loaded" if server.ready() else "loading"
                return {"value": value, "args": server.args}
            failed = {"failed": True, "exit_code": self._exit_codes[name]} if name in self._exit_codes else {}
            return {"value": "unloaded", **failed}

    def _pass_on(self, exchange: Exchange, name: Any) -> None:
        server = self._running.get(name)
        if name is None:
            exchange.fail(400, "model name is missing from the request")
        elif name not in self.presets:
            exchange.fail(400, f"model '{name}' not found")
        elif server is None or not server.ready():
            exchange.fail(400, "model is not loaded")
        else:
            exchange.forward(server.address, exchange.path)
