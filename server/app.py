from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Mount

from server import health, metrics
from server.database import connected
from server.metrics import Measured
from server.pages import PageFiles
from server.settings import Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def routes() -> list[BaseRoute]:
    return [
        *health.routes,
        *metrics.routes,
        Mount("/static", PageFiles()),
    ]


def middleware(settings: Settings) -> list[Middleware]:
    return [
        Middleware(Measured),
        # A page elsewhere may let its own name point at this machine, and so reach what trusts local callers.
        Middleware(TrustedHostMiddleware, allowed_hosts=[*LOOPBACK_NAMES, settings.host], www_redirect=False),
    ]


def create_app(settings: Settings, dsn: str) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with connected(dsn, settings) as database:
            app.state.database = database
            yield

    return Starlette(routes=routes(), middleware=middleware(settings), lifespan=lifespan)
