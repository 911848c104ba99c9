from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

import asyncpg
from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from server.postgres import embedded
from server.reads import Reads, reads_from
from server.refusal import Fault, Refusal
from server.settings import Settings

# Timestamps are shown as the session writes them.
SERVER_SETTINGS = {"timezone": "UTC", "application_name": "assay"}

# A URL that says nothing sensible is a ValueError of asyncpg's own, and a connection that breaks off at a bad moment
# confuses its client.
UNREACHABLE = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)


class DatabaseUnavailable(Refusal):
    """No connection could be made."""


# Of the providers of collations, Postgres' own knows no other order.
SORTS_BY_CODE_POINT = """
    SELECT datlocprovider = 'b' OR (datlocprovider = 'c' AND datcollate ~* '^(C|POSIX)([.]|$)')
    FROM pg_database WHERE datname = current_database()
"""


@dataclass(frozen=True)
class Database:
    """Reads go through asyncpg alone, possibly to replicas; writes through SQLAlchemy to the primary."""

    reads: Reads
    engine: AsyncEngine
    sessions: async_sessionmaker[AsyncSession]


@contextmanager
def database_url(settings: Settings) -> Iterator[str]:
    if settings.database_url:
        yield plain(settings.database_url)
        return
    with embedded(settings.data_dir) as dsn:
        yield dsn


def plain(dsn: str) -> str:
    """Without the driver that other programs write into it."""
    scheme, separator, rest = dsn.partition("://")
    return f"{scheme.partition('+')[0]}{separator}{rest}"


async def keep_state(_connection: asyncpg.Connection) -> None:
    """Queries leave nothing in a session, so that giving it back costs no round trip."""


def read_pool(dsn: str, connections: int) -> asyncpg.Pool:
    return asyncpg.create_pool(
        plain(dsn),
        min_size=1,
        max_size=connections,
        # Nested selections make statements over the 15 KB that asyncpg would cache.
        max_cacheable_statement_size=0,
        max_cached_statement_lifetime=0,
        server_settings=SERVER_SETTINGS,
        reset=keep_state,
    )


def connector(dsn: str) -> Callable[[], Awaitable[asyncpg.Connection]]:
    """asyncpg understands every libpq URL; SQLAlchemy would pass its parameters on as keywords."""

    async def connect() -> asyncpg.Connection:
        try:
            return await asyncpg.connect(plain(dsn), max_cacheable_statement_size=0, server_settings=SERVER_SETTINGS)
        except UNREACHABLE as error:
            raise DatabaseUnavailable(Fault("ASSAY_DATABASE_URL", "DATABASE_UNAVAILABLE", str(error))) from error

    return connect


def write_engine(dsn: str, connections: int = 1, idle: timedelta | None = None) -> AsyncEngine:
    """`idle` is how long a transaction may wait for its client before it is given up."""
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=connector(dsn),
        pool_size=connections,
        max_overflow=0,
        pool_pre_ping=True,
        # Tables hold JSON as text in its own spelling, which decoding would lose.
        json_deserializer=str,
    )
    if idle is not None:
        milliseconds = round(idle.total_seconds() * 1000)

        # For a transaction, not for a session: those are shared behind a pooler.
        @event.listens_for(engine.sync_engine, "begin")
        def limit(connection: Connection) -> None:
            if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
                connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {milliseconds}")

    return engine


async def text_order(reads: Reads) -> str | None:
    """The collation to sort text by, where the database's own is not by code point."""
    return None if await reads.fetchval(SORTS_BY_CODE_POINT) else "C"


@asynccontextmanager
async def connected(dsn: str, settings: Settings) -> AsyncIterator[Database]:
    engine = write_engine(dsn, settings.write_connections)
    try:
        pool = read_pool(settings.read_database_url or dsn, settings.read_connections)
        async with reads_from(pool, settings.read_connections) as reads:
            yield Database(reads, engine, async_sessionmaker(engine, expire_on_commit=False))
    finally:
        await engine.dispose()
