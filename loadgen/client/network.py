"""Connections whose reads carry the time at which their bytes arrived: by the kernel where it tells, else by us.

Linux stamps every packet that it receives (`SO_TIMESTAMPNS`). A reader that runs late, because its event loop is busy
or the machine has given its core to others, then still learns when the bytes came, to some ten microseconds, and how
late it was itself: the receive lag. Over TLS and through proxies bytes can't be told apart by packet; there the time
is read when they reach Python.

The stamp of a read is that of its last byte. When two answers' bytes wait in the socket at once, the earlier ones get
the later time: an error of at most the receive lag.
"""

import asyncio
import select
import socket
import ssl
import struct
import sys
import time
from array import array
from collections.abc import Iterable
from typing import Any

import httpcore

from loadgen.units import NS_PER_S

_SO_TIMESTAMPNS = 35
"""Linux's number on every architecture that llama.cpp runs on; Python has no name for it."""
_TIMESPEC = struct.Struct("@qq")
_CONTROL_BYTES = 64
"""Room for one control message with a timespec (32 bytes on 64-bit Linux)."""
_MAX_LAG_NS = 10 * NS_PER_S
"""A stamp from the future, or this old, says that the wall clock was stepped in between: then our own time counts."""

_CORES_APART_NS = 100_000
"""Clocks of two cores of a virtual machine differ by microseconds: a stamp from so little ahead means no lag."""

KERNEL_STAMPS = sys.platform == "linux" and sys.maxsize > 1 << 32


class LagMeter:
    """Receive lags of all connections of one transport, in ns: how long bytes had lain in the socket when read."""

    def __init__(self) -> None:
        self._lags = array("q")

    def add(self, lag_ns: int) -> None:
        """One read."""
        self._lags.append(lag_ns)

    def take(self) -> list[int]:
        """The lags since the last call, in order of the reads."""
        lags = self._lags.tolist()
        self._lags = array("q")
        return lags


class StampedStream(httpcore.AsyncNetworkStream):
    """A connection of httpcore's whose last read is stamped when it returns."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self.read_at_ns = 0
        """Arrival of the bytes of the last read (monotonic)."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Up to `max_bytes`; empty at the end of the stream."""
        data = await self._inner.read(max_bytes, timeout)
        self.read_at_ns = time.monotonic_ns()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write everything."""
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """The same connection, encrypted from now on."""
        return StampedStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks of a connection."""
        return self._inner.get_extra_info(info)


class KernelStampedStream(StampedStream):
    """A plain TCP connection, read with the kernel's stamps."""

    def __init__(self, sock: socket.socket, meter: LagMeter) -> None:
        self._sock = sock
        self._meter = meter
        self.read_at_ns = 0
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Up to `max_bytes`; empty at the end of the stream."""
        try:
            async with asyncio.timeout(timeout):
                while True:
                    try:
                        return self._receive(max_bytes)
                    except (BlockingIOError, InterruptedError):
                        await self._readable()
        except TimeoutError as error:
            raise httpcore.ReadTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    def _receive(self, max_bytes: int) -> bytes:
        data, control, _, _ = self._sock.recvmsg(max_bytes, _CONTROL_BYTES)
        self.read_at_ns = time.monotonic_ns()
        if data and control and len(control[0][2]) == _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack(control[0][2])
            # Both clocks are read here, so that a step of the wall clock can spoil this read only.
            lag_ns = time.time_ns() - (seconds * NS_PER_S + nanoseconds)
            if -_CORES_APART_NS <= lag_ns <= _MAX_LAG_NS:
                lag_ns = max(lag_ns, 0)
                self._meter.add(lag_ns)
                self.read_at_ns -= lag_ns
        return data

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._sock, _wake, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._sock)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write everything. The head of a POST waits in the kernel for its body, so that both leave together.

        Two writes are two packets, two wake-ups of the server, and on a virtual machine a millisecond more in which
        this process reads nobody else's tokens.
        """
        try:
            async with asyncio.timeout(timeout):
                if buffer.startswith(b"POST "):
                    buffer = buffer[self._send_with_more(buffer) :]
                if buffer:
                    await asyncio.get_running_loop().sock_sendall(self._sock, buffer)
        except TimeoutError as error:
            raise httpcore.WriteTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def _send_with_more(self, head: bytes) -> int:
        try:
            return self._sock.send(head, socket.MSG_MORE)
        except (BlockingIOError, InterruptedError):
            return 0

    async def aclose(self) -> None:
        """Close the connection."""
        self._sock.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,  # noqa: ARG002 - httpcore's signature
        server_hostname: str | None = None,  # noqa: ARG002 - httpcore's signature
        timeout: float | None = None,  # noqa: ARG002 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        """Never asked for: encrypted targets get another kind of connection."""
        raise httpcore.UnsupportedProtocol("a connection with kernel stamps can't be encrypted")

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks of a connection."""
        match info:
            case "socket":
                return self._sock
            case "client_addr":
                return self._sock.getsockname()
            case "server_addr":
                return self._sock.getpeername()
            case "is_readable":
                return _is_readable(self._sock)
        return None


class StampingBackend(httpcore.AsyncNetworkBackend):
    """Opens connections with stamps: the kernel's for plain TCP where `kernel` asks for them, else our own."""

    def __init__(self, meter: LagMeter, *, kernel: bool) -> None:
        self._meter = meter
        self._kernel = kernel
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to `host`, whose addresses are tried in the order in which the resolver gives them."""
        if not self._kernel:
            return StampedStream(await self._inner.connect_tcp(host, port, timeout, local_address, socket_options))
        try:
            async with asyncio.timeout(timeout):
                sock = await _connect(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return KernelStampedStream(sock, self._meter)

    async def sleep(self, seconds: float) -> None:
        """Wait, as httpcore does between retries."""
        await asyncio.sleep(seconds)


async def _connect(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    failure = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


def _is_readable(sock: socket.socket) -> bool:
    """Whether an idle connection has something to say: its end, most likely."""
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
