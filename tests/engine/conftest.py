from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.databases import created
from tests.engine.library import Desk, built, filled


@pytest.fixture(scope="session")
async def shelves(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """A library that tests read and leave as it is."""
    async with created(postgres, template="template0") as dsn:
        connection = await asyncpg.connect(dsn, server_settings={"timezone": "UTC"})
        await built(connection)
        await filled(connection)
        yield connection
        await connection.close()


@pytest.fixture
def desk(shelves: asyncpg.Connection) -> Desk:
    return Desk(shelves)


@pytest.fixture
async def own_desk(empty_database: str) -> AsyncIterator[Desk]:
    """A library of a test's own, to change."""
    connection = await asyncpg.connect(empty_database, server_settings={"timezone": "UTC"})
    await built(connection)
    await filled(connection)
    yield Desk(connection)
    await connection.close()
