"""What resolvers and the engine get of a request."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg
from starlette.requests import Request
from starlette.websockets import WebSocket

from resolvers.access import LOCAL, Viewer
from resolvers.acting import Acting
from server.database import Database


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


@dataclass
class Context:
    request: Request | WebSocket
    database: Database
    viewer: Viewer = LOCAL
    # What a WebSocket said of its user when it was opened.
    connection_params: dict[str, Any] = field(default_factory=dict)
    _transaction: Transaction | None = None

    async def fetch(self, sql: str, arguments: Sequence[Any]) -> str | None:
        if self._transaction is not None:
            return await self._transaction.fetch(sql, arguments)
        text: str | None = await self.database.reads.fetchval(sql, *arguments)
        return text

    @property
    def acting(self) -> Acting:
        assert self._transaction is not None, "only mutations act"
        return self._transaction.acting

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        async with self.database.engine.begin() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert driver is not None
            self._transaction = Transaction(Acting(connection, self.viewer.name), driver)
            try:
                yield
            finally:
                self._transaction = None


def context_of(request: Request | WebSocket) -> Context:
    return Context(request, request.app.state.database)
