from collections.abc import AsyncIterator
from hashlib import sha256
from io import BytesIO

import httpx
import pytest
from obstore.store import MemoryStore
from starlette.applications import Starlette

from server.downloads import routes
from server.files import FileStore

DATA = b"<script>alert(1)</script>"
DIGEST = sha256(DATA).hexdigest()
EMPTY = sha256(b"").hexdigest()


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    app = Starlette(routes=routes)
    app.state.files = FileStore(MemoryStore())
    with app.state.files.batch() as keep:
        keep(DIGEST, BytesIO(DATA))
        keep(EMPTY, BytesIO(b""))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client


async def test_a_file_comes_as_a_download_that_no_browser_runs(client: httpx.AsyncClient) -> None:
    response = await client.get(f"/files/{DIGEST}")
    assert response.status_code == 200
    assert response.content == DATA
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == f'attachment; filename="{DIGEST}"'
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert response.headers["content-length"] == str(len(DATA))


async def test_the_head_of_a_file_tells_its_size(client: httpx.AsyncClient) -> None:
    response = await client.head(f"/files/{DIGEST}")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(DATA))


async def test_an_empty_file_comes_whole(client: httpx.AsyncClient) -> None:
    response = await client.get(f"/files/{EMPTY}")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("name", ["0" * 63, "0" * 65, DIGEST.upper(), "..%5c", DIGEST + "%0a"])
async def test_a_name_that_is_no_digest_is_refused(client: httpx.AsyncClient, name: str) -> None:
    response = await client.get(f"/files/{name}")
    assert response.status_code == 400


async def test_a_digest_nobody_stored_is_not_found(client: httpx.AsyncClient) -> None:
    response = await client.get(f"/files/{'0' * 64}")
    assert response.status_code == 404


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=1-7", slice(1, 8)),
        ("bytes=8-", slice(8, None)),
        ("bytes=-9", slice(-9, None)),
        ("bytes=-999", slice(0, None)),
        ("bytes=20-999", slice(20, None)),
    ],
)
async def test_a_part_of_a_file_can_be_asked_for(client: httpx.AsyncClient, wanted: str, part: slice) -> None:
    response = await client.get(f"/files/{DIGEST}", headers={"range": wanted})
    start, end, _ = part.indices(len(DATA))
    assert response.status_code == 206
    assert response.content == DATA[part]
    assert response.headers["content-range"] == f"bytes {start}-{end - 1}/{len(DATA)}"


@pytest.mark.parametrize("wanted", ["bytes=25-", "bytes=999-1000", "bytes=-0"])
async def test_a_part_beyond_the_end_cannot_be_had(client: httpx.AsyncClient, wanted: str) -> None:
    response = await client.get(f"/files/{DIGEST}", headers={"range": wanted})
    assert (response.status_code, response.headers["content-range"]) == (416, "bytes */25")


@pytest.mark.parametrize(
    "wanted", ["bytes=5-1", "bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b", "bytes=0-" + "9" * 99]
)
async def test_a_range_of_another_form_is_ignored(client: httpx.AsyncClient, wanted: str) -> None:
    response = await client.get(f"/files/{DIGEST}", headers={"range": wanted})
    assert (response.status_code, response.content) == (200, DATA)


async def test_a_part_of_another_version_is_not_mixed_in(client: httpx.AsyncClient) -> None:
    headers = {"range": "bytes=0-3"}
    other = await client.get(f"/files/{DIGEST}", headers={**headers, "if-range": '"other"'})
    same = await client.get(f"/files/{DIGEST}", headers={**headers, "if-range": f'"{DIGEST}"'})
    assert (other.status_code, same.status_code) == (200, 206)


@pytest.mark.parametrize("known", [f'"{DIGEST}"', f'W/"{DIGEST}"', f'"other", "{DIGEST}"', "*"])
async def test_a_file_that_the_client_has_is_not_sent_again(client: httpx.AsyncClient, known: str) -> None:
    response = await client.get(f"/files/{DIGEST}", headers={"if-none-match": known})
    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["etag"] == f'"{DIGEST}"'
