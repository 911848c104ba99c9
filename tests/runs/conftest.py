from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.provider import Provider
from tests.runs.service import Bench, Service, made, service


@pytest.fixture
async def running(database: str, tmp_path: Path) -> AsyncIterator[Service]:
    """A service with a worker inside."""
    async with service(database, tmp_path) as running:
        yield running


@pytest.fixture
async def bench(running: Service, provider: Provider) -> Bench:
    """A conversation of two rows and two tracks, which captures."""
    return await made(running, provider)
