"""Connections for queries, kept at hand.

A query costs Postgres less than asyncpg's pool takes to lend a connection and to have it back. So those that are well
stay here between queries; whatever happens to one, the pool learns of it and replaces it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy


def lives(connection: PoolConnectionProxy) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        # It was lost, and the pool has it back already.
        return False


class Reads:
    def __init__(self, pool: asyncpg.Pool, connections: int) -> None:
        self._pool = pool
        self._free = asyncio.Semaphore(connections)
        self._kept: list[PoolConnectionProxy] = []

    async def fetchval(self, sql: str, *arguments: Any) -> Any:
        """The first value of the first row."""
        async with self._free:
            connection = await self._connection()
            try:
                value = await connection.fetchval(sql, *arguments)
            except BaseException:
                # A cancelled query still runs on its connection until Postgres has stopped it: the pool waits for that.
                await self._pool.release(connection)
                raise
            self._kept.append(connection)
            return value

    async def _connection(self) -> PoolConnectionProxy:
        while self._kept:
            connection = self._kept.pop()
            if lives(connection):
                return connection
        return await self._pool.acquire()

    async def give_back(self) -> None:
        for connection in filter(lives, self._kept):
            await self._pool.release(connection)


@asynccontextmanager
async def reads_from(pool: asyncpg.Pool, connections: int) -> AsyncIterator[Reads]:
    async with pool:
        reads = Reads(pool, connections)
        try:
            yield reads
        finally:
            await reads.give_back()
