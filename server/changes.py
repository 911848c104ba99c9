"""Changes on their way from whoever wrote to whoever watches."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import Final

import structlog
from sqlalchemy import Text, cast, func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from resolvers.acting import announce
from resolvers.documents import overview_document
from server.door import FAILURES
from server.listening import Listener

log = structlog.get_logger(__name__)

# Writers in a hurry share an announcement.
GATHERING: Final = 0.1
# A change that nobody announced, because its writer died, is found within this time.
LOOK: Final = 10.0
AT_MOST_EVERY: Final = 1.0


class Feed:
    """Says that something changed. Who is slow hears once of many changes, and always of the last."""

    def __init__(self) -> None:
        self._version = 0
        self._changed = asyncio.Event()
        self.subscribers = 0

    def change(self) -> None:
        self._version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def changes(self, pause: float = AT_MOST_EVERY) -> AsyncGenerator[None, None]:
        """Once at the start, then after changes, with a pause in between."""
        self.subscribers += 1
        try:
            while True:
                seen = self._version
                yield
                await asyncio.sleep(pause)
                while self._version == seen:
                    await self._changed.wait()
        finally:
            self.subscribers -= 1


class Herald:
    """Announces what this process committed, gathered, each time in a short transaction of its own."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._topics: set[str] = set()
        self._told = asyncio.Event()

    def tell(self, topics: Iterable[str]) -> None:
        self._topics.update(topics)
        if self._topics:
            self._told.set()

    async def run(self) -> None:
        while True:
            await self._told.wait()
            await self.send()
            await asyncio.sleep(GATHERING)

    async def send(self) -> None:
        self._told.clear()
        topics, self._topics = self._topics, set()
        if not topics:
            return
        try:
            async with self._engine.begin() as connection:
                await announce(connection, topics)
        except FAILURES as error:
            # Watchers look for themselves now and then.
            log.warning("not_announced", error=str(error))


class OverviewWatch:
    """Feeds the subscribers of the overview when it is announced, or found, to have changed."""

    def __init__(self, engine: AsyncEngine, listener: Listener) -> None:
        self.feed = Feed()
        self._engine = engine
        self._listener = listener
        self._told = asyncio.Event()

    def hear(self) -> None:
        self._told.set()

    async def run(self) -> None:
        known, snapshot = "", ""
        while True:
            told = await self._wait()
            if not self.feed.subscribers:
                known = ""
                continue
            if not told and self._listener.snapshot == snapshot:
                continue
            snapshot = self._listener.snapshot
            try:
                found = await self._digest()
            except FAILURES as error:
                log.warning("overview_not_read", error=str(error))
                self._told.set()
                await asyncio.sleep(AT_MOST_EVERY)
                continue
            if told or (known and found != known):
                self.feed.change()
            known = found
            await asyncio.sleep(GATHERING)

    async def _wait(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                await self._told.wait()
        told = self._told.is_set()
        self._told.clear()
        return told

    async def _digest(self) -> str:
        document = select(func.md5(cast(overview_document().scalar_subquery(), Text)))
        async with self._engine.connect() as connection:
            return str((await connection.execute(document)).scalar_one())
