import asyncio

import asyncpg
import pytest

from server.database import read_pool
from server.reads import reads_from

PID = "SELECT pg_backend_pid()"


async def test_queries_share_their_connections(empty_database: str) -> None:
    async with reads_from(read_pool(empty_database, 2), 2) as reads:
        asked = [reads.fetchval("SELECT pg_backend_pid() FROM pg_sleep(0.01)") for _ in range(10)]

        assert len(set(await asyncio.gather(*asked))) == 2


async def test_a_connection_outlives_a_query_that_fails(empty_database: str) -> None:
    async with reads_from(read_pool(empty_database, 1), 1) as reads:
        before = await reads.fetchval(PID)

        with pytest.raises(asyncpg.DivisionByZeroError):
            await reads.fetchval("SELECT 1 / 0")

        assert await reads.fetchval(PID) == before


async def test_a_query_that_is_given_up_is_stopped_before_the_next_one_runs(empty_database: str) -> None:
    async with reads_from(read_pool(empty_database, 1), 1) as reads:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await reads.fetchval("SELECT pg_sleep(600)")

        assert await reads.fetchval("SELECT 1") == 1


async def test_a_lost_connection_is_replaced(empty_database: str) -> None:
    async with reads_from(read_pool(empty_database, 1), 1) as reads:
        before = await reads.fetchval(PID)
        other = await asyncpg.connect(empty_database)
        await other.execute("SELECT pg_terminate_backend($1, 5000)", before)
        await other.close()

        assert await reads.fetchval(PID) != before
