import asyncpg
import pytest

from server.database import text_order


@pytest.mark.parametrize(
    ("provider", "locale", "order"),
    [
        ("b", "C.UTF-8", None),
        ("c", "C", None),
        ("c", "POSIX", None),
        ("c", "C.UTF-8", None),
        ("c", "C.utf8", None),
        ("c", "en_US.UTF-8", "C"),
        ("c", "Cs_CZ.UTF-8", "C"),
        ("i", "C", "C"),
    ],
)
async def test_text_is_collated_where_a_database_does_not_sort_by_code_point(
    postgres: str, provider: str, locale: str, order: str | None
) -> None:
    connection = await asyncpg.connect(postgres)
    try:
        # Seen by this transaction alone, and taken back with it.
        await connection.execute("BEGIN")
        await connection.execute(
            'UPDATE pg_database SET datlocprovider = $1::text::"char", datcollate = $2'
            " WHERE datname = current_database()",
            provider,
            locale,
        )
        assert await text_order(connection) == order
    finally:
        await connection.close()
