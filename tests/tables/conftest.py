from collections.abc import AsyncIterator

import pytest

from models.base import AgentKind
from tests.databases import created
from tests.rules.house import House, house
from tests.tables.table import Table, made


@pytest.fixture(scope="session")
async def tables(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """One database, in which each test makes the benchmarks of its own."""
    async with (
        created(postgres, template=migrated_template) as dsn,
        house(dsn, tmp_path_factory.mktemp("tables"), write_connections=24) as running,
    ):
        yield running


@pytest.fixture(params=list(AgentKind))
async def table(request: pytest.FixtureRequest, tables: House) -> Table:
    """A benchmark with two rows and two tracks, which captures; every test of it is tried for both kinds."""
    return await made(tables, request.param)


@pytest.fixture
async def conversation(tables: House) -> Table:
    return await made(tables, AgentKind.CONVERSATION)


@pytest.fixture
async def automation(tables: House) -> Table:
    return await made(tables, AgentKind.AUTOMATION)
