"""What resolvers and the engine get of a request."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

import asyncpg
from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request
from starlette.websockets import WebSocket

from resolvers.access import Viewer
from resolvers.acting import TOKENS, Acting
from resolvers.changes import TableChange
from server.access import viewer_of
from server.database import Database
from server.files import FileStore
from server.services import Services


class Reader(Protocol):
    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None: ...


class Transaction:
    """A mutation's own connection, which what is selected of its payload takes in turns."""

    def __init__(self, acting: Acting, driver: asyncpg.Connection) -> None:
        self.acting = acting
        self._driver = driver
        self._turn = asyncio.Lock()

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        async with self._turn:
            text: str | None = await self._driver.fetchval(sql, *arguments)
            return text


class Primary:
    """Reads where is written, whatever the queries are sent to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        async with self._database.engine.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            text: str | None = await driver.fetchval(sql, *arguments)
            return text


# What the field being executed reads through, where that is not the pool: operations of one socket share a context.
READER: ContextVar[Reader | None] = ContextVar("reader", default=None)


@dataclass
class Context:
    request: Request | WebSocket
    services: Services
    viewer: Viewer
    # What a WebSocket said of its user when it was opened.
    connection_params: dict[str, Any] = field(default_factory=dict, repr=False)

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        reader = READER.get()
        if reader is not None:
            return await reader.fetch(sql, arguments)
        text: str | None = await self.services.database.reads.fetchval(sql, *arguments)
        return text

    @property
    def acting(self) -> Acting:
        reader = READER.get()
        assert isinstance(reader, Transaction), "only mutations act"
        return reader.acting

    @property
    def files(self) -> FileStore:
        files: FileStore = self.request.app.state.files
        return files

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        async with self.services.database.engine.connect() as connection:
            yield await connection.execution_options(postgresql_readonly=True)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        async with self.services.database.engine.begin() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            acting = Acting(connection, self.viewer.name)
            outer = READER.set(Transaction(acting, driver))
            try:
                yield
            finally:
                READER.reset(outer)
        self._tell(acting.topics)

    @asynccontextmanager
    async def primary(self) -> AsyncIterator[None]:
        outer = READER.set(Primary(self.services.database))
        try:
            yield
        finally:
            READER.reset(outer)

    def changes(self, topic: str) -> AsyncGenerator[None, None]:
        return self.services.feeds[topic].changes()

    def table_changes(self, benchmark_pk: int) -> AsyncGenerator[TableChange, None]:
        return self.services.tables.changes(benchmark_pk)

    def run_changes(self, run_pk: int) -> AsyncGenerator[None, None]:
        return self.services.runs.changes(run_pk)

    def _tell(self, topics: set[str]) -> None:
        # The database announces tokens by itself; here it must have happened before the answer goes out.
        if TOKENS in topics:
            self.services.door.forget()
        self.services.herald.tell(topics - {TOKENS})


def context_of(request: Request | WebSocket) -> Context:
    return Context(request, request.app.state.services, viewer_of(request))
