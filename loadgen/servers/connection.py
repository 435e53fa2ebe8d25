"""How long a new connection to a server takes, and which of its addresses was tried first."""

import asyncio
import socket
import time
from dataclasses import dataclass

from loadgen.client.endpoint import Endpoint
from loadgen.units import ns_to_s

SLOW_S = 0.25
"""On one machine or network a connection takes milliseconds: above this, an address was tried that doesn't answer."""
LIMIT_S = 5.0
"""As long as a connection of a request may take."""


@dataclass(frozen=True)
class Connection:
    """Seconds to resolve the name and connect, and the addresses tried in order: the last one answered."""

    seconds: float
    tried: tuple[str, ...]


async def measure(endpoint: Endpoint, *, limit_s: float = LIMIT_S) -> Connection | None:
    """Open one TCP connection, as a request does, and close it; null where none comes about within `limit_s`."""
    loop = asyncio.get_running_loop()
    start = time.monotonic_ns()
    tried: list[str] = []
    try:
        async with asyncio.timeout(limit_s):
            found = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
            for family, kind, protocol, _, address in found:
                tried.append(str(address[0]))
                if await _answers(family, kind, protocol, address):
                    return Connection(ns_to_s(time.monotonic_ns() - start), tuple(tried))
    except (OSError, TimeoutError):
        pass
    return None


async def _answers(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> bool:
    with socket.socket(family, kind, protocol) as sock:
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, address)
        except OSError:
            return False
        return True
