import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import BaseRoute, Mount

from server import documents, downloads, graphql, health, metrics, pages, tables, uploads
from server.access import Guarded
from server.database import connected, text_order
from server.files import FileStore, file_store
from server.following import Followed, following
from server.headers import SafeHeaders
from server.metrics import Measured
from server.pages import PageFiles
from server.services import services
from server.settings import Settings
from server.sweeping import sweep_always

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def routes() -> list[BaseRoute]:
    return [
        # Asked for most, and routes are tried in turn.
        *graphql.routes(),
        *health.routes,
        *metrics.routes,
        *uploads.routes,
        *downloads.routes,
        *documents.routes,
        *tables.routes,
        *pages.routes,
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


@asynccontextmanager
async def swept(engine: AsyncEngine, files: FileStore) -> AsyncIterator[None]:
    task = asyncio.create_task(sweep_always(engine, files))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def create_app(settings: Settings, dsn: str, tree: Followed | None = None) -> Starlette:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with connected(dsn, settings) as database:
            app.state.database = database
            graphql.schema().order_text_by(await text_order(database.reads))
            app.state.files = file_store(settings)
            app.state.settings = settings
            async with (
                services(database, dsn, app.state.files, settings) as app.state.services,
                swept(database.engine, app.state.files),
                following(dsn, app.state.files, tree),
            ):
                yield

    return Starlette(routes=routes(), middleware=middleware(settings), lifespan=lifespan)
