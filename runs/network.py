"""How calls leave this machine: to addresses that were looked at, without redirects, with answers of bounded size."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpcore2
import httpx2

from resolvers.addresses import is_forbidden

CONNECT_SECONDS = 10.0
LARGEST_ANSWER = 8 * 1024 * 1024
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)


class AddressRefused(httpx2.TransportError):
    """A name that leads to an address that nothing here may talk to."""


class AnswerTooLarge(httpx2.TransportError):
    """More bytes than an answer may have."""


class AnswerPacked(httpx2.TransportError):
    """An answer whose bytes cannot be counted before it is unpacked."""


def client(timeout: float, largest_answer: int = LARGEST_ANSWER) -> httpx2.AsyncClient:
    """The environment's proxies are left out: behind one, nobody here could look at addresses."""
    return httpx2.AsyncClient(
        transport=BoundedTransport(largest_answer),
        timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=False,
    )


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to the very addresses that it looked at, so that a name cannot lead elsewhere the second time."""

    def __init__(self) -> None:
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- the library names it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        refused: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for address in await self._resolved(host, port):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                refused = error
        raise refused or httpcore2.ConnectError("The name leads nowhere.")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _resolved(self, host: str, port: int) -> list[str]:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if any(is_forbidden(address) for address in addresses):
            raise AddressRefused("Link-local and metadata addresses cannot be called.")
        return addresses


class BoundedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, largest_answer: int) -> None:
        super().__init__(trust_env=False)
        self._largest_answer = largest_answer
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections,
            keepalive_expiry=LIMITS.keepalive_expiry,
            network_backend=CheckedNetwork(),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        # Bytes are counted as they come: packed ones could unfold to any number.
        request.headers["accept-encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise AnswerPacked("The answer is packed, which was not asked for.")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream, self._largest_answer)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise AnswerTooLarge(f"The answer has more than {self._most:,} bytes.")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
