"""What every peer shares with the service: how uvicorn runs it, and how its address is told."""

import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

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


def application(routes: Sequence[Route]) -> Starlette:
    """With the service's own pool, so that what is compared is the way to a statement and from its answer."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with read_pool(os.environ["ASSAY_DATABASE_URL"], Settings().read_connections) as pool:
            app.state.pool = pool
            yield

    return Starlette(routes=routes, lifespan=lifespan)


def run(routes: Sequence[Route]) -> None:
    config = uvicorn.Config(
        application(routes),
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Announced(config).run(sockets=[listener])
