"""What other processes announce: one connection that does nothing else but listen."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import asyncpg
import structlog

from server.database import UNREACHABLE, DatabaseUnavailable

log = structlog.get_logger(__name__)

PULSE: Final = 1.0
PATIENCE: Final = 3.0
LONGEST_PAUSE: Final = 2.0

LOST: Final = (*UNREACHABLE, DatabaseUnavailable)


class Listener:
    """Calls whoever wants to hear of a channel, and of having been deaf: then anything may have been announced.

    They are told what the announcement is about; nothing means that it may be about each. `is_live` says whether
    silence means that nothing happened. A connection that broke off unnoticed is found out by asking something now
    and then.
    """

    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]]) -> None:
        self._connect = connect
        self._heard: dict[str, Callable[[str], None]] = {}
        self.is_live = False
        # Another one once anything was committed in this cluster.
        self.snapshot = ""

    def on(self, channel: str, heard: Callable[[str], None]) -> None:
        self._heard[channel] = heard

    async def run(self) -> None:
        pause = 0.0
        while True:
            try:
                await self._listen()
            except LOST as error:
                log.warning("not_listening", error=str(error))
            pause = min(max(2 * pause, 0.1), LONGEST_PAUSE) if not self.snapshot else 0.1
            self.snapshot = ""
            await asyncio.sleep(pause)

    async def _listen(self) -> None:
        connection = await self._connect()
        lost = asyncio.Event()

        def lose(_connection: Any) -> None:
            self.is_live = False
            lost.set()

        connection.add_termination_listener(lose)
        try:
            for channel in self._heard:
                await connection.add_listener(channel, self._hear)
            self.is_live = not lost.is_set()
            for heard in self._heard.values():
                heard("")
            while not lost.is_set():
                await self._ask(connection)
                with suppress(TimeoutError):
                    async with asyncio.timeout(PULSE):
                        await lost.wait()
        finally:
            self.is_live = False
            connection.terminate()

    async def _ask(self, connection: asyncpg.Connection) -> None:
        async with asyncio.timeout(PATIENCE):
            self.snapshot = await connection.fetchval("SELECT pg_current_snapshot()::text")

    def _hear(self, _connection: Any, _pid: int, channel: str, subject: str) -> None:
        self._heard[channel](subject)
