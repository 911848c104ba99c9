"""A tree that is followed: what changes in its files shows in the database, without anybody asking."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from watchfiles import Change, awatch

from interchange.cache import Cache
from interchange.imports import Batch, Imported, read, store, undisturbed
from interchange.records import TreeRecord
from resolvers.forms import storable_text

log = structlog.get_logger(__name__)

# Any number that no other lock of this database has as its seed.
FOLLOW_LOCK: Final = 0x464F4C4C
# Files are looked at again even if no event came, as not every file system tells of every edit.
POLL: Final = 0.8
# A large tree rests twice as long as reading it takes.
REST: Final = 2
# What is stored is compared again now and then, as other trees and the API may have made room for what was left out.
STORE_AGAIN: Final = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
EVENTS_PAUSE: Final = 30.0


async def follow(engine: AsyncEngine, root: Path, name: str, *, batch: Batch) -> None:
    """Keeps the database in step until cancelled. Of all processes one does; the others wait for its end."""
    pause = FIRST_PAUSE
    while True:
        follower = Follower(root, name, batch)
        try:
            async with _leading(engine, root) as connection:
                await follower.run(connection)
        except Exception:
            log.exception("tree_not_followed", tree=name)
        # A fault that stays is told ever less often, one that comes anew at once.
        pause = FIRST_PAUSE if follower.has_stored else min(2 * pause, LONGEST_PAUSE)
        await asyncio.sleep(pause)


@asynccontextmanager
async def _leading(engine: AsyncEngine, root: Path) -> AsyncIterator[AsyncConnection]:
    """A connection that holds the lock of a root: whoever imports over it is the only one who does."""
    key = func.hashtextextended(str(root), FOLLOW_LOCK)
    async with engine.connect() as connection:
        await connection.execute(select(func.pg_advisory_lock(key)))
        await connection.commit()
        try:
            yield connection
        finally:
            # Given back to the pool, it would hold the lock on.
            await connection.invalidate()


def _directories(root: Path) -> set[str]:
    """Those of a tree that can be listened to; links are not followed."""
    return {str(root), *(folder for folder, _, _ in os.walk(root) if storable_text(folder) is not None)}


class Follower:
    def __init__(self, root: Path, name: str, batch: Batch) -> None:
        self.has_stored = False
        self._root, self._name, self._batch = root, name, batch
        self._cache = Cache()
        self._changed = asyncio.Event()
        self._stored: TreeRecord | None = None
        self._stored_at = self._took = 0.0

    async def run(self, connection: AsyncConnection) -> None:
        events = asyncio.create_task(self._listen())
        try:
            while True:
                self._changed.clear()
                await self._step(connection)
                await self._wait()
        finally:
            events.cancel()
            await asyncio.gather(events, return_exceptions=True)

    async def _step(self, connection: AsyncConnection) -> None:
        done = await undisturbed(connection, lambda: self._bring(connection))
        if done is not None and done.changed:
            self._tell(done)

    async def _bring(self, connection: AsyncConnection) -> Imported | None:
        began = time.monotonic()
        record = await read(self._root, self._batch, self._cache)
        self._took = time.monotonic() - began
        if record == self._stored and time.monotonic() - self._stored_at < STORE_AGAIN:
            return None
        done = await store(connection, record, self._root, self._name)
        self._stored, self._stored_at, self.has_stored = record, time.monotonic(), True
        return done

    async def _wait(self) -> None:
        """Until something happens, or long enough; a tree that never rests is not read without a break."""
        await asyncio.sleep(min(self._took, POLL / 2))
        try:
            await asyncio.wait_for(self._changed.wait(), max(POLL, REST * self._took))
        except TimeoutError:
            return

    async def _listen(self) -> None:
        while True:
            try:
                while True:
                    await self._hear(await asyncio.to_thread(_directories, self._root))
            except Exception:
                # Out of watches, or no root: polling goes on.
                log.warning("tree_events_unavailable", tree=self._name, exc_info=True)
            await asyncio.sleep(EVENTS_PAUSE)

    async def _hear(self, directories: set[str]) -> None:
        """Of these directories alone, until there are others: left to itself the watcher follows links anywhere."""
        # Nobody listened until now.
        self._changed.set()
        async for changes in awatch(
            *directories, recursive=False, step=20, debounce=200, ignore_permission_denied=True
        ):
            self._changed.set()
            if all(change is Change.modified for change, _ in changes):
                continue
            if await asyncio.to_thread(_directories, self._root) != directories:
                return

    def _tell(self, done: Imported) -> None:
        log.info("tree_in_step", tree=self._name, agents=done.agents, suites=done.suites, warnings=len(done.notices))
