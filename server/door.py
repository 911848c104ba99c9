"""Who may come in, and who may stay: tokens, remembered as long as their changes are heard of."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from resolvers import access
from resolvers.access import LOCAL, Viewer
from server.database import UNREACHABLE, DatabaseUnavailable
from server.listening import Listener

log = structlog.get_logger(__name__)

T = TypeVar("T")

MOST_REMEMBERED: Final = 10_000
# How often the use of a token is written, and how long who stays may go unexamined.
COARSE: Final = timedelta(minutes=1)
PULSE: Final = 1.0
PATIENCE: Final = 10.0
# Clocks may jump, and a machine may sleep: who stays is examined now and then without a reason.
LOOK: Final = 30.0

UNAUTHORIZED: Final = 4401
RESTART: Final = 1012
TRY_AGAIN: Final = 1013
# The codes that close sockets, as errors say them.
WORDS: Final = {UNAUTHORIZED: "UNAUTHENTICATED", RESTART: "UNAVAILABLE", TRY_AGAIN: "UNAVAILABLE"}

FAILURES: Final = (*UNREACHABLE, DatabaseUnavailable, SQLAlchemyError)

NEEDED = "A bearer token is needed."
EXPIRED = "The token has expired."
NOT_HELD = "The token is unknown, expired or revoked."
REVOKED = "The token was revoked."
SHUT = "A bearer token is needed from now on."
UNEXAMINED = "The database cannot be reached."
STOPPING = "The server is stopping."


class Unauthorized(Exception):
    """Nobody is let in with this. The message is for the caller."""

    def __init__(self, message: str, *, was_given: bool) -> None:
        super().__init__(message)
        self.was_given = was_given


class Stay:
    """A socket or a stream: it ends when what let it in holds no longer."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self.viewer: Viewer | None = None
        self.code: int | None = None
        self.reason = EXPIRED

    def bind(self, viewer: Viewer) -> None:
        self.viewer = viewer
        if viewer.expires_at is not None:
            remaining = (viewer.expires_at - datetime.now(UTC)).total_seconds()
            self._limit.reschedule(asyncio.get_running_loop().time() + remaining)

    def end(self, reason: str, code: int = UNAUTHORIZED) -> None:
        if self.code is None and not self._limit.expired():
            self.code, self.reason = code, reason
            self._limit.reschedule(asyncio.get_running_loop().time())


class Door:
    """Open to everybody on this machine, as `is_local` says, until the first token is made; never again after.

    What the database said of a token is remembered until any token changes, which the listener hears of. Where it
    cannot hear, the database is asked each time.
    """

    def __init__(self, engine: AsyncEngine, listener: Listener, *, is_local: bool) -> None:
        self._engine = engine
        self._listener = listener
        self._is_local = is_local
        self._is_shut = False
        self._seems_open = False
        self._viewers: dict[str, Viewer] = {}
        self._stays: set[Stay] = set()
        self._used: dict[int, datetime] = {}
        self._written: dict[int, datetime] = {}
        # Counts what was forgotten: an answer that was under way meanwhile is not remembered.
        self._changes = 0
        self._doubt = asyncio.Event()

    async def admit(self, authorization: str | None) -> Viewer:
        if self._is_local and not await self._shut():
            return LOCAL
        secret = secret_of(authorization)
        if secret is None:
            raise Unauthorized(NEEDED, was_given=False)
        now = datetime.now(UTC)
        viewer = await self._find(access.digest_of(secret))
        if viewer is None or viewer.token is None or (viewer.expires_at is not None and viewer.expires_at <= now):
            raise Unauthorized(NOT_HELD, was_given=True)
        self._used[viewer.token] = now
        return viewer

    def forget(self) -> None:
        """Tokens changed: nothing that is remembered need hold any longer, and nobody who stays need be let stay."""
        self._changes += 1
        self._viewers.clear()
        self._seems_open = False
        self._doubt.set()

    @asynccontextmanager
    async def staying(self) -> AsyncIterator[Stay]:
        """Its block is left at once when the stay ends, which its `code` then says."""
        stay: Stay | None = None
        try:
            async with asyncio.timeout(None) as limit:
                stay = Stay(limit)
                self._stays.add(stay)
                yield stay
        except TimeoutError:
            if stay is None or not limit.expired():
                raise
            stay.code = stay.code or UNAUTHORIZED
        finally:
            if stay is not None:
                self._stays.discard(stay)

    def settle(self, stay: Stay, viewer: Viewer) -> None:
        """From here on the stay lasts as long as what lets this viewer in, who may have lost it meanwhile."""
        stay.bind(viewer)
        self._doubt.set()

    def end_all(self, reason: str = STOPPING, code: int = RESTART) -> None:
        for stay in [stay for stay in self._stays if stay.viewer]:
            stay.end(reason, code)

    async def run(self) -> None:
        """Examines who stays when tokens changed, and writes down which were used."""
        loop = asyncio.get_running_loop()
        examined = asked = loop.time()
        while True:
            await self._pulse()
            try:
                if self._doubt.is_set() or not self._listener.is_live or loop.time() - asked > LOOK:
                    await self._examine()
                    asked = loop.time()
                await self.write_uses()
                examined = loop.time()
            except FAILURES as error:
                log.warning("tokens_unexamined", error=str(error))
            if loop.time() - examined > PATIENCE:
                self.end_all(UNEXAMINED, TRY_AGAIN)

    async def write_uses(self) -> None:
        due = {
            key: at for key, at in self._used.items() if key not in self._written or at - self._written[key] >= COARSE
        }
        if not due:
            return
        async with self._engine.begin() as connection:
            await access.note_use(connection, due)
        self._written.update(due)

    async def _pulse(self) -> None:
        try:
            async with asyncio.timeout(PULSE):
                await self._doubt.wait()
        except TimeoutError:
            return

    async def _examine(self) -> None:
        self._doubt.clear()
        try:
            keys = {stay.viewer.token for stay in self._stays if stay.viewer and stay.viewer.token is not None}
            held = await self._ask(lambda connection: access.holding(connection, keys)) if keys else set()
            is_shut = await self._shut()
        except FAILURES:
            self._doubt.set()
            await asyncio.sleep(PULSE)
            raise
        for stay in [stay for stay in self._stays if stay.viewer]:
            self._judge(stay, keys, held, is_shut=is_shut)

    @staticmethod
    def _judge(stay: Stay, asked: set[int], held: set[int], *, is_shut: bool) -> None:
        token = stay.viewer.token if stay.viewer else None
        if token is None and is_shut:
            stay.end(SHUT)
        # Who came while the database was asked is examined next.
        elif token in asked and token not in held:
            stay.end(REVOKED)

    async def _shut(self) -> bool:
        if self._is_shut or not self._is_local:
            return True
        if self._seems_open and self._listener.is_live:
            return False
        before = self._changes
        self._is_shut = await self._ask(access.ever_made)
        self._seems_open = not self._is_shut and before == self._changes
        return self._is_shut

    async def _find(self, digest: str) -> Viewer | None:
        if self._listener.is_live and (known := self._viewers.get(digest)):
            return known
        before = self._changes
        viewer = await self._ask(lambda connection: access.find(connection, digest))
        if viewer is not None and before == self._changes:
            if len(self._viewers) >= MOST_REMEMBERED:
                self._viewers.clear()
            self._viewers[digest] = viewer
        return viewer

    async def _ask(self, question: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        async with self._engine.connect() as connection:
            return await question(connection)


def secret_of(authorization: str | None) -> str | None:
    scheme, _, secret = (authorization or "").partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None
