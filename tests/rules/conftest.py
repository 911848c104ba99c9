from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.databases import created
from tests.rules.house import House, house


@pytest.fixture
async def home(database: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """A house of the test's own, with nothing in it."""
    async with house(database, tmp_path_factory.mktemp("house")) as made:
        yield made


@pytest_asyncio.fixture(scope="module")
async def shared(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[House]:
    """A house of the module's, for tests that leave it as it is."""
    data = tmp_path_factory.mktemp("house")
    async with created(postgres, template=migrated_template) as dsn, house(dsn, data) as made:
        yield made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "tree"


@pytest.fixture(scope="module")
def shared_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tree")
