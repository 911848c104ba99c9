"""A project tree from its files into the database: read in a thread, stored in one transaction."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO, Final, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.cache import Cache
from interchange.reader import read_tree
from interchange.records import FileSink, Notice, TreeRecord
from interchange.store.trees import TreeImport, adopt_tree, store_tree
from resolvers.acting import OVERVIEW, announce
from resolvers.keeping import hold_files
from resolvers.transient import is_out_of_order

# Gives what keeps bytes; they are durable once its block ends.
Batch = Callable[[], AbstractContextManager[FileSink]]

TRIES: Final = 5


Done = TypeVar("Done", bound="Imported | None")


class RootUnavailable(Exception):
    """The root itself cannot be read: no sign that anything in it is gone."""


class Stopped(Exception):
    """The reading was given up."""


@dataclass(frozen=True, slots=True)
class Imported:
    changed: bool
    agents: int
    suites: int
    notices: list[Notice]


async def undisturbed(connection: AsyncConnection, work: Callable[[], Awaitable[Done]]) -> Done:
    """Reading and storing in one transaction: what is kept meanwhile is not swept before rows name it."""
    async with connection.begin():
        # Reading takes as long as it takes.
        await connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        await hold_files(connection)
        done = await work()
    if done is not None and done.changed:
        async with connection.begin():
            await announce(connection, {OVERVIEW})
    return done


async def import_tree(
    connection: AsyncConnection,
    root: Path,
    name: str,
    *,
    batch: Batch,
    replace_root: bool = False,
) -> Imported:
    """Brings what the tree of this name keeps in step with its files."""
    root = await asyncio.to_thread(root.resolve)

    async def bring() -> Imported:
        return await store(connection, await read(root, batch), root, name, replace_root=replace_root)

    return await undisturbed(connection, bring)


async def read(root: Path, batch: Batch, cache: Cache | None = None) -> TreeRecord:
    """The tree, its bytes kept; raises RootUnavailable where that would say that all is gone."""
    stopped = Event()
    try:
        return await asyncio.to_thread(_read, root, batch, cache, stopped)
    finally:
        stopped.set()


def _read(root: Path, batch: Batch, cache: Cache | None, stopped: Event) -> TreeRecord:
    with batch() as keep:

        def keep_on(digest: str, body: IO[bytes]) -> None:
            # Nobody waits for a long reading any more, and the process cannot end before its threads.
            if stopped.is_set():
                raise Stopped
            keep(digest, body)

        record = read_tree(root, cache, keep_on)
    # Asked last: a root that went away meanwhile left a record of a tree half gone.
    if not root.is_dir():
        raise RootUnavailable("the root is not a directory that can be read")
    return record


async def store(
    connection: AsyncConnection, record: TreeRecord, root: Path, name: str, *, replace_root: bool = False
) -> Imported:
    return await committed(
        connection, record, lambda: store_tree(connection, record, name=name, root=root, replace_root=replace_root)
    )


async def adopt(connection: AsyncConnection, record: TreeRecord, *, actor: str) -> Imported:
    """Makes what was read the API's."""
    return await committed(connection, record, lambda: adopt_tree(connection, record, actor=actor))


async def committed(
    connection: AsyncConnection, record: TreeRecord, store: Callable[[], Awaitable[TreeImport]]
) -> Imported:
    for _ in range(TRIES - 1):
        try:
            return await _stored(connection, record, store)
        except DBAPIError as error:
            if not is_out_of_order(error):
                raise
    return await _stored(connection, record, store)


async def _stored(
    connection: AsyncConnection, record: TreeRecord, store: Callable[[], Awaitable[TreeImport]]
) -> Imported:
    async with connection.begin_nested() if connection.in_transaction() else connection.begin():
        done = await store()
    return Imported(done.changed, len(record.agents), len(record.suites), [*record.notices, *done.notices])
