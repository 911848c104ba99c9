"""Leases: a worker's own, renewed as long as it lives, and those that nobody renews any more, taken back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final
from uuid import uuid4

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from resolvers import queue
from resolvers.queue import Held

log = structlog.get_logger(__name__)

# Of the time of a lease: when it is renewed.
BEAT: Final = 1 / 3


class Leases:
    """Renews through connections that nothing else waits for: who is alive must be able to say so."""

    def __init__(self, engine: AsyncEngine, lease: timedelta) -> None:
        self._engine = engine
        self._lease = lease
        self._pause = lease.total_seconds() * BEAT
        self._doubted = asyncio.Event()
        self._renewed_at = self._renewing_since = float("-inf")

    def doubt(self) -> None:
        """Some may be lost: look at once."""
        self._doubted.set()

    async def renew_always(self, mine: Callable[[], Sequence[Held]], lose: Callable[[Sequence[Held]], None]) -> None:
        while True:
            self._doubted.clear()
            try:
                await self._renew(mine(), lose)
            except Exception:
                log.warning("leases_not_renewed", exc_info=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause):
                    await self._doubted.wait()

    async def _renew(self, mine: Sequence[Held], lose: Callable[[Sequence[Held]], None]) -> None:
        async with self._engine.begin() as connection:
            held = await queue.renew(connection, mine, self._lease)
        if not self._was_renewed_lately():
            self._renewing_since = _now()
        self._renewed_at = _now()
        lose([item for item in mine if item.id not in held])

    async def take_back_always(self, engine: AsyncEngine, follow: Callable[[Sequence[Held]], Awaitable[None]]) -> None:
        """`follow` gets what is hopeless, and does what follows from others being gone."""
        while True:
            await asyncio.sleep(self._pause)
            try:
                await follow(await self._take_back(engine) if self._is_in_touch() else ())
            except Exception:
                log.warning("leases_not_taken_back", exc_info=True)

    def _is_in_touch(self) -> bool:
        """Where this worker could not renew, others could not either, and first have the time to."""
        return self._was_renewed_lately() and self._renewed_at - self._renewing_since >= self._pause

    def _was_renewed_lately(self) -> bool:
        """So lately that the leases of others cannot have run out since for the same reason."""
        return _now() - self._renewed_at < self._lease.total_seconds() - self._pause

    async def _take_back(self, engine: AsyncEngine) -> Sequence[Held]:
        async with engine.begin() as connection:
            return await queue.take_back(connection, uuid4(), self._lease)


def _now() -> float:
    return asyncio.get_running_loop().time()
