"""Rows of a file into a benchmark's table: all of them or none, by COPY."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func, select

from interchange.rows import read_rows
from interchange.store.staging import copy
from interchange.store.tables import row_files, rows_by_key, table_of
from interchange.tables import RowRecord, Table, ValueRecord
from interchange.uploads import Store, checked, size_of, sizes_of
from models.base import ExpectedOutputChange, Origin
from resolvers.acting import Acting
from resolvers.errors import InvalidRows, RowFault
from resolvers.rows import appending
from resolvers.tables import benchmarks, rows, told, topic, values

Placed = Sequence[tuple[int, RowRecord]]

VALUE_COLUMNS = ("row_pk", "field", "text", "value", "origin", "locked", "edited_by", "edited_at", "edited_revision")


@dataclass(frozen=True, slots=True)
class RowsTaken:
    """How many rows are new, and how many were there with the same content."""

    added: int
    unchanged: int


async def take_rows(acting: Acting, store: Store, benchmark_pk: int, digest: str, format: str) -> RowsTaken:
    """Rows of a file that was sent."""
    size = await size_of(acting.connection, digest)
    data = b"".join([chunk async for chunk in checked(store, digest, size)])
    return await add_rows(acting, benchmark_pk, data, format)


async def add_rows(acting: Acting, benchmark_pk: int, data: bytes, format: str) -> RowsTaken:
    benchmark = await appending(acting, benchmark_pk)
    table = await table_of(acting.connection, benchmarks.c.id == benchmark.id)
    assert table is not None, "it is held"
    records, faults = await asyncio.to_thread(read_rows, data, format, table)
    if faults:
        raise InvalidRows(faults)
    new = await _new(acting, table, records)
    if new:
        await _store(acting, table, new)
        acting.topics.add(topic(table.pk))
    return RowsTaken(len(new), len(records) - len(new))


async def _new(acting: Acting, table: Table, records: Sequence[RowRecord]) -> list[RowRecord]:
    """The records that are not there yet, once none of them is at fault."""
    keys = [record.key for record in records if record.key is not None]
    present = await rows_by_key(acting.connection, table, keys)
    faults = [*_taken_keys(records, present), *await _missing_files(acting, records)]
    if faults:
        raise InvalidRows(sorted(faults, key=lambda fault: fault.line))
    return [record for record in records if record.key not in present]


def _taken_keys(records: Iterable[RowRecord], present: dict[str, RowRecord]) -> Iterator[RowFault]:
    for record in records:
        there = None if record.key is None else present.get(record.key)
        if there is not None and there != replace(record, line=0):
            message = f"The benchmark has a row {record.key} with another content."
            yield RowFault(record.line, ("key",), message)


async def _missing_files(acting: Acting, records: Sequence[RowRecord]) -> list[RowFault]:
    named = {sha256 for record in records for sha256, _ in record.files}
    stored = await sizes_of(acting.connection, named) if named else {}
    message = "No file of this digest was sent to POST /files."
    return [
        RowFault(record.line, ("files", str(place), "sha256"), message)
        for record in records
        for place, (sha256, _) in enumerate(record.files)
        if sha256 not in stored
    ]


async def _store(acting: Acting, table: Table, new: Sequence[RowRecord]) -> None:
    connection = acting.connection
    placed = await _placed(acting, table, new)
    attached = ((pk, place, sha256, name) for pk, row in placed for place, (sha256, name) in enumerate(row.files))
    await copy(connection, row_files, ("row_pk", "position", "sha256", "name"), attached)
    now = (await connection.execute(select(func.now()))).scalar_one()
    expected = (
        (pk, field, value.text, value.value, value.origin.value, value.locked, *_edit(value, acting.actor, now))
        for pk, row in placed
        for field, value in row.expected.items()
    )
    await told(acting, ExpectedOutputChange.IMPORTED, by_person=True)
    await copy(connection, values, VALUE_COLUMNS, expected)


async def _placed(acting: Acting, table: Table, new: Sequence[RowRecord]) -> Placed:
    """The rows behind those that are there, with their keys."""
    last = select(func.coalesce(func.max(rows.c.position), -1)).where(rows.c.benchmark_pk == table.pk)
    first = int((await acting.connection.execute(last)).scalar_one()) + 1
    records = ((table.pk, place, row.key, row.input, 1) for place, row in enumerate(new, start=first))
    await copy(acting.connection, rows, ("benchmark_pk", "position", "key", "input", "version"), records)
    added = select(rows.c.id).where(rows.c.benchmark_pk == table.pk, rows.c.position >= first)
    pks = (await acting.connection.execute(added.order_by(rows.c.position))).scalars()
    return list(zip(pks, new, strict=True))


def _edit(value: ValueRecord, actor: str, now: Any) -> tuple[Any, ...]:
    """Who edited it, when, and in which revision: an import is a row's first."""
    return (actor, now, 1) if value.origin == Origin.MANUAL else (None, None, 0)
