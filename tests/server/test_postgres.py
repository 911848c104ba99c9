import asyncpg


async def test_an_embedded_server_keeps_time_in_utc_and_folds_case_beyond_ascii(empty_database: str) -> None:
    connection = await asyncpg.connect(empty_database)
    row = await connection.fetchrow("SELECT current_setting('timezone') AS zone, 'É' ILIKE 'é' AS folds")
    await connection.close()

    assert row is not None
    assert dict(row) == {"zone": "UTC", "folds": True}
