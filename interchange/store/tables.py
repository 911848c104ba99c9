"""Rows of a benchmark as they are kept, read for files."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, Text, and_, cast, func, select, true
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from interchange.tables import CellRecord, RowRecord, ScoreRecord, Table, TableRow, ValueRecord
from models import RowFile
from models.base import CellStatus, Origin, table
from resolvers.scores import is_stale, metrics, of_benchmarks, scores, variables
from resolvers.sql import among
from resolvers.tables import benchmarks, cells, fields, rows, tracks, values

row_files = table(RowFile)

# By metric and variable.
Scores = dict[tuple[str, str], ScoreRecord]

# Read and written together, so that memory stays flat however many there are.
BATCH = 500


async def table_of(connection: AsyncConnection, which: ColumnElement[bool]) -> Table | None:
    """The benchmark for which this holds, or None."""
    found = select(benchmarks.c.id, benchmarks.c.name, benchmarks.c.kind).where(which)
    benchmark = (await connection.execute(found)).one_or_none()
    if benchmark is None:
        return None
    types = select(fields.c.name, fields.c.type).where(fields.c.benchmark_pk == benchmark.id)
    in_order = await connection.execute(types.order_by(fields.c.position))
    return Table(benchmark.id, benchmark.name, benchmark.kind, {field.name: field.type for field in in_order})


async def track_names(connection: AsyncConnection, of: Table) -> Sequence[str]:
    names = select(tracks.c.name).where(tracks.c.benchmark_pk == of.pk).order_by(tracks.c.position, tracks.c.id)
    return (await connection.execute(names)).scalars().all()


async def scored_variables(connection: AsyncConnection, of: Table) -> Sequence[tuple[str, str]]:
    """The variables of the benchmark's metrics, by the metric's name and their own, in order."""
    names = (
        select(metrics.c.name, variables.c.name)
        .join_from(of_benchmarks, metrics, metrics.c.id == of_benchmarks.c.metric_pk)
        .join(variables, variables.c.metric_pk == metrics.c.id)
        .where(of_benchmarks.c.benchmark_pk == of.pk)
        .order_by(of_benchmarks.c.position, variables.c.position)
    )
    return [(metric, variable) for metric, variable in await connection.execute(names)]


async def rows_of(connection: AsyncConnection, of: Table) -> AsyncIterator[list[RowRecord]]:
    """All rows of one moment, in batches."""
    result = await connection.stream(_rows(of).order_by(rows.c.position))
    async for batch in result.partitions(BATCH):
        yield [_row(row) for row in batch]


async def whole_rows_of(connection: AsyncConnection, of: Table) -> AsyncIterator[list[TableRow]]:
    """All rows of one moment with their cells, in batches."""
    track, cell = tracks.alias("its_track"), cells.alias("its_cell")
    stored = and_(cell.c.row_pk == rows.c.id, cell.c.track_pk == track.c.id)
    shown = (
        track.c.name,
        func.coalesce(cell.c.status, CellStatus.EMPTY.value),
        cell.c.output,
        cast(cell.c.fields, Text),
        cell.c.error_message,
        cell.c.latency_ms,
        cell.c.input_tokens,
        cell.c.output_tokens,
        cell.c.cost,
    )
    answered = (
        select(
            *(
                func.array_agg(aggregate_order_by(each, track.c.position, track.c.id)).label(f"cell_{place}")
                for place, each in enumerate(shown)
            )
        )
        .select_from(track.outerjoin(cell, stored))
        .where(track.c.benchmark_pk == of.pk)
        .lateral("answered")
    )
    judged = _scores()
    statement = _rows(of).add_columns(*answered.c, *judged.c).join(answered, true()).join(judged, true())
    result = await connection.stream(statement.order_by(rows.c.position))
    first, last = -len(shown) - len(judged.c), -len(judged.c)
    async for batch in result.partitions(BATCH):
        yield [TableRow(_row(row), _cells(row[first:last], _scores_of(row[last:]))) for row in batch]


def _scores() -> FromClause:
    """The scores of a row on the benchmark's metrics, each with the name of its track."""
    score, metric, track = scores.alias("its_score"), metrics.alias("its_metric"), tracks.alias("its_track")
    shown = (
        track.c.name,
        metric.c.name,
        score.c.variable,
        cast(score.c.status, Text),
        is_stale(score),
        score.c.number,
        score.c.boolean,
        score.c.text,
        score.c.reason,
    )
    is_chosen = and_(of_benchmarks.c.metric_pk == metric.c.id, of_benchmarks.c.benchmark_pk == rows.c.benchmark_pk)
    return (
        select(*(func.array_agg(each).label(f"score_{place}") for place, each in enumerate(shown)))
        .select_from(
            score.join(metric, metric.c.id == score.c.metric_pk)
            .join(track, track.c.id == score.c.track_pk)
            .join(of_benchmarks, is_chosen)
        )
        .where(score.c.row_pk == rows.c.id)
        .lateral("judged")
    )


async def rows_by_key(connection: AsyncConnection, of: Table, keys: Sequence[str]) -> dict[str, RowRecord]:
    """Those of these rows that the table has."""
    found = await connection.execute(_rows(of).where(among(rows.c.key, keys)))
    return {row.key: _row(row) for row in found}


def _rows(of: Table) -> Select[Any]:
    attached = (
        select(
            func.array_agg(aggregate_order_by(row_files.c.sha256, row_files.c.position)).label("digests"),
            func.array_agg(aggregate_order_by(row_files.c.name, row_files.c.position)).label("names"),
        )
        .where(row_files.c.row_pk == rows.c.id)
        .lateral("attached")
    )
    held = (
        select(
            func.array_agg(values.c.field).label("fields"),
            func.array_agg(values.c.text).label("texts"),
            func.array_agg(cast(values.c.value, Text)).label("values"),
            func.array_agg(cast(values.c.origin, Text)).label("origins"),
            func.array_agg(values.c.locked).label("locks"),
        )
        .where(values.c.row_pk == rows.c.id, values.c.origin != Origin.EMPTY)
        .lateral("held")
    )
    return (
        select(rows.c.key, rows.c.input, *attached.c, *held.c)
        .select_from(rows.join(attached, true()).join(held, true()))
        .where(rows.c.benchmark_pk == of.pk)
    )


def _row(row: Sequence[Any]) -> RowRecord:
    key, input, digests, names, *held = (row[place] for place in range(9))
    expected = {
        field: ValueRecord(text, value, Origin(origin), locked)
        for field, text, value, origin, locked in zip(*(column or () for column in held), strict=True)
    }
    return RowRecord(0, key, input, tuple(zip(digests or (), names or (), strict=True)), expected)


def _cells(columns: Sequence[Any], judged: Mapping[str, Scores]) -> tuple[CellRecord, ...]:
    cells = zip(*(column or () for column in columns), strict=True)
    return tuple(CellRecord(*(*cell, judged.get(cell[0], {}))) for cell in cells)


def _scores_of(columns: Sequence[Any]) -> dict[str, Scores]:
    """By track, whose names are unique in a benchmark."""
    found: dict[str, Scores] = {}
    for track, metric, variable, *said in zip(*(column or () for column in columns), strict=True):
        found.setdefault(track, {})[metric, variable] = ScoreRecord(metric, variable, *said)
    return found
