"""A benchmark's rows, or its whole table, written into a file: of one moment, and with flat memory."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import IO, Literal, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.store.tables import rows_of, scored_variables, table_of, track_names, whole_rows_of
from interchange.tables import RowRecord, Table, TableRow
from interchange.written import Layout, is_lost_in_csv, rows_layout, table_layout, writer_of
from resolvers.row_files import RowFormat

Row = TypeVar("Row")

What = Literal["rows", "table"]


@dataclass(frozen=True, slots=True)
class RowsWritten:
    """How many rows, and of how many an empty text became the empty cell that stands for none."""

    rows: int
    lost_empty_texts: int


async def write(
    connection: AsyncConnection, which: ColumnElement[bool], what: What, format: RowFormat, file: IO[bytes]
) -> tuple[Table, RowsWritten] | None:
    """The benchmark for which this holds, as it is at one moment; None where there is none.

    The connection must not have begun anything.
    """
    await connection.execution_options(isolation_level="REPEATABLE READ")
    async with connection.begin():
        table = await table_of(connection, which)
        if table is None:
            return None
        if what == "rows":
            return table, await _write(rows_of(connection, table), rows_layout(table), format, file, _own)
        layout = table_layout(table, await track_names(connection, table), await scored_variables(connection, table))
        return table, await _write(whole_rows_of(connection, table), layout, format, file, _within)


async def _write(
    batches: AsyncIterator[Sequence[Row]],
    layout: Layout[Row],
    format: RowFormat,
    file: IO[bytes],
    row_of: Callable[[Row], RowRecord],
) -> RowsWritten:
    writer, count, lost = writer_of(format, layout), 0, 0
    file.write(writer.begin().encode())
    async for batch in batches:
        file.write(writer.rows(batch).encode())
        count += len(batch)
        lost += sum(is_lost_in_csv(row_of(row)) for row in batch)
    file.write(writer.end().encode())
    return RowsWritten(count, lost if format is RowFormat.CSV else 0)


def _own(row: RowRecord) -> RowRecord:
    return row


def _within(row: TableRow) -> RowRecord:
    return row.row
