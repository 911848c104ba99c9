"""What changed in the tables and runs that somebody watches here."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from resolvers import changes
from resolvers.advancing import Advance, advance
from resolvers.changes import TableChange
from server.changes import AT_MOST_EVERY, LOOK, Feed
from server.door import FAILURES

log = structlog.get_logger(__name__)

# Between two looks at one table.
PAUSE: Final = 0.25
# For so long changes are kept; who has not looked for a little less cannot know that nothing is missing.
KEPT: Final = 60.0
GAP: Final = 45.0


class TableWatch:
    """Looks for what changed when a table is announced, or may have been, and removes what everybody has seen."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._feeds: dict[int, Feed] = {}

    def hear(self, subject: str) -> None:
        """Of one benchmark, or of each where nobody says which."""
        for benchmark_pk, feed in self._feeds.items():
            if subject in ("", str(benchmark_pk)):
                feed.change()

    async def changes(self, benchmark_pk: int) -> AsyncGenerator[TableChange, None]:
        """First a resync, then what changed; ends with the benchmark."""
        feed = self._feeds.setdefault(benchmark_pk, Feed())
        looks = Looks(self._engine, benchmark_pk)
        try:
            async with aclosing(feed.changes(PAUSE)) as told:
                async for _ in told:
                    try:
                        found = await looks.next()
                    except FAILURES as error:
                        log.warning("table_not_read", error=str(error))
                        await asyncio.sleep(AT_MOST_EVERY)
                        feed.change()
                        continue
                    if found is None:
                        return
                    if found.is_any:
                        yield found
        finally:
            if not feed.subscribers:
                self._feeds.pop(benchmark_pk, None)

    async def run(self) -> None:
        """Finds what nobody announced, because its writer died, and lets nobody fall into a gap."""
        loop, forgotten, oldest = asyncio.get_running_loop(), 0.0, None
        while True:
            await asyncio.sleep(LOOK)
            self.hear("")
            if loop.time() - forgotten < KEPT:
                continue
            try:
                async with self._engine.begin() as connection:
                    oldest = await changes.forget(connection, oldest)
                forgotten = loop.time()
            except FAILURES as error:
                log.warning("changes_not_forgotten", error=str(error))


class Looks:
    """One watcher's looks at a table, each of which continues the one before."""

    def __init__(self, engine: AsyncEngine, benchmark_pk: int) -> None:
        self._engine = engine
        self._benchmark_pk = benchmark_pk
        self._snapshot: str | None = None
        self._looked = 0.0

    async def next(self) -> TableChange | None:
        now = asyncio.get_running_loop().time()
        snapshot = self._snapshot if now - self._looked < GAP else None
        # Nothing continues a look that failed.
        self._snapshot = None
        async with self._engine.connect() as connection:
            found = await changes.since(connection, self._benchmark_pk, snapshot)
        if found is not None:
            self._snapshot, self._looked = found.snapshot, now
        return found


class RunWatch:
    """Looks how far a run is when it is announced to have got on, and now and then."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._feeds: dict[int, Feed] = {}

    def hear(self, subject: str) -> None:
        """Of one run, or of each where nobody says which."""
        for run_pk, feed in self._feeds.items():
            if subject in ("", str(run_pk)):
                feed.change()

    async def changes(self, run_pk: int) -> AsyncGenerator[None, None]:
        feed = self._feeds.setdefault(run_pk, Feed())
        known: Advance | None = None
        try:
            async with aclosing(feed.changes(PAUSE)) as told:
                async for _ in told:
                    try:
                        found = await self._look(run_pk)
                    except FAILURES as error:
                        log.warning("run_not_read", error=str(error))
                        await asyncio.sleep(AT_MOST_EVERY)
                        feed.change()
                        continue
                    if found is None:
                        return
                    if found != known:
                        known = found
                        yield
                    if found.has_ended:
                        return
        finally:
            if not feed.subscribers:
                self._feeds.pop(run_pk, None)

    async def run(self) -> None:
        """Finds what nobody announced, because its worker died."""
        while True:
            await asyncio.sleep(LOOK)
            self.hear("")

    async def _look(self, run_pk: int) -> Advance | None:
        async with self._engine.connect() as connection:
            return await advance(connection, run_pk)
