"""A load generator that does next to nothing for a request: `python -m bench.client URL SECONDS BODY`."""

import asyncio
import sys
from time import perf_counter
from typing import cast
from urllib.parse import urlsplit

import uvloop

CONNECTIONS = 16


class Asking(asyncio.Protocol):
    """Sends the same request again as soon as its answer is whole."""

    def __init__(self, request: bytes, deadline: float) -> None:
        self.request = request
        self.deadline = deadline
        self.answers = 0
        self.missing = 0
        self.head = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        if self.missing:
            self.missing -= len(data)
        else:
            self.begin(self.head + data)
        if not self.missing and not self.head:
            self.again()

    def begin(self, data: bytes) -> None:
        head, separator, body = data.partition(b"\r\n\r\n")
        self.head = b"" if separator else data
        if not separator:
            return
        if not head.startswith(b"HTTP/1.1 200 "):
            self.done.set_exception(RuntimeError(head.decode()))
        _, _, rest = head.lower().partition(b"content-length:")
        self.missing = int(rest.split(b"\r\n")[0]) - len(body)

    def again(self) -> None:
        if self.done.done():
            return
        self.answers += 1
        if perf_counter() < self.deadline:
            self.transport.write(self.request)
        else:
            self.done.set_result(self.answers)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))


def request_of(url: str, body: str) -> bytes:
    parts = urlsplit(url)
    lines = [f"{'POST' if body else 'GET'} {parts.path} HTTP/1.1", f"Host: {parts.netloc}", "Accept: application/json"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body.encode())}"]
    return "\r\n".join([*lines, "", body]).encode()


async def asking(url: str, request: bytes, deadline: float) -> Asking:
    parts, loop = urlsplit(url), asyncio.get_running_loop()
    _, protocol = await loop.create_connection(
        lambda: Asking(request, deadline), parts.hostname or "", parts.port or 80
    )
    return protocol


async def rate(url: str, seconds: float, body: str) -> float:
    request, began = request_of(url, body), perf_counter()
    asked = [await asking(url, request, began + seconds) for _ in range(CONNECTIONS)]
    answers: list[int] = await asyncio.gather(*(each.done for each in asked))
    return sum(answers) / (perf_counter() - began)


if __name__ == "__main__":
    url, seconds, body = sys.argv[1:]
    print(uvloop.run(rate(url, float(seconds), body)))
