"""Passing the requests of another client on to one server, and its replies back piece by piece, unchanged.

Beside `loadgen.client.transport`, which makes requests of our own and times them, the only module that knows httpx.
What is changed is what a proxy must change: the address, the headers that belong to one connection (RFC 9110, 7.6.1),
and `Accept-Encoding`, because a compressed stream of events couldn't be read as it passes.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Self

import httpx

from loadgen.client.endpoint import Endpoint
from loadgen.client.tls import client_context
from loadgen.client.transport import Translate, check_key, has_proxy

Header = tuple[bytes, bytes]
"""A header as it goes over the wire: name and value."""

CONNECT_S = 5.0
"""To open a connection. For the answer nobody waits but the client, for as long as it likes."""

_OF_ONE_CONNECTION = frozenset(
    (
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    )
)
_OURS = frozenset({b"host", b"content-length", b"accept-encoding", b"expect"})
"""Headers of a request that are written anew: where it goes, how long it is, and what was answered here already."""
_KEYS = frozenset({b"authorization", b"x-api-key"})


class RelayedReply:
    """Status and headers of a reply, and its body as it comes in."""

    def __init__(self, response: httpx.Response, translate: Translate) -> None:
        self.status = response.status_code
        self.headers: list[Header] = _passed(response.headers.raw)
        self._response = response
        self._translate = translate

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body's bytes as they arrive. Raises `TransportError` where it breaks off."""
        try:
            async for piece in self._response.aiter_raw():
                yield piece
        except (httpx.HTTPError, OSError) as error:
            raise self._translate(error) from None


class Relay:
    """Passes requests on to one server; an async context manager.

    With `api_key` the server gets that key in place of whatever the client sends. Redirects are the client's to
    follow. Proxy variables of the environment are used, except for servers on this machine. `ca_file` replaces the
    trusted certificates; `insecure` checks none. Raises `ExperimentError` where the key or the CA file can't be used.
    """

    def __init__(
        self, endpoint: Endpoint, *, api_key: str | None = None, ca_file: str | None = None, insecure: bool = False
    ) -> None:
        self.endpoint = endpoint
        self._api_key = check_key(api_key)
        # llama-server closes a connection behind a streamed answer without announcing it, and the next request would
        # be lost with it: on plain HTTP every request has a connection of its own.
        kept = 0 if endpoint.scheme == "http" else None
        self._client = httpx.AsyncClient(
            verify=client_context(endpoint, ca_file=ca_file, insecure=insecure),
            trust_env=not endpoint.is_loopback and has_proxy(endpoint),
            follow_redirects=False,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=kept),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    @asynccontextmanager
    async def passed_on(
        self, method: str, target: bytes, headers: Iterable[Header], body: bytes
    ) -> AsyncIterator[RelayedReply]:
        """The reply to a request. Leaving before its end, or being cancelled, closes the connection to the server.

        Args:
            method: of the request.
            target: its path and query, as the client wrote them.
            headers: of the request.
            body: of the request, whole.

        Raises `TransportError` where no reply comes.
        """
        translate = Translate(self.endpoint, CONNECT_S)
        # Not the client's build_request, which would add headers of its own.
        request = httpx.Request(method, self._url(target), headers=self._headers(headers), content=body or None)
        try:
            response = await self._client.send(request, stream=True)
        except (httpx.HTTPError, OSError) as error:
            raise translate(error) from None
        try:
            yield RelayedReply(response, translate)
        finally:
            await response.aclose()

    def _url(self, target: bytes) -> httpx.URL:
        return httpx.URL(self.endpoint.url("/")).copy_with(raw_path=self.endpoint.prefix.encode() + target)

    def _headers(self, headers: Iterable[Header]) -> list[Header]:
        given = list(headers)
        out = [header for header in _passed(given) if header[0].lower() not in _OURS]
        if self._api_key is not None:
            by_name = any(name.lower() == b"x-api-key" for name, _ in given)
            out = [header for header in out if header[0].lower() not in _KEYS]
            key = self._api_key.encode()
            out.append((b"x-api-key", key) if by_name else (b"Authorization", b"Bearer " + key))
        return [*out, (b"Accept-Encoding", b"identity")]


def _passed(headers: Sequence[Header]) -> list[Header]:
    """The headers that don't belong to one connection."""
    named = {
        word.strip().lower() for name, value in headers if name.lower() == b"connection" for word in value.split(b",")
    }
    return [header for header in headers if header[0].lower() not in _OF_ONE_CONNECTION | named]
