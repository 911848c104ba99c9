"""A real server for the tests whose other side is a real client."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


class AnnouncedServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """Serves the application on a free port of this machine; gives host and port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = AnnouncedServer(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve([listener]))
    try:
        await server.ready.wait()
        yield "{}:{}".format(*listener.getsockname())
    finally:
        server.should_exit = True
        await task
        listener.close()
