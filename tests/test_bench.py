"""What is measured must be what the service would have made itself."""

import asyncpg
from sqlalchemy import true

from bench.large import Size, fill
from resolvers.judgement import differences
from server.database import write_engine

TINY = Size(agents=6, defects_of_an_agent=3, suites=4, agents_in_a_suite=3)


async def test_a_database_at_size_says_what_its_ground_gives(database: str) -> None:
    connection = await asyncpg.connect(database)
    await fill(connection, TINY)
    counted = await connection.fetchval("SELECT count(*) FROM assessments")
    await connection.close()

    engine = write_engine(database)
    async with engine.connect() as reading:
        differing = (await reading.execute(differences(true()))).all()
    await engine.dispose()

    attempts_of_an_agent = 5
    assert counted == TINY.suites * TINY.agents_in_a_suite * attempts_of_an_agent * TINY.defects_of_an_agent
    assert differing == []
