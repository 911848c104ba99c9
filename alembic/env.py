import asyncio

from alembic import context
from sqlalchemy import Connection
from sqlmodel import SQLModel

import models  # noqa: F401 -- fills the metadata
from server.database import database_url
from server.migrations import migration_engine
from server.settings import Settings


def run(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=SQLModel.metadata, compare_server_default=True)
    with context.begin_transaction():
        context.run_migrations()


async def run_at(dsn: str) -> None:
    engine = migration_engine(dsn)
    async with engine.begin() as connection:
        await connection.run_sync(run)
    await engine.dispose()


def run_from_shell() -> None:
    with database_url(Settings()) as dsn:
        asyncio.run(run_at(dsn))


given = context.config.attributes.get("connection")
if given is None:
    run_from_shell()
else:
    run(given)
