"""What was changed behind the back of every rule is found again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from obstore.store import LocalStore
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.imports import import_tree
from interchange.verify import Difference, verify
from server.database import write_engine
from server.files import FileStore
from tests.interchange.building import SIDECAR, assessment, sha256, sidecar_of, write, write_suite, write_unit

DEFECT = "agents/alpha/defects/defect-0"
ATTEMPT = "suites/first/alpha/0/try-1"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def files(directory: Path) -> FileStore:
    return FileStore(LocalStore(directory, mkdir=True))


@pytest.fixture
async def connection(database: str, files: FileStore, tmp_path: Path) -> AsyncIterator[AsyncConnection]:
    root = tmp_path / "tree"
    write_unit(root)
    write_suite(root)
    write(root / SIDECAR, sidecar_of(assessment()))
    engine = write_engine(database)
    async with engine.connect() as connection:
        await import_tree(connection, root, "tree", batch=files.batch)
        yield connection
    await engine.dispose()


async def found(connection: AsyncConnection, files: FileStore) -> list[tuple[str, str]]:
    differences: list[Difference] = [difference async for difference in verify(connection, files)]
    return [(difference.place, difference.code) for difference in differences]


async def change(connection: AsyncConnection, statement: str) -> None:
    async with connection.begin():
        # As whoever restores half a backup would: no trigger keeps the rest in step.
        await connection.execute(text("SET LOCAL session_replication_role = replica"))
        await connection.execute(text(statement))


async def test_what_was_imported_is_as_it_should_be(connection: AsyncConnection, files: FileStore) -> None:
    assert await found(connection, files) == []


@pytest.mark.parametrize(
    ("statement", "place", "code"),
    [
        ("UPDATE defect_revisions SET record = '{}'", f"{DEFECT}/1", "DIGEST_DIFFERS"),
        ("UPDATE attempts SET result = '{}'", ATTEMPT, "DIGEST_DIFFERS"),
        ("UPDATE assessments SET record = '{}'", f"{ATTEMPT}/defect-0", "DIGEST_DIFFERS"),
        ("UPDATE suites SET provenance_sha256 = repeat('0', 64)", "suites/first", "DIGEST_DIFFERS"),
        ("UPDATE attempts SET refusal = 'EXECUTION_ERROR'", f"{ATTEMPT}/defect-0", "VERDICT_DIFFERS"),
        ("UPDATE defect_suites SET judged = 2", f"{DEFECT}/suites/first", "SUMS_DIFFER"),
        ("DELETE FROM defect_suites", f"{DEFECT}/suites/first", "SUMS_DIFFER"),
        ("UPDATE suite_agents SET completed_case_count = 2", "suites/first/alpha", "COUNTS_DIFFER"),
        ("DELETE FROM cases WHERE case_index = 1", "suites/first/alpha", "COUNTS_DIFFER"),
    ],
)
async def test_a_changed_row_is_named(
    connection: AsyncConnection, files: FileStore, statement: str, place: str, code: str
) -> None:
    await change(connection, statement)

    assert await found(connection, files) == [(place, code)]


@pytest.mark.parametrize("content", [b"run x", b""])
async def test_a_changed_file_is_named(
    connection: AsyncConnection, files: FileStore, directory: Path, content: bytes
) -> None:
    digest = sha256(b"run 0")
    (directory / "sha256" / digest[:2] / digest).write_bytes(content)

    assert await found(connection, files) == [(f"files/{digest}", "DIGEST_DIFFERS")]


async def test_a_missing_file_is_named(connection: AsyncConnection, files: FileStore, directory: Path) -> None:
    digest = sha256(b"run 0")
    (directory / "sha256" / digest[:2] / digest).unlink()

    assert await found(connection, files) == [(f"files/{digest}", "FILE_UNAVAILABLE")]
