import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from server.app import create_app
from server.demo import load_demo
from server.files import file_store
from server.migrations import migrate
from server.postgres import embedded
from server.settings import Settings
from tests.databases import created, empty, name_of
from tests.live import serving
from tests.provider import Provider, providing


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The DSN of one server for the whole run."""
    given = os.environ.get("ASSAY_TEST_DATABASE_URL")
    if given:
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="assay-tests-"))
    # Where root runs the tests, the account that runs Postgres must get in.
    directory.chmod(0o711)
    try:
        with embedded(directory) as dsn:
            yield dsn
    finally:
        shutil.rmtree(directory)


@pytest.fixture
async def empty_database(postgres: str) -> AsyncIterator[str]:
    """The DSN of a new database without tables."""
    async with created(postgres, template="template0") as dsn:
        yield dsn


@pytest.fixture(scope="session")
async def migrated_template(postgres: str) -> AsyncIterator[str]:
    """The name of a database that is migrated once and copied by every test that wants its tables."""
    async with created(postgres, template="template0") as dsn:
        await migrate(dsn)
        yield name_of(dsn)


@pytest.fixture(scope="session")
async def reused_database(postgres: str, migrated_template: str) -> AsyncIterator[str]:
    async with created(postgres, template=migrated_template) as dsn:
        yield dsn


@pytest.fixture
async def database(reused_database: str) -> str:
    """The DSN of a database with all tables and no rows."""
    await empty(reused_database)
    return reused_database


@pytest.fixture(scope="session")
async def demo(postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of a service that holds the demo tree, to read from."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("demo"))
    async with created(postgres, template=migrated_template) as dsn:
        await load_demo(dsn, file_store(settings))
        async with serving(create_app(settings, dsn)) as host:
            yield f"http://{host}"


@pytest.fixture
def provider() -> Iterator[Provider]:
    """A provider of models that this test can command."""
    with providing() as provider:
        yield provider
