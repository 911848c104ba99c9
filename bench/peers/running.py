"""What every peer shares with the service: how uvicorn runs it, and how its address is told."""

import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from server.database import read_pool
from server.settings import Settings


class Announced(uvicorn.Server):
    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        await super().startup(sockets=list(sockets or []))
        for listener in sockets or ():
            print("http://{}:{}".format(*listener.getsockname()), flush=True)


def pool(dsn: str, *, tuned: bool) -> asyncpg.Pool:
    """asyncpg's pool as it comes, or with the settings by which the service spares itself round trips."""
    connections = Settings().read_connections
    return read_pool(dsn, connections) if tuned else asyncpg.create_pool(dsn, min_size=1, max_size=connections)


def application(routes: Sequence[Route], *, tuned: bool) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with pool(os.environ["ASSAY_DATABASE_URL"], tuned=tuned) as app.state.pool:
            yield

    return Starlette(routes=routes, lifespan=lifespan)


def run(routes: Sequence[Route], *, tuned: bool = False) -> None:
    config = uvicorn.Config(
        application(routes, tuned=tuned),
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Announced(config).run(sockets=[listener])
