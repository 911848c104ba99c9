"""Files that nothing refers to go after a day; an upload or an import that is under way goes first."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import structlog
from obstore.exceptions import BaseError
from sqlalchemy import Column, ColumnElement, and_, delete, exists, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlmodel import SQLModel

from models import File
from models.base import table
from resolvers.keeping import may_sweep
from resolvers.sql import among
from server.door import FAILURES
from server.files import FileStore

log = structlog.get_logger(__name__)

files = table(File)

AGE: Final = timedelta(days=1)
EVERY: Final = timedelta(hours=6)
# Small enough that whoever waits for the lock does not notice.
BATCH: Final = 100


def references() -> list[Column[object]]:
    """Every column that names a file."""
    columns = (column for each in SQLModel.metadata.sorted_tables for column in each.c)
    return [column for column in columns if any(key.column is files.c.sha256 for key in column.foreign_keys)]


def unreferenced() -> ColumnElement[bool]:
    return and_(*(~exists(select(column).where(column == files.c.sha256)) for column in references()))


async def sweep(engine: AsyncEngine, store: FileStore) -> int:
    """Says how many files went. What cannot be swept now can be the next time."""
    swept = await asyncio.to_thread(store.sweep)
    while gone := await _forget(engine):
        swept += await _remove(engine, store, gone)
    batches = store.older(AGE, BATCH)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        swept += await _remove(engine, store, batch)
    return swept


async def sweep_always(engine: AsyncEngine, store: FileStore) -> None:
    while True:
        try:
            await sweep(engine, store)
        except (*FAILURES, OSError, BaseError):
            log.warning("sweep_failed", exc_info=True)
        await asyncio.sleep(EVERY.total_seconds())


async def _forget(engine: AsyncEngine) -> Sequence[str]:
    """Takes rows away. Their bytes go once that is committed: a row without bytes would be a lie."""
    old = select(files.c.sha256).where(files.c.stored_at < func.now() - AGE, unreferenced())
    old = old.limit(BATCH).with_for_update(skip_locked=True)
    try:
        async with engine.begin() as connection:
            if not await may_sweep(connection):
                return ()
            gone = await connection.execute(delete(files).where(files.c.sha256.in_(old)).returning(files.c.sha256))
            return gone.scalars().all()
    except IntegrityError:
        # A reference came in between.
        return ()


async def _remove(engine: AsyncEngine, store: FileStore, digests: Sequence[str]) -> int:
    """Removes bytes that no row names, while nobody can add one."""
    async with engine.begin() as connection:
        if not digests or not await may_sweep(connection):
            return 0
        named = await connection.execute(select(files.c.sha256).where(among(files.c.sha256, digests)))
        nameless = set(digests) - set(named.scalars())
        if nameless:
            await asyncio.to_thread(store.remove, nameless)
        return len(nameless)
