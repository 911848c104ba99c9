"""A service, or a connection, over a database of its own, emptied for every test."""

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from obstore.store import MemoryStore

from server.app import create_app
from server.database import write_engine
from server.files import FileStore
from server.settings import Settings
from tests.databases import created
from tests.interchange.holding import Holding
from tests.interchange.trees import Service


@pytest_asyncio.fixture(scope="module")
async def running(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Service]:
    async with created(postgres, template=migrated_template) as dsn:
        app = create_app(Settings(data_dir=tmp_path_factory.mktemp("data")), dsn)
        async with (
            app.router.lifespan_context(app),
            app.state.database.engine.connect() as connection,
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        ):
            yield Service(client, connection, FileStore(MemoryStore()))


@pytest.fixture
async def service(running: Service) -> Service:
    await running.clear()
    return running


@pytest_asyncio.fixture(scope="module")
async def held(postgres: str, migrated_template: str) -> AsyncIterator[Holding]:
    async with created(postgres, template=migrated_template) as dsn:
        engine = write_engine(dsn)
        try:
            async with engine.connect() as connection:
                yield Holding(connection)
        finally:
            await engine.dispose()


@pytest.fixture
async def holding(held: Holding) -> Holding:
    await held.clear()
    held.files = FileStore(MemoryStore())
    return held
