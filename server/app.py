import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from obstore.exceptions import BaseError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Mount

from server import documents, downloads, graphql, health, metrics
from server.access import Guarded
from server.database import connected, text_order
from server.files import FileStore, file_store
from server.following import Followed, following
from server.headers import SafeHeaders
from server.metrics import Measured
from server.pages import PageFiles
from server.services import services
from server.settings import Settings

log = structlog.get_logger(__name__)

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def routes() -> list[BaseRoute]:
    return [
        *health.routes,
        *metrics.routes,
        *downloads.routes,
        *documents.routes,
        *graphql.routes(),
        Mount("/static", PageFiles()),
    ]


def names(settings: Settings) -> list[str]:
    return [*LOOPBACK_NAMES, settings.host] if settings.is_local else ["*"]


def middleware(settings: Settings) -> list[Middleware]:
    return [
        Middleware(Measured),
        Middleware(SafeHeaders),
        # A page elsewhere may let its own name point at this machine, and so reach what trusts local callers.
        Middleware(TrustedHostMiddleware, allowed_hosts=names(settings), www_redirect=False),
        Middleware(Guarded),
    ]


async def tidy(files: FileStore) -> None:
    try:
        await asyncio.to_thread(files.sweep)
    except (OSError, BaseError):
        log.warning("sweep_failed", exc_info=True)


def create_app(settings: Settings, dsn: str, tree: Followed | None = None) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with connected(dsn, settings) as database:
            app.state.database = database
            graphql.schema().order_text_by(await text_order(database.reads))
            app.state.files = file_store(settings)
            sweeping = asyncio.create_task(tidy(app.state.files))
            async with services(database, dsn, settings) as app.state.services, following(dsn, app.state.files, tree):
                yield
            await sweeping

    return Starlette(routes=routes(), middleware=middleware(settings), lifespan=lifespan)
