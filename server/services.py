"""What the requests of one process share, and what runs beside them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from resolvers.acting import BENCHMARK, OVERVIEW, RUN, TOKENS, channel
from server.beside import running
from server.changes import Feed, Herald, OverviewWatch
from server.database import Database, connector
from server.door import Door
from server.files import FileStore
from server.listening import Listener
from server.settings import Settings
from server.watching import RunWatch, TableWatch
from server.working import worker

# Long readings at once, which must leave connections to those who write.
EXPORTS: Final = 2


@dataclass(frozen=True)
class Services:
    database: Database
    door: Door
    herald: Herald
    feeds: Mapping[str, Feed]
    tables: TableWatch
    runs: RunWatch
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(EXPORTS))


@asynccontextmanager
async def services(database: Database, dsn: str, files: FileStore, settings: Settings) -> AsyncIterator[Services]:
    listener = Listener(connector(settings.listen_database_url or dsn))
    door = Door(database.engine, listener, is_local=settings.is_local)
    herald = Herald(database.engine)
    overview = OverviewWatch(database.engine, listener)
    tables, runs = TableWatch(database.engine), RunWatch(database.engine)
    listener.on(channel(TOKENS), lambda _: door.forget())
    listener.on(channel(OVERVIEW), lambda _: overview.hear())
    listener.on(channel(BENCHMARK), tables.hear)
    listener.on(channel(RUN), runs.hear)
    async with AsyncExitStack() as stack:
        beside = [listener.run, door.run, herald.run, overview.run, tables.run, runs.run]
        if settings.worker:
            made = await stack.enter_async_context(worker(dsn, files, listener, herald, settings))
            beside.append(made.run)
        try:
            async with running(*beside):
                yield Services(database, door, herald, {OVERVIEW: overview.feed}, tables, runs)
        finally:
            await herald.send()
