from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.app import create_app
from server.settings import Settings
from tests.live import serving


@pytest.fixture
async def service(database: str, tmp_path: Path) -> AsyncIterator[str]:
    """The address of the whole service."""
    async with serving(create_app(Settings(data_dir=tmp_path), database)) as host:
        yield f"http://{host}"
