"""What every rule about a benchmark table begins with: the benchmark found and locked, its rows in order.

Who writes cells or values of single rows holds the benchmark shared; who changes what capture means holds it alone.
Rows are locked in the order of their ids.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row, func, select, update

from models import Benchmark, BenchmarkField, BenchmarkRow, Cell, ExpectedRevision, ExpectedValue, Track
from models.base import ExpectedOutputChange, FieldType, table
from resolvers.acting import BENCHMARK, Acting
from resolvers.errors import Conflict, NotFound, Subject
from resolvers.sql import among

benchmarks, fields, tracks, rows = table(Benchmark), table(BenchmarkField), table(Track), table(BenchmarkRow)
cells, values, revisions = table(Cell), table(ExpectedValue), table(ExpectedRevision)


async def shared(acting: Acting, benchmark_pk: int, path: tuple[str, ...] = ("benchmark_id",)) -> Row[Any]:
    found = select(benchmarks).where(benchmarks.c.id == benchmark_pk).with_for_update(read=True)
    return _found((await acting.connection.execute(found)).one_or_none(), path)


async def alone(
    acting: Acting, benchmark_pk: int, expected_version: int | None = None, *, path: tuple[str, ...] = ("benchmark_id",)
) -> Row[Any]:
    """The benchmark for a change of what it is, as its caller saw it where that matters."""
    held = select(benchmarks).where(benchmarks.c.id == benchmark_pk).with_for_update()
    row = _found((await acting.connection.execute(held)).one_or_none(), path)
    if expected_version not in (None, row.version):
        message = "The benchmark was changed since that version."
        raise Conflict(message, Subject(Benchmark, row.id), row.version)
    return row


def _found(row: Row[Any] | None, path: tuple[str, ...]) -> Row[Any]:
    if row is None:
        raise NotFound("There is no such benchmark.", path)
    return row


async def changed(acting: Acting, benchmark: Row[Any], **changes: Any) -> None:
    """Write the benchmark's own fields, as a new version."""
    await acting.connection.execute(
        update(benchmarks)
        .where(benchmarks.c.id == benchmark.id)
        .values(version=benchmark.version + 1, updated_at=func.now(), **changes)
    )
    acting.topics.add(topic(benchmark.id))


def topic(benchmark_pk: int) -> str:
    return f"{BENCHMARK}:{benchmark_pk}"


async def locked_rows(acting: Acting, benchmark_pk: int, row_pks: Iterable[int]) -> set[int]:
    """Those of these rows that the benchmark has, locked in order."""
    held = (
        select(rows.c.id)
        .where(rows.c.benchmark_pk == benchmark_pk, among(rows.c.id, sorted(set(row_pks))))
        .order_by(rows.c.id)
        .with_for_update()
    )
    return set((await acting.connection.execute(held)).scalars())


async def field_types(acting: Acting, benchmark_pk: int) -> dict[str, FieldType]:
    found = select(fields.c.name, fields.c.type).where(fields.c.benchmark_pk == benchmark_pk)
    return {row.name: row.type for row in await acting.connection.execute(found.order_by(fields.c.position))}


async def told(acting: Acting, change: ExpectedOutputChange, *, by_person: bool) -> None:
    """Tell the triggers what the next writes to expected values are, and whether a person makes them."""
    await acting.connection.execute(
        select(
            func.set_config("assay.change", change.value, True),
            func.set_config("assay.recorder", acting.actor, True),
            func.set_config("assay.actor", acting.actor if by_person else "", True),
        )
    )
