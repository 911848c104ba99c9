import asyncpg
import pytest
from sqlalchemy import text

from server.database import DatabaseUnavailable, connected, plain, write_engine
from server.settings import Settings

ZONE = "SELECT current_setting('timezone')"


def name(dsn: str) -> str:
    return dsn.rpartition("/")[2]


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg"])
def test_a_url_may_name_the_driver_of_another_program(scheme: str) -> None:
    assert plain(f"{scheme}://user:a+b@host/name") == f"{scheme.partition('+')[0]}://user:a+b@host/name"


async def test_reads_and_writes_keep_time_in_utc_whatever_the_database_says(empty_database: str) -> None:
    async with connected(empty_database, Settings()) as database, database.sessions() as session:
        await session.execute(text(f"ALTER DATABASE {name(empty_database)} SET timezone = 'Asia/Tokyo'"))
        await session.commit()

    async with connected(empty_database, Settings()) as database, database.sessions() as session:
        assert await database.reads.fetchval(ZONE) == "UTC"
        assert await session.scalar(text(ZONE)) == "UTC"


async def test_reads_go_where_the_settings_send_them(database: str, empty_database: str) -> None:
    settings = Settings(read_database_url=empty_database)

    async with connected(database, settings) as both, both.sessions() as session:
        assert await both.reads.fetchval("SELECT current_database()") == name(empty_database)
        assert await session.scalar(text("SELECT current_database()")) == name(database)


async def test_parameters_of_a_url_are_understood_by_writes(empty_database: str) -> None:
    engine = write_engine(f"{empty_database}?sslmode=disable&application_name=ours")
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT current_setting('server_encoding')")) == "UTF8"
    await engine.dispose()


async def test_a_long_statement_is_prepared_once_for_a_connection(empty_database: str) -> None:
    long = f"SELECT '{'x' * 20_000}'"

    async with connected(empty_database, Settings(read_connections=1)) as database:
        for _ in range(3):
            await database.reads.fetchval(long)
        count = "SELECT count(*) FROM pg_prepared_statements WHERE statement = $1"
        prepared = await database.reads.fetchval(count, long)

    assert prepared == 1


async def test_a_database_that_is_not_there_is_told_as_such(empty_database: str) -> None:
    engine = write_engine(f"{empty_database}_gone")

    with pytest.raises(DatabaseUnavailable, match=r"ASSAY_DATABASE_URL: DATABASE_UNAVAILABLE: .*does not exist"):
        await engine.connect().start()
    await engine.dispose()


async def test_a_pool_survives_the_loss_of_its_connections(empty_database: str) -> None:
    async with connected(empty_database, Settings(read_connections=1)) as database:
        pid = await database.reads.fetchval("SELECT pg_backend_pid()")
        other = await asyncpg.connect(empty_database)
        await other.execute("SELECT pg_terminate_backend($1, 5000)", pid)
        await other.close()

        assert await database.reads.fetchval("SELECT 1") == 1
