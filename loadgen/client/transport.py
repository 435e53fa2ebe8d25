"""HTTP to one server: with `loadgen.client.relay` the only module that knows httpx.

Everything else sees `HttpTransport`, streaming calls with their times, whole replies, and the errors of
`loadgen.client.transport_error`. Another HTTP library means another version of this file and nothing else.
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from loadgen.client.endpoint import Endpoint
from loadgen.client.network import KERNEL_STAMPS, LagMeter, StampedStream, StampingBackend
from loadgen.client.reply import CallTimes, Reply
from loadgen.client.tls import client_context
from loadgen.client.transport_error import (
    ConnectFailedError,
    ConnectionLostError,
    LocalTroubleError,
    MalformedReplyError,
    TlsFailedError,
    TransportError,
    TransportTimeoutError,
)
from loadgen.client.trouble import has_tls_error, local_errno, reason, tls_reason
from loadgen.errors import ExperimentError

KEEPALIVE_S = 4.0
"""Idle connections are dropped after this time. Below the 5 s after which llama-server (cpp-httplib) and most Python
servers close them, so that no request is sent into a connection that the peer is about to close."""
END_GRACE_S = 0.02
"""After `[DONE]` the end of the chunked body follows in the same write or the next. Waiting this long for it keeps the
connection for the next turn; a peer that holds the body open longer costs one new connection."""
_CLOSES_AFTER_STREAMS = "llama.cpp"
"""llama-server (by its `Server` header) closes the connection behind every streamed answer, without announcing it. A
turn that is sent before that end arrives would be lost with it, so its streams get a connection each."""
MAX_REPLY_BYTES = 16 << 20
"""Control replies are some KiB, `/props` with a long chat template some hundred. More comes from no server we know."""


_NO_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=KEEPALIVE_S)
"""The agents are the limit. httpx's own of 100 connections would queue the rest without a word."""


class StreamingReply:
    """Status and headers of a reply whose body is still coming. Header names are in lower case."""

    def __init__(self, response: httpx.Response, times: CallTimes, translate: "Translate") -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers)
        self.times = times
        self._reads = BodyReads(response, translate)

    def reads(self) -> "BodyReads":
        """The body piece by piece, as `(at_ns, bytes)`; pieces of one socket read share one `at_ns`."""
        return self._reads


class BodyReads:
    """Iterates over a body as `(at_ns, bytes)`. Pieces (HTTP chunks) of one socket read share its stamp."""

    def __init__(self, response: httpx.Response, translate: "Translate") -> None:
        self._pieces = response.aiter_raw()
        self._network = response.extensions.get("network_stream")
        self._translate = translate

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[int, bytes]:
        try:
            piece = await anext(self._pieces)
        except httpx.HTTPError as error:
            raise self._translate(error) from None
        return read_at_ns(self._network), piece

    async def finish(self) -> None:
        """Reads to the end of the body if it comes within `END_GRACE_S`, so that the connection can be used again."""
        with suppress(TimeoutError, TransportError):
            async with asyncio.timeout(END_GRACE_S):
                async for _ in self:
                    pass

    async def close(self) -> None:
        """Gives up the rest of the body."""
        await self._pieces.aclose()  # type: ignore[attr-defined]


def read_at_ns(network: Any) -> int:
    """When the bytes of the last read arrived; now, where the connection doesn't say (behind a proxy)."""
    return network.read_at_ns if isinstance(network, StampedStream) else time.monotonic_ns()


class StreamingCall:
    """One streaming POST: `async with call as reply`. `times` can be read at every moment, also after a failure.

    Leaving without an error waits at most `END_GRACE_S` for the end of the body and keeps the connection if it came;
    with `later`, which takes what is still to be done, nobody waits. Leaving with an error closes the connection.
    Entering raises `TransportError`.
    """

    def __init__(
        self,
        send: Callable[[httpx.Request], Awaitable[httpx.Response]],
        request: httpx.Request,
        translate: "Translate",
        on_send: Callable[[], None],
        later: Callable[[Coroutine[Any, Any, None]], None] | None = None,
    ) -> None:
        self._later = later
        self.times = CallTimes(start_ns=time.monotonic_ns())
        self._send = send
        self._request = request
        self._translate = translate
        self._on_send = on_send
        self._connect_from_ns: int | None = None
        self._response: httpx.Response | None = None
        self._reply: StreamingReply | None = None

    async def __aenter__(self) -> StreamingReply:
        self.times.start_ns = time.monotonic_ns()
        self._request.extensions["trace"] = self._trace
        try:
            self._response = await self._send(self._request)
        except (httpx.HTTPError, OSError) as error:
            raise self._translate(error) from None
        if self.times.headers_ns is not None:
            self.times.headers_ns = read_at_ns(self._response.extensions.get("network_stream"))
        self._reply = StreamingReply(self._response, self.times, self._translate)
        return self._reply

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._later is not None:
            self._later(self._leave(finish=True))
        else:
            await self._leave(finish=kind is None)

    async def _leave(self, *, finish: bool) -> None:
        assert self._response is not None and self._reply is not None  # noqa: PT018, S101 -- `__aenter__` has set them
        reads = self._reply.reads()
        try:
            if finish:
                await reads.finish()
        finally:
            await reads.close()
            with suppress(httpx.HTTPError, OSError):
                await self._response.aclose()

    async def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Called by httpcore at each step of the connection."""
        now = time.monotonic_ns()
        times = self.times
        step = event.partition(".")[2]
        if step == "connect_tcp.started":
            self._connect_from_ns = now
        elif step in ("connect_tcp.complete", "start_tls.complete") and self._connect_from_ns is not None:
            times.connect_ns = now - self._connect_from_ns
        elif step == "send_request_headers.started" and info["request"].method != b"CONNECT":
            # CONNECT only opens a tunnel through a proxy: it belongs to connecting.
            times.send_ns = now
            times.send_done_ns = None
            self._on_send()
        elif step == "send_request_body.complete" and times.send_ns is not None:
            times.send_done_ns = now
        elif step == "receive_response_headers.complete" and times.send_ns is not None:
            times.headers_ns = now


class _StampedTransport(httpx.AsyncHTTPTransport):
    """httpx's transport over connections that stamp their reads. httpx has no argument for it, httpcore has."""

    def __init__(self, context: ssl.SSLContext, backend: StampingBackend) -> None:
        super().__init__(verify=context, limits=_NO_LIMITS, trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=_NO_LIMITS.max_connections,
            max_keepalive_connections=_NO_LIMITS.max_keepalive_connections,
            keepalive_expiry=_NO_LIMITS.keepalive_expiry,
            network_backend=backend,
        )


class HttpTransport:
    """Calls to one server over as many connections as there are calls at once; an async context manager.

    The key is sent to this server only, in the `Authorization` header; redirects are not followed. Proxy variables of
    the environment are used, except for servers on this machine. `ca_file` replaces the trusted certificates;
    `insecure` checks none. `stamps` says whose time a read carries: `kernel` (plain HTTP on Linux) or `user`.

    Raises `ExperimentError` where the key or the CA file can't be used.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        api_key: str | None = None,
        ca_file: str | None = None,
        insecure: bool = False,
        connect_s: float = 5.0,
    ) -> None:
        self.endpoint = endpoint
        self._api_key = check_key(api_key)
        self._connect_s = connect_s
        self._closes_after_streams = False
        self._leaving: set[asyncio.Task[None]] = set()
        # Answers are read as they are sent: compression would hold events back.
        headers = {"Accept-Encoding": "identity", "User-Agent": "loadgen"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        context = client_context(endpoint, ca_file=ca_file, insecure=insecure)
        proxied = not endpoint.is_loopback and has_proxy(endpoint)
        kernel = KERNEL_STAMPS and endpoint.scheme == "http" and not proxied
        self.stamps = "kernel" if kernel else "user"
        self._meter = LagMeter()
        self._client = httpx.AsyncClient(
            headers=headers,
            verify=context,
            trust_env=proxied,
            transport=None if proxied else _StampedTransport(context, StampingBackend(self._meter, kernel=kernel)),
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=connect_s),
            limits=_NO_LIMITS,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
        await asyncio.gather(*self._leaving)
        await self._client.aclose()

    def take_lags_ns(self) -> list[int]:
        """How late each read since the last call was (ns after the kernel had received its bytes)."""
        return self._meter.take()

    @property
    def has_key(self) -> bool:
        """Whether calls carry a key."""
        return bool(self._api_key)

    def redact(self, text: str) -> str:
        """The text with the key masked, for whatever a server has said."""
        return text.replace(self._api_key, "***") if self._api_key else text

    def stream(
        self, path: str, body: bytes, *, connect_s: float | None = None, on_send: Callable[[], None] = lambda: None
    ) -> StreamingCall:
        """A POST of `body` (JSON) whose reply is read as it comes. `on_send` is called when `send_ns` is read.

        `connect_s` overrides the deadline of the transport; further deadlines are the caller's.
        """
        request = self._request("POST", path, body)
        request.headers["Accept"] = "text/event-stream"
        if self._closes_after_streams:
            request.headers["Connection"] = "close"
        if connect_s is not None:
            request.extensions["timeout"] = httpx.Timeout(None, connect=connect_s).as_dict()
        # A connection that is closed anyway holds nobody up: the next turn has its own.
        later = self._leave_later if self._closes_after_streams else None
        translate = Translate(self.endpoint, connect_s or self._connect_s)
        return StreamingCall(self._send, request, translate, on_send, later)

    def _leave_later(self, leaving: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(leaving)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def get(self, path: str, timeout_s: float) -> Reply:
        """A GET, read whole. Raises `TransportError`, after `timeout_s` at the latest."""
        return await self._whole(self._request("GET", path), timeout_s)

    async def post(self, path: str, body: bytes, timeout_s: float) -> Reply:
        """A POST of `body` (JSON), read whole. Raises `TransportError`, after `timeout_s` at the latest."""
        return await self._whole(self._request("POST", path, body), timeout_s)

    def _request(self, method: str, path: str, body: bytes | None = None) -> httpx.Request:
        headers = {"Content-Type": "application/json"} if body is not None else None
        return self._client.build_request(method, self.endpoint.url(path), content=body, headers=headers)

    async def _send(self, request: httpx.Request) -> httpx.Response:
        response = await self._client.send(request, stream=True)
        self._closes_after_streams = response.headers.get("server") == _CLOSES_AFTER_STREAMS
        return response

    async def _whole(self, request: httpx.Request, timeout_s: float) -> Reply:
        translate = Translate(self.endpoint, self._connect_s)
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._send(request)
                try:
                    return Reply(response.status_code, dict(response.headers), await _body(response))
                finally:
                    await response.aclose()
        except TimeoutError:
            raise TransportTimeoutError(f"{self.endpoint.label} did not answer within {timeout_s:g} s") from None
        except (httpx.HTTPError, OSError) as error:
            raise translate(error) from None


def check_key(api_key: str | None) -> str | None:
    """The key, if there is one. Raises `ExperimentError` where it can't be sent in a header."""
    if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key.strip() == api_key):
        raise ExperimentError("The API key holds blanks or characters that can't be sent in a header; check it.")
    return api_key


def has_proxy(endpoint: Endpoint) -> bool:
    """Whether the environment names a proxy for this server."""
    proxies = getproxies()
    return bool(proxies.get(endpoint.scheme) or proxies.get("all")) and not proxy_bypass(endpoint.host)


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > MAX_REPLY_BYTES:
            raise MalformedReplyError(f"the reply is longer than {MAX_REPLY_BYTES >> 20} MiB")
    return bytes(body)


class Translate:
    """Turns the errors of httpx into those of this module, for one endpoint."""

    def __init__(self, endpoint: Endpoint, connect_s: float) -> None:
        self._label = endpoint.label
        self._connect_s = connect_s

    def __call__(self, error: Exception) -> TransportError:
        """The error in our words."""
        if local_errno(error):
            return LocalTroubleError(f"this machine could not open a connection: {reason(error)}")
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError)):
            return self._no_connection(error)
        if isinstance(error, httpx.RemoteProtocolError):
            return _broken_off(error)
        if isinstance(error, (httpx.NetworkError, OSError)):
            return ConnectionLostError(f"connection lost: {reason(error)}")
        return LocalTroubleError(f"the request could not be sent ({type(error).__name__})")

    def _no_connection(self, error: Exception) -> TransportError:
        if isinstance(error, httpx.ConnectTimeout):
            return ConnectFailedError(f"no connection to {self._label} within {self._connect_s:g} s")
        if has_tls_error(error):
            return TlsFailedError(f"{self._label}: {tls_reason(error)}")
        return ConnectFailedError(f"no connection to {self._label}: {reason(error)}")


def _broken_off(error: httpx.RemoteProtocolError) -> TransportError:
    # httpx has one type for "closed too early" and "not HTTP"; only the message tells them apart.
    text = str(error).lower()
    if "disconnected" in text or "closed connection" in text:
        return ConnectionLostError("connection closed before the reply was whole")
    return MalformedReplyError("the reply is no valid HTTP")
