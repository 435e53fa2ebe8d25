"""A gateway that brings up a model's server when a request names it: llama-swap, or one without its own routes."""

import threading
import time
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from tests.servers.standins.llama import Backend
from tests.servers.standins.web import Exchange, Web


class Gateway(Web):
    """One model at a time (`together`: any number). `swaps` are the models that were brought up, in order.

    `llama_swap=False` has the list and the chat route alone. `unlisted` models can be asked for all the same.
    """

    def __init__(
        self,
        models: Mapping[str, Callable[[], Backend]],
        *,
        key: str | None = None,
        llama_swap: bool = True,
        together: bool = False,
        unlisted: tuple[str, ...] = (),
        limit: int = 10,
    ) -> None:
        super().__init__(key)
        self.models = models
        self.swaps: list[str] = []
        self.limit = limit
        self._llama_swap = llama_swap
        self._together = together
        self._unlisted = unlisted
        self._running: dict[str, Backend] = {}
        self._lock = threading.Lock()
        self._busy = 0

    @property
    def running(self) -> list[str]:
        """The models that run."""
        return list(self._running)

    def stop(self, name: str) -> None:
        """Stop a model's server, as an idle limit does."""
        self._running.pop(name).stop()

    def close(self) -> None:
        """Stop all servers."""
        super().close()
        for name in self.running:
            self.stop(name)

    def get(self, exchange: Exchange) -> None:
        """llama-swap's routes."""
        if exchange.route == "/v1/models":
            exchange.say({"data": [{"id": name} for name in self.models if name not in self._unlisted]})
        elif not self._llama_swap:
            super().get(exchange)
        elif exchange.route == "/health":
            exchange.say("OK")
        elif exchange.route == "/running":
            entries = self._running.items()
            exchange.say({"running": [{"model": n, "state": "ready", "cmd": " ".join(s.args)} for n, s in entries]})
        elif exchange.route.startswith("/upstream/"):
            self._upstream(exchange)
        else:
            super().get(exchange)

    def post(self, exchange: Exchange) -> None:
        """Chat, a model's own routes, and stopping one."""
        if exchange.route == "/v1/chat/completions":
            self._chat(exchange)
        elif self._llama_swap and exchange.route.startswith("/upstream/"):
            self._upstream(exchange)
        elif self._llama_swap and exchange.route.startswith("/api/models/unload/"):
            self.stop(unquote(exchange.route.removeprefix("/api/models/unload/")))
            exchange.say("OK")
        else:
            super().post(exchange)

    def _chat(self, exchange: Exchange) -> None:
        name = str(exchange.asked.get("model"))
        if name not in self.models:
            exchange.say({"error": f"could not find real modelID for {name}"}, 400)
            return
        with self._lock:
            self._busy += 1
            full = self._busy > self.limit
        if full:
            exchange.say({"error": "Too many requests"}, 429)
        elif (server := self._swapped(name)) is None:
            exchange.say({"error": "unable to start process: upstream command exited prematurely"}, 502)
        else:
            exchange.forward(server.address, exchange.path)
        with self._lock:
            self._busy -= 1

    def _upstream(self, exchange: Exchange) -> None:
        name, _, rest = unquote(exchange.path.removeprefix("/upstream/")).partition("/")
        server = self._swapped(name) if name in self.models else None
        if server is None:
            exchange.say("model id required in path", 400)
        else:
            exchange.forward(server.address, f"/{rest}")

    def _swapped(self, name: str) -> Backend | None:
        """The model's server, ready; null where it ends while loading."""
        with self._lock:
            if name in self._running:
                return self._running[name]
            for other in [] if self._together else self.running:
                self.stop(other)
            server = self.models[name]()
            while not server.ready() and server.exit_code() is None:
                time.sleep(0.001)
            if server.exit_code() is not None:
                server.stop()
                return None
            self.swaps.append(name)
            self._running[name] = server
            return server
