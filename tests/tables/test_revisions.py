"""Revisions belong to a row as long as it is there, though no foreign key says so."""

import asyncio

from sqlalchemy import Select, delete, func, null, select, update

from models.base import Origin
from resolvers.tables import benchmarks, revisions, rows, values
from tests.tables.table import Table
from tests.waiting import eventually


def counted(key: int) -> Select[int]:
    return select(func.count()).where(revisions.c.row_pk == key)


async def kept(table: Table, key: int) -> int:
    [(count,)] = await table.house.execute(counted(key))
    return int(count)


async def is_waiting(table: Table) -> bool:
    return bool(await table.house.execute("SELECT pid FROM pg_locks WHERE NOT granted"))


async def remove(table: Table, key: int) -> None:
    await table.house.execute(delete(rows).where(rows.c.id == key))


async def test_a_row_takes_its_revisions_along_and_no_others(table: Table) -> None:
    await table.say("gone", place=0)
    await table.say("stays", place=1)

    await remove(table, table.key(0))

    assert (await kept(table, table.key(0)), await kept(table, table.key(1))) == (0, 1)


async def test_a_benchmark_takes_the_revisions_of_its_rows_along(table: Table) -> None:
    await table.say("gone")
    key = table.key(0)

    await table.house.execute(delete(benchmarks).where(benchmarks.c.id == table.key()))

    assert await kept(table, key) == 0


async def test_a_revision_that_is_written_while_its_row_is_removed_goes_too(table: Table) -> None:
    """The removal waits for the value that changes, and finds the revision of that change."""
    await table.say("captured")
    key = table.key(0)
    async with table.house.services.database.engine.connect() as connection:
        changing = await connection.begin()
        cleared = {"origin": Origin.EMPTY, "text": null(), "value": null()}
        await connection.execute(update(values).where(values.c.row_pk == key).values(cleared))
        removing = asyncio.create_task(remove(table, key))
        await eventually(lambda: is_waiting(table))
        assert await connection.scalar(counted(key)) == 2
        await changing.commit()
    await removing

    assert await kept(table, key) == 0


async def test_a_value_that_is_written_anew_with_the_same_content_leaves_no_revision(table: Table) -> None:
    await table.say("captured")

    same = {"text": values.c.text, "value": values.c.value, "source_track_pk": None}
    await table.house.execute(update(values).where(values.c.row_pk == table.key(0)).values(same))

    assert await kept(table, table.key(0)) == 1
