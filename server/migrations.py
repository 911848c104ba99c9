from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, NullPool, func, select
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from server.database import connector
from server.refusal import Fault, Refusal

OLDEST = 16

ROOT = Path(__file__).parent.parent

# Any number that nothing else in the database locks.
MIGRATION_LOCK = 0x41535341


def configuration(connection: Connection) -> Config:
    config = Config(ROOT / "alembic.ini")
    config.attributes["connection"] = connection
    return config


def migration_engine(dsn: str) -> AsyncEngine:
    """Decodes JSON, unlike the engine that writes: reflection describes columns in it."""
    return create_async_engine("postgresql+asyncpg://", async_creator=connector(dsn), poolclass=NullPool)


def refuse_old_servers(connection: Connection) -> None:
    major = int((connection.dialect.server_version_info or (0,))[0])
    if major < OLDEST:
        message = f"Postgres {OLDEST} or later is needed, this is {major}"
        raise Refusal(Fault("ASSAY_DATABASE_URL", "DATABASE_TOO_OLD", message))


def upgrade(connection: Connection, revision: str) -> None:
    refuse_old_servers(connection)
    command.upgrade(configuration(connection), revision)


def downgrade(connection: Connection, revision: str) -> None:
    command.downgrade(configuration(connection), revision)


def check(connection: Connection) -> None:
    """Raises where the models and the migrations disagree."""
    command.check(configuration(connection))


async def locked(dsn: str, step: Callable[[Connection, str], None], revision: str) -> None:
    engine = migration_engine(dsn)
    try:
        async with engine.begin() as connection:
            await connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            await connection.run_sync(step, revision)
    finally:
        await engine.dispose()


async def migrate(dsn: str, revision: str = "head") -> None:
    """All steps in one transaction, and one process at a time."""
    await locked(dsn, upgrade, revision)


async def migrate_down(dsn: str, revision: str) -> None:
    await locked(dsn, downgrade, revision)
