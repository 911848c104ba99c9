from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.databases import created
from tests.engine.library import Desk, built, filled


@pytest.fixture(scope="session")
async def library_dsn(postgres: str) -> AsyncIterator[str]:
    async with created(postgres, template="template0") as dsn:
        yield dsn


@pytest.fixture(scope="session")
async def shelves(library_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A library that tests read and leave as it is."""
    connection = await asyncpg.connect(library_dsn, server_settings={"timezone": "UTC"})
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
