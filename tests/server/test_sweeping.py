import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from resolvers.keeping import hold_files, may_sweep
from server.database import write_engine
from server.files import FileStore, file_store
from server.settings import Settings
from server.sweeping import references, sweep
from server.uploads import settle

LONG_AGO = timedelta(days=2)


@dataclass(frozen=True)
class House:
    engine: AsyncEngine
    store: FileStore
    directory: Path

    async def run(self, statement: str, **values: object) -> None:
        async with self.engine.begin() as connection:
            await connection.execute(text(statement), values)

    async def put(self, body: bytes, age: timedelta = LONG_AGO) -> str:
        digest = self.put_bytes(body, age)
        statement = (
            "INSERT INTO files (sha256, size, stored_at) VALUES (:sha256, :size, now() - CAST(:age AS interval))"
        )
        await self.run(statement, sha256=digest, size=len(body), age=age)
        return digest

    def put_bytes(self, body: bytes, age: timedelta = LONG_AGO) -> str:
        digest = sha256(body).hexdigest()
        with self.store.batch() as keep:
            keep(digest, BytesIO(body))
        self.age(digest, age)
        return digest

    def age(self, digest: str, age: timedelta) -> None:
        when = time.time() - age.total_seconds()
        os.utime(self.directory / "sha256" / digest[:2] / digest, (when, when))

    async def refer(self, digest: str) -> None:
        await self.run("INSERT INTO trees (name, root, registry_valid) VALUES (:name, '/', true)", name=digest)
        statement = "INSERT INTO tree_files SELECT id, 'a.json', name FROM trees WHERE name = :digest"
        await self.run(statement, digest=digest)

    async def holds(self, digest: str) -> tuple[bool, bool]:
        """Whether its row is there, and whether its bytes are."""
        async with self.engine.connect() as connection:
            row = await connection.execute(text("SELECT 1 FROM files WHERE sha256 = :digest"), {"digest": digest})
            return row.scalar() is not None, await self.store.size(digest) is not None


@pytest.fixture
async def house(database: str, tmp_path: Path) -> AsyncIterator[House]:
    engine = write_engine(database, 4)
    yield House(engine, file_store(Settings(data_dir=tmp_path)), tmp_path / "files")
    await engine.dispose()


async def test_what_nothing_refers_to_goes_after_a_day(house: House) -> None:
    old, young, named = await house.put(b"old"), await house.put(b"young", timedelta()), await house.put(b"named")
    orphan, young_orphan = house.put_bytes(b"orphan"), house.put_bytes(b"young orphan", timedelta())
    await house.refer(named)

    swept = await sweep(house.engine, house.store)

    assert swept == 2
    assert [await house.holds(digest) for digest in (old, orphan)] == 2 * [(False, False)]
    assert [await house.holds(digest) for digest in (young, named)] == 2 * [(True, True)]
    assert await house.holds(young_orphan) == (False, True)


async def test_more_than_one_batch_goes(house: House) -> None:
    digests = [await house.put(str(number).encode()) for number in range(230)]

    assert await sweep(house.engine, house.store) == len(digests)
    assert await house.holds(digests[-1]) == (False, False)


async def test_every_key_to_a_file_counts_as_a_reference(house: House) -> None:
    keys = """
        SELECT conrelid::regclass || '.' || attname FROM pg_constraint
        JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY(conkey)
        WHERE contype = 'f' AND confrelid = 'files'::regclass
    """
    async with house.engine.connect() as connection:
        known = set((await connection.execute(text(keys))).scalars())

    assert {f"{column.table.name}.{column.name}" for column in references()} == known
    assert known


async def test_a_sweep_passes_by_while_an_import_holds_files(house: House) -> None:
    old, orphan = await house.put(b"old"), house.put_bytes(b"orphan")
    async with house.engine.begin() as importing:
        await hold_files(importing)

        assert await sweep(house.engine, house.store) == 0

    assert await house.holds(old) == (True, True)
    assert await house.holds(orphan) == (False, True)
    assert await sweep(house.engine, house.store) == 2


async def test_a_file_that_a_mutation_is_about_to_refer_to_stays(house: House) -> None:
    digest = await house.put(b"evidence")
    async with house.engine.begin() as mutation:
        await mutation.execute(text("SELECT FROM files WHERE sha256 = :digest FOR KEY SHARE"), {"digest": digest})

        assert await sweep(house.engine, house.store) == 0

    assert await house.holds(digest) == (True, True)


async def upload(house: House, body: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield body

    await settle(house.engine, house.store, await house.store.receive(chunks()))


async def test_an_upload_waits_for_a_sweep_and_is_there_after_it(house: House) -> None:
    digest = await house.put(b"again")
    async with house.engine.begin() as sweeping:
        assert await may_sweep(sweeping)
        uploading = asyncio.create_task(upload(house, b"again"))
        await sweeping.execute(text("DELETE FROM files WHERE sha256 = :digest"), {"digest": digest})
        await asyncio.to_thread(house.store.remove, [digest])
        is_early = uploading.done()
    await uploading

    assert not is_early
    assert await house.holds(digest) == (True, True)


async def test_whichever_of_an_upload_and_a_sweep_comes_first_the_file_is_there(house: House) -> None:
    digest = await house.put(b"met")
    for _ in range(30):
        await house.run("UPDATE files SET stored_at = now() - interval '2 days'")
        house.age(digest, LONG_AGO)

        await asyncio.gather(sweep(house.engine, house.store), upload(house, b"met"))

        assert await house.holds(digest) == (True, True)
