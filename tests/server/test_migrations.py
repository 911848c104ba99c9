import asyncio

import asyncpg

from server.database import write_engine
from server.migrations import check, migrate, migrate_down


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
    engine = write_engine(database)
    async with engine.connect() as connection:
        await connection.run_sync(check)
    await engine.dispose()
