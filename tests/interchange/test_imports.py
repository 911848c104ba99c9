"""Imports that meet trouble: a root that is away, a rival for locks, a reading that nobody waits for."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import IO, Any

import pytest
from obstore.store import MemoryStore
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange import imports
from interchange.imports import RootUnavailable, import_tree, read
from interchange.records import FileSink
from interchange.store.trees import RootMismatch, store_tree
from server.database import write_engine
from server.files import FileStore
from tests.interchange.building import (
    MANIFEST,
    SIDECAR,
    assessment,
    defect,
    manifest_of,
    sidecar_of,
    write,
    write_suite,
    write_unit,
)

FILES = FileStore(MemoryStore())


class Trouble(Exception):
    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    write_unit(root)
    write_suite(root)
    write(root / SIDECAR, sidecar_of(assessment()))
    return root


@pytest.fixture
async def connection(database: str) -> AsyncIterator[AsyncConnection]:
    engine = write_engine(database)
    async with engine.connect() as connection:
        yield connection
    await engine.dispose()


async def accepted(connection: AsyncConnection) -> int:
    async with connection.begin():
        count = await connection.execute(text("SELECT count(*) FROM assessments WHERE status = 'ACCEPTED'"))
        return int(count.scalar_one())


def moved(root: Path) -> Path:
    return root.rename(root.with_name("elsewhere"))


def failing(*states: str) -> Any:
    left = iter(states)

    async def store(*arguments: Any, **options: Any) -> Any:
        done = await store_tree(*arguments, **options)
        if state := next(left, None):
            raise DBAPIError("COMMIT", None, Trouble(state))
        return done

    return store


async def test_an_import_that_lost_a_race_for_locks_is_done_again(
    connection: AsyncConnection, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "store_tree", failing("40P01", "40001"))

    done = await import_tree(connection, root, "tree", batch=FILES.batch)

    assert done.changed
    assert await accepted(connection) == 1


async def test_any_other_fault_ends_an_import_and_leaves_nothing(
    connection: AsyncConnection, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "store_tree", failing("23505"))

    with pytest.raises(DBAPIError):
        await import_tree(connection, root, "tree", batch=FILES.batch)

    assert await accepted(connection) == 0


async def test_a_root_that_is_away_is_no_empty_tree(connection: AsyncConnection, root: Path) -> None:
    await import_tree(connection, root, "tree", batch=FILES.batch)
    moved(root)

    with pytest.raises(RootUnavailable):
        await import_tree(connection, root, "tree", batch=FILES.batch)

    assert await accepted(connection) == 1


async def test_a_name_is_given_to_another_root_only_when_told(connection: AsyncConnection, root: Path) -> None:
    await import_tree(connection, root, "tree", batch=FILES.batch)
    elsewhere = moved(root)

    with pytest.raises(RootMismatch):
        await import_tree(connection, elsewhere, "tree", batch=FILES.batch)
    again = await import_tree(connection, elsewhere, "tree", batch=FILES.batch, replace_root=True)

    assert not again.changed


async def test_readers_see_the_old_state_until_an_import_is_whole(
    connection: AsyncConnection, database: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    async def watched(*arguments: Any, **options: Any) -> Any:
        done = await store_tree(*arguments, **options)
        engine = write_engine(database)
        async with engine.connect() as reader:
            seen.append(await accepted(reader))
        await engine.dispose()
        return done

    monkeypatch.setattr(imports, "store_tree", watched)
    await import_tree(connection, root, "tree", batch=FILES.batch)
    write(root / MANIFEST, manifest_of(defect(title="Repeats every refund")))
    await import_tree(connection, root, "tree", batch=FILES.batch)

    assert [*seen, await accepted(connection)] == [0, 1, 0]


async def test_a_reading_that_was_given_up_ends_at_its_next_file(root: Path) -> None:
    begun, released, kept = Event(), Event(), []

    @contextmanager
    def slow() -> Iterator[FileSink]:
        def keep(digest: str, body: IO[bytes]) -> None:
            kept.append(digest)
            begun.set()
            released.wait()

        try:
            yield keep
        finally:
            ended.set()

    ended = Event()
    reading = asyncio.create_task(read(root, slow))
    await asyncio.to_thread(begun.wait)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    released.set()

    await asyncio.to_thread(ended.wait)
    assert len(kept) == 1
