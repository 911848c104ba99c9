"""Bulk writes: rows go by COPY into a temporary table, and what differs goes on into the real one by set statements."""

from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg
from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    MetaData,
    Table,
    Text,
    cast,
    delete,
    exists,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateTable, DropTable

from models.base import JsonText


async def copy(
    connection: AsyncConnection, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Send rows by COPY, within the transaction of the connection."""
    driver: asyncpg.Connection = (await connection.get_raw_connection()).driver_connection
    await driver.copy_records_to_table(table.name, columns=list(columns), records=rows)


async def stage(
    connection: AsyncConnection,
    target: Table,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *extra: Column[Any],
) -> Table:
    """A temporary table with some columns of `target` and `extra` ones, filled with rows; its caller drops it."""
    staged = Table(
        f"staged_{target.name}",
        MetaData(),
        *extra,
        *(Column(name, target.c[name].type) for name in columns),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DROP",
    )
    await connection.execute(CreateTable(staged))
    await copy(connection, staged, [column.name for column in staged.c], rows)
    return staged


async def merge(
    connection: AsyncConnection, target: Table, source: FromClause, key: Sequence[str], within: ColumnElement[bool]
) -> None:
    """Make the rows of `target` that lie `within` those of `source`; equal ones are not touched."""
    same_key = tuple_(*(target.c[name] for name in key)) == tuple_(*(source.c[name] for name in key))
    await connection.execute(delete(target).where(within, ~exists(select(source.c[key[0]]).where(same_key))))
    columns = [column.name for column in source.c]
    insertion = insert(target).from_select(columns, select(source))
    values = [name for name in columns if name not in key]
    differs = tuple_(*(comparable(target.c[name]) for name in values)).is_distinct_from(
        tuple_(*(comparable(insertion.excluded[name]) for name in values))
    )
    await connection.execute(
        insertion.on_conflict_do_update(
            index_elements=list(key), set_={name: insertion.excluded[name] for name in values}, where=differs
        )
    )


async def drop(connection: AsyncConnection, *staged: Table) -> None:
    for table in staged:
        await connection.execute(DropTable(table))


def comparable(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Postgres cannot compare json; two texts that differ in spelling are two values here."""
    return cast(column, Text) if isinstance(column.type, JsonText) else column
