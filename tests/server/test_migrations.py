import asyncio

import asyncpg
import pytest

from server import migrations
from server.migrations import check, migrate, migrate_down, migration_engine
from server.refusal import Refusal


async def tables(dsn: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    return {row["tablename"] for row in rows} - {"alembic_version"}


async def test_several_processes_may_migrate_at_once(empty_database: str) -> None:
    await asyncio.gather(*(migrate(empty_database) for _ in range(3)))

    assert "agents" in await tables(empty_database)


async def test_every_migration_goes_down_again(empty_database: str) -> None:
    await migrate(empty_database)

    await migrate_down(empty_database, "base")

    assert await tables(empty_database) == set()


async def test_the_migrations_make_what_the_models_say(database: str) -> None:
    engine = migration_engine(database)
    async with engine.connect() as connection:
        await connection.run_sync(check)
    await engine.dispose()


async def test_a_server_that_is_too_old_is_refused(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "OLDEST", 99)

    with pytest.raises(Refusal, match="DATABASE_TOO_OLD: Postgres 99 or later is needed"):
        await migrate(empty_database)
