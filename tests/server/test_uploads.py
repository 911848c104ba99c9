"""POST /files, with real connections that break off, and a real process whose memory is measured."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from models.base import Role
from server.app import create_app
from server.media import media_type
from server.settings import Settings
from tests.live import serving
from tests.tokens import client_of, granted
from tests.waiting import eventually

LIMIT = 100_000
MIB = 1024 * 1024
OCTETS = {"content-type": "application/octet-stream"}
KINDS = [
    (b"\x89PNG\r\n\x1a\n...", "image/png"),
    (b"\xff\xd8\xff\xe0", "image/jpeg"),
    (b"%PDF-1.7\n", "application/pdf"),
    (b"PK\x03\x04...", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\0" * 257 + b"ustar", "application/x-tar"),
    (b"RIFF....WEBPVP8 ", "image/webp"),
    (b"NOPE....WEBPVP8 ", "text/plain"),
    (b' {"a": 1}', "application/json"),
    (b"[1]", "application/json"),
    ("naïve text\n".encode(), "text/plain"),
    ("naï".encode()[:-1], "text/plain"),
    (b"", "text/plain"),
    (b"<script>alert(1)</script>", "text/plain"),
    (b"\0\1\2", "application/octet-stream"),
    (b"caf\xe9 au lait", "application/octet-stream"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
async def host(database: str, data: Path) -> AsyncIterator[str]:
    async with serving(create_app(Settings(data_dir=data, largest_upload=LIMIT), database)) as host:
        yield host


def kept(data: Path) -> list[str]:
    """Whatever lies in the store: files, and what uploads left."""
    return sorted(path.name for path in (data / "files").rglob("*") if path.is_file())


async def rows(dsn: str) -> list[tuple[str, int]]:
    connection = await asyncpg.connect(dsn)
    found = await connection.fetch("SELECT sha256, size FROM files ORDER BY sha256")
    await connection.close()
    return [tuple(row) for row in found]


def digest_of(body: bytes) -> str:
    return sha256(body).hexdigest()


async def in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 1000):
        yield body[start : start + 1000]


async def test_a_file_is_kept_by_its_digest_and_comes_back(host: str, database: str, data: Path) -> None:
    body = b'{"evidence": true}'
    async with client_of(host) as client:
        response = await client.post("/files", content=body, headers=OCTETS)
        back = await client.get(response.headers["location"])

    assert response.status_code == 201
    assert response.json() == {"sha256": digest_of(body), "size": len(body), "mediaType": "application/json"}
    assert back.content == body
    assert await rows(database) == [(digest_of(body), len(body))]
    assert kept(data) == [digest_of(body)]


async def test_a_file_that_is_there_is_not_stored_twice(host: str, database: str, data: Path) -> None:
    async with client_of(host) as client:
        first = await client.post("/files", content=b"same", headers=OCTETS)
        [path] = [path for path in (data / "files").rglob("*") if path.is_file()]
        before = path.stat()
        again = await client.post("/files", content=in_chunks(b"same"), headers=OCTETS)

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len(await rows(database)) == 1
    assert kept(data) == [digest_of(b"same")]


async def test_uploads_of_one_file_at_once_store_one(host: str, database: str, data: Path) -> None:
    body = os.urandom(LIMIT)
    async with client_of(host) as client:
        responses = await asyncio.gather(*(client.post("/files", content=in_chunks(body)) for _ in range(8)))

    assert sorted(response.status_code for response in responses) == [*7 * [200], 201]
    assert await rows(database) == [(digest_of(body), LIMIT)]
    assert kept(data) == [digest_of(body)]


@pytest.mark.parametrize("is_declared", [True, False])
async def test_a_file_of_the_greatest_size_passes_and_one_byte_more_is_refused(
    host: str, database: str, data: Path, is_declared: bool
) -> None:
    fits, exceeds = os.urandom(LIMIT), os.urandom(LIMIT + 1)
    async with client_of(host) as client:
        passed = await client.post("/files", content=fits if is_declared else in_chunks(fits))
        refused = await client.post("/files", content=exceeds if is_declared else in_chunks(exceeds))

    assert (passed.status_code, refused.status_code) == (201, 413)
    assert refused.json()["error"]["code"] == "FILE_TOO_LARGE"
    assert await rows(database) == [(digest_of(fits), LIMIT)]
    assert kept(data) == [digest_of(fits)]


@pytest.mark.parametrize("size", [20_000, 12 * MIB])
@pytest.mark.parametrize("is_declared", [True, False])
async def test_a_client_that_is_killed_leaves_nothing(database: str, data: Path, size: int, is_declared: bool) -> None:
    head = f"content-length: {size + 1}" if is_declared else "transfer-encoding: chunked"
    body = b"x" * size
    sent = body if is_declared else b"%x\r\n%b\r\n" % (size, body)
    async with serving(create_app(Settings(data_dir=data), database)) as host:
        others = asyncio.all_tasks()
        _, writer = await asyncio.open_connection(*host.split(":"))
        writer.write(f"POST /files HTTP/1.1\r\nhost: {host}\r\n{head}\r\n\r\n".encode() + sent)
        await writer.drain()
        await eventually(lambda: is_arriving(data))
        # Reset instead of a farewell, as when a process is killed.
        writer.transport.abort()

        await eventually(lambda: is_over(others))
        assert kept(data) == []
        assert await rows(database) == []


async def is_over(others: set[asyncio.Task[Any]]) -> bool:
    """Nobody works on a request any more."""
    return asyncio.all_tasks() - others <= {asyncio.current_task()}


async def is_arriving(data: Path) -> bool:
    return (data / "files" / "tmp").exists() or kept(data) != []


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "multipart/form-data; boundary=x"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "Text/Plain; charset=utf-8"},
        {"origin": "https://stranger.example"},
        {"origin": "null", **OCTETS},
    ],
)
async def test_a_page_on_another_site_cannot_send_files(host: str, data: Path, headers: dict[str, str]) -> None:
    async with client_of(host) as client:
        response = await client.post("/files", content=b"forged", headers=headers)

    assert response.status_code in (403, 415)
    assert kept(data) == []


async def test_a_page_of_our_own_can_send_files(host: str) -> None:
    async with client_of(host) as client:
        response = await client.post("/files", content=b"sent", headers={"origin": f"http://{host}", **OCTETS})

    assert response.status_code == 201


async def test_files_are_sent_by_reviewers_and_read_by_viewers(host: str, database: str) -> None:
    await granted(database)
    viewer = await granted(database, "viewer", Role.VIEWER)
    reviewer = await granted(database, "reviewer", Role.REVIEWER)
    async with client_of(host, viewer) as viewing, client_of(host, reviewer) as reviewing:
        refused = await viewing.post("/files", content=b"evidence")
        stored = await reviewing.post("/files", content=b"evidence")
        read = await viewing.get(stored.headers["location"])

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert (stored.status_code, read.content) == (201, b"evidence")


async def test_a_token_that_is_revoked_while_bytes_come_keeps_nothing(host: str, database: str, data: Path) -> None:
    secret = await granted(database)

    async def slowly() -> AsyncIterator[bytes]:
        yield b"first"
        connection = await asyncpg.connect(database)
        await connection.execute("UPDATE api_tokens SET revoked_at = now()")
        await connection.close()
        async with client_of(host, secret) as other:
            await eventually(lambda: is_refused(other))
        yield b"second"

    async with client_of(host, secret) as client:
        response = await client.post("/files", content=slowly())

    assert response.status_code == 401
    assert kept(data) == []
    assert await rows(database) == []


async def is_refused(client: httpx.AsyncClient) -> bool:
    return (await client.get("/metrics")).status_code == 401


@pytest.mark.parametrize(("head", "kind"), KINDS)
def test_what_a_file_is_shows_in_its_bytes(head: bytes, kind: str) -> None:
    assert media_type(head) == kind


@contextmanager
def process(dsn: str, data: Path) -> Iterator[tuple[int, str]]:
    environment = {**os.environ, "ASSAY_DATABASE_URL": dsn, "ASSAY_DATA_DIR": str(data), "ASSAY_PORT": "0"}
    command = [str(Path(sys.executable).parent / "assay"), "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[1].removesuffix("/graphql")
            yield server.pid, address
        finally:
            server.terminate()


def memory(pid: int, figure: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{figure}:"))


def memory_from_now_on(pid: int) -> int:
    """What is used now; the peak is counted from here."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory(pid, "VmRSS")


async def test_the_largest_file_passes_in_flat_memory(database: str, data: Path) -> None:
    block = os.urandom(MIB)

    async def blocks(count: int, *, more: bytes = b"") -> AsyncIterator[bytes]:
        for _ in range(count):
            yield block
        yield more

    with process(database, data) as (pid, address):
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            # What is loaded once is no matter of size.
            await client.post("/files", content=blocks(8))
            before = memory_from_now_on(pid)
            passed = await client.post("/files", content=blocks(64))
            peak = memory(pid, "VmHWM")
            refused = await client.post("/files", content=blocks(64, more=b"x"))

    assert passed.json()["size"] == 64 * MIB
    assert refused.status_code == 413
    assert peak - before < 24 * MIB
    assert len(kept(data)) == 2
