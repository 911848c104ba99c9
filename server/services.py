"""What the requests of one process share, and what runs beside them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import structlog

from resolvers.acting import BENCHMARK, OVERVIEW, TOKENS, channel
from server.changes import Feed, Herald, OverviewWatch
from server.database import Database, connector
from server.door import Door
from server.listening import Listener
from server.settings import Settings
from server.watching import TableWatch

log = structlog.get_logger(__name__)

PAUSE: Final = 1.0
# Long readings at once, which must leave connections to those who write.
EXPORTS: Final = 2


@dataclass(frozen=True)
class Services:
    database: Database
    door: Door
    herald: Herald
    feeds: Mapping[str, Feed]
    tables: TableWatch
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(EXPORTS))


async def always(run: Callable[[], Awaitable[None]]) -> None:
    """What stands beside the requests must not fall while they go on: nobody would be shown out any more."""
    while True:
        try:
            await run()
        except Exception:
            log.exception("service_failed", service=run.__qualname__)
        await asyncio.sleep(PAUSE)


@asynccontextmanager
async def services(database: Database, dsn: str, settings: Settings) -> AsyncIterator[Services]:
    listener = Listener(connector(settings.listen_database_url or dsn))
    door = Door(database.engine, listener, is_local=settings.is_local)
    herald = Herald(database.engine)
    overview = OverviewWatch(database.engine, listener)
    tables = TableWatch(database.engine)
    listener.on(channel(TOKENS), lambda _: door.forget())
    listener.on(channel(OVERVIEW), lambda _: overview.hear())
    listener.on(channel(BENCHMARK), tables.hear)
    tasks = [asyncio.create_task(always(each.run)) for each in (listener, door, herald, overview, tables)]
    try:
        yield Services(database, door, herald, {OVERVIEW: overview.feed}, tables)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await herald.send()
