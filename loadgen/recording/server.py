"""The server of a recording: uvicorn, on a socket that is bound before anything else is done."""

import asyncio
import importlib.util
import ipaddress
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loadgen.errors import ExperimentError, UsageError

if TYPE_CHECKING:
    from loadgen.recording.proxy import Proxy

__all__ = ["Listen", "bound", "require", "serve"]

_KEEPALIVE_S = 75
"""An idle connection is closed after this time. Clients close theirs after some seconds by themselves: where the server
is first, a request may cross the end."""
_GRACE_S = 1
"""What answers that are under way have when the recording is stopped; then they are broken off."""
_LARGEST_PORT = 65535


@dataclass(frozen=True)
class Listen:
    """Where the proxy listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Listen":
        """Of `HOST:PORT`; port 0 is any that is free. Raises `ExperimentError` naming the option."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > _LARGEST_PORT:
            raise ExperimentError(f"--listen {text!r} is not HOST:PORT, such as 127.0.0.1:8089")
        return cls(host, int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def require(package: str = "uvicorn") -> None:
    """Do nothing where the server's package is installed. Raises `UsageError` that names the extra where it isn't."""
    if importlib.util.find_spec(package) is None:
        raise UsageError(f"loadgen record needs the package {package}: pip install 'loadgen[record]'")


def bound(listen: Listen) -> socket.socket:
    """A socket that listens there. Raises `UsageError` where it can't."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"can't listen on {listen.host}:{listen.port}: {reason}; name another with --listen") from None


async def serve(proxy: "Proxy", listening: socket.socket, stop: asyncio.Event, ready: Callable[[], None]) -> None:
    """Serve until `stop` is set; `ready` is called when requests are taken."""
    import uvicorn  # noqa: PLC0415 - an extra

    class Server(uvicorn.Server):
        """Leaves signals to the command: uvicorn would raise them again when it has ended."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    settings: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "critical"}
    config = uvicorn.Config(
        proxy,
        access_log=False,
        # The reply's own headers go through: none are added.
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEPALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
        **settings,
    )
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    ready()
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    await serving
    await proxy.ended()
