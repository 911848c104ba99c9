from collections.abc import AsyncIterator

import pytest

from server.app import create_app
from server.demo import load_demo
from server.files import file_store
from server.settings import Settings
from tests.databases import created
from tests.live import serving


@pytest.fixture(scope="package")
async def service(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """The address of the whole service over the demo tree, for tests that only read."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"))
    async with created(postgres, template=migrated_template) as dsn:
        await load_demo(dsn, file_store(settings))
        async with serving(create_app(settings, dsn)) as host:
            yield f"http://{host}"
