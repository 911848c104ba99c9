from collections.abc import AsyncIterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from server.app import create_app
from server.files import file_store
from server.settings import Settings
from tests.live import serving


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
async def client(settings: Settings, database: str) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        serving(create_app(settings, database)) as host,
        httpx.AsyncClient(base_url=f"http://{host}") as client,
    ):
        yield client


async def test_files_of_the_data_directory_are_served(client: httpx.AsyncClient, settings: Settings) -> None:
    digest = sha256(b"evidence").hexdigest()
    with file_store(settings).batch() as keep:
        keep(digest, BytesIO(b"evidence"))
    response = await client.get(f"/files/{digest}")
    assert response.content == b"evidence"


async def test_a_name_that_someone_else_points_here_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.get("/healthz", headers={"host": "stranger.example"})
    assert response.status_code == 400
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_the_host_alone_leads_to_the_page(client: httpx.AsyncClient) -> None:
    response = await client.get("/")
    assert response.is_redirect
    assert response.headers["location"] == "/graphql"
